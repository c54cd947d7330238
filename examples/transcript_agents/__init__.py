"""Two agents that keep raw messages: one saves its whole list, one appends by a save policy."""
