"""Plans, asserted as the row-secured role in a table of a million messages."""
