"""Frozen records: what goes into the ports and what comes out."""
