"""Ways to the database's functions."""
