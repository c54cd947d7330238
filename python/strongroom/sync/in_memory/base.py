# Written by scripts/generate_sync.py from strongroom/in_memory/base.py: change that, and run `make generate`.
"""What the ports share: one public method runs one function on the tables, as on SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strongroom.in_memory.base import T
from strongroom.models.base import JsonValue
from strongroom.models.health import TextPolicy
from strongroom.sync.in_memory.database import Session
from strongroom.transports.base import Document, storable


class MemoryPort:
    """A port on a session."""

    def __init__(self, session: Session, text_policy: TextPolicy) -> None:
        """Run every call in this session."""
        self._session = session
        self._text_policy: TextPolicy = text_policy

    def _read(self, tenant_id: str, work: Callable[..., T], **arguments: JsonValue) -> T:
        tenant, ready = self._storable(tenant_id, arguments)
        return self._session.read(tenant, lambda tables: work(tables, **ready))

    def _write(self, tenant_id: str, work: Callable[..., T], **arguments: JsonValue) -> T:
        tenant, ready = self._storable(tenant_id, arguments)
        return self._session.write(tenant, lambda tables: work(tables, **ready))

    def _storable(
        self, tenant_id: str, arguments: dict[str, JsonValue]
    ) -> tuple[str, dict[str, Any]]:
        """Hold every text to the text policy, under the names that the SQL functions use, too."""
        given = {"tenant_id": tenant_id, **arguments}
        documents = storable(
            {name: Document(value) for name, value in given.items()}, self._text_policy
        )
        ready = {
            name: document.value
            for name, document in documents.items()
            if isinstance(document, Document)
        }
        return str(ready.pop("tenant_id")), ready
