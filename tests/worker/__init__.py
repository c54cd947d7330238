"""The durable worker, in memory and on PostgreSQL, and as a process."""
