"""The infrastructure adapters that are more than calls of SQL functions."""

from strongroom.infrastructure.postgres_realtime import (
    PostgresRealtimePublisher as PostgresRealtimePublisher,
)
