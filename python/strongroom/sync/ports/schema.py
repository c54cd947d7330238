# Written by scripts/generate_sync.py from strongroom/ports/schema.py: change that, and run `make generate`.
"""The port for managing the schema."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.health import SchemaChange


class SchemaManager(Protocol):
    """Create and upgrade strongroom's own tables and functions.

    Raises SchemaVersionError (SR041) where the database and this package do not fit, with what to do.
    """

    def current_version(self) -> int:
        """Return the newest migration that the database has recorded; 0 without a schema."""
        ...

    def target_version(self) -> int:
        """Return the newest migration that this package carries."""
        ...

    def plan(self) -> tuple[SchemaChange, ...]:
        """Return what ``apply`` would do and what has drifted. No side effects."""
        ...

    def apply(self) -> None:
        """Upgrade to the target version, one migration a transaction, under a lock.

        Running it again does nothing. After a failure the database has the last whole version, and
        the next call goes on from there.
        """
        ...

    def downgrade(self, *, to_version: int, allow_data_loss: bool = False) -> None:
        """Take migrations back, newest first.

        Args:
            to_version: the version to end at, 0 for none.
            allow_data_loss: without it, a table that holds rows is never dropped.

        Raises:
            SchemaVersionError: SR041, naming the table that holds rows.
        """
        ...
