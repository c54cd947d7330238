"""Blocking, at the same place as its asynchronous form."""
