"""What must hold when many write at once, are cancelled, or the server dies."""
