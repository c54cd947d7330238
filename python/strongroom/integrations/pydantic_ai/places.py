"""Where the steps of runs lie, and how they are read and written there."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from strongroom.client import Ports, Strongroom
from strongroom.integrations.pages import PAGE
from strongroom.models.frameworks import (
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
)

FRAMEWORK = "pydantic_ai_steps"
TRIES = 20
"""How often a write is decided anew when another writer was faster."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one tenant's runs, written for one principal.

    Attributes:
        store: the open store.
        tenant_id: whose data it is.
        principal_id: the person whose runs they are.
    """

    store: Strongroom
    tenant_id: str
    principal_id: str | None

    async def find(self, wanted: Sequence[FrameworkRecordReference]) -> list[FrameworkRecord]:
        """Return those of the wanted records that there are."""
        found: list[FrameworkRecord] = []
        for start in range(0, len(wanted), PAGE):
            found.extend(
                await self.store.frameworks.find(
                    tenant_id=self.tenant_id,
                    framework=FRAMEWORK,
                    wanted=[*wanted[start : start + PAGE]],
                    principal_id=self.principal_id,
                )
            )
        return found

    async def put(
        self, changes: Sequence[FrameworkRecordChange], within: Ports | None = None
    ) -> None:
        """Write records, all or none; ``within`` a unit of work where one is open."""
        if len(changes) <= PAGE and within is None:
            await self._put(self.store, changes)
            return
        if within is None:
            async with self.store.unit_of_work(tenant_id=self.tenant_id) as uow:
                await self.put(changes, uow)
            return
        for start in range(0, len(changes), PAGE):
            await self._put(within, changes[start : start + PAGE])

    async def _put(self, store: Ports, changes: Sequence[FrameworkRecordChange]) -> None:
        await store.frameworks.put(
            tenant_id=self.tenant_id,
            framework=FRAMEWORK,
            records=[*changes],
            principal_id=self.principal_id,
        )


def run_path(run_id: str) -> list[str]:
    """Return where all of a run lies."""
    return ["run", run_id]


def known_by(text: str) -> str:
    """Return the key of what is known by a text of any length."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
