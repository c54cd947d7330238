"""The parts of scripts/generate_snapshot.py: read the catalog once, write it in several forms."""
