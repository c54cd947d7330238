"""Redis, BullMQ and S3 against real servers."""
