"""Pydantic AI's message history."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

from strongroom.ids import new_id
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.pages import PAGE, all_records
from strongroom.integrations.pydantic_ai.messages import read, written
from strongroom.models.frameworks import NewFrameworkRecord

FRAMEWORK = "pydantic_ai"


class StrongroomHistory:
    """The messages of one conversation: load them before a run, append what is new after it.

    Only what a run has added is written, so that the cost follows the turn and not the history; nothing is
    replaced. Bytes in messages are kept as Pydantic AI writes them to JSON.

    Args:
        store: an open store, or one from ``connect_in_thread``.
        tenant_id: whose data it is.
        session_id: the conversation's name, unique in the tenant.
        principal_id: the person whose conversation it is; erasing them deletes it. Another person's
            is refused (AlreadyExists).
    """

    def __init__(
        self,
        store: AnyStore,
        *,
        tenant_id: str,
        session_id: str,
        principal_id: str | None = None,
    ) -> None:
        """See the class."""
        self._bridge = Bridge(store)
        self._store = self._bridge.store
        self._tenant_id = tenant_id
        self._path = [session_id]
        self._principal_id = principal_id

    async def load(self) -> list[ModelMessage]:
        """Return all messages in order: ``agent.run(..., message_history=await history.load())``."""
        found = await self._bridge.run(
            all_records(
                self._store,
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=self._path,
                principal_id=self._principal_id,
            )
        )
        return read([record.content for record in found])

    async def append(
        self, messages: Sequence[ModelMessage], *, append_id: str | None = None
    ) -> None:
        """Append messages, all or none: ``await history.append(result.new_messages())``.

        Args:
            messages: what is new.
            append_id: makes a repeat of this very call harmless, such as the id of the run; at most
                240 characters.

        Raises:
            AlreadyExists: SR011, the id was used for other messages, or it is another person's.
            InvalidArgument: SR001, a message holds what Pydantic AI cannot write as JSON.
            InvalidText: SR003, a message holds text that PostgreSQL cannot store.
        """
        given = append_id or new_id()
        records = [
            NewFrameworkRecord(key=f"{given}:{place}", content=content)
            for place, content in enumerate(written(messages))
        ]
        if records:
            await self._bridge.run(self._append(records))

    async def _append(self, records: list[NewFrameworkRecord]) -> None:
        async with self._store.unit_of_work(tenant_id=self._tenant_id) as uow:
            for start in range(0, len(records), PAGE):
                await uow.frameworks.append(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    path=self._path,
                    records=records[start : start + PAGE],
                    principal_id=self._principal_id,
                    refuse_conflicts=True,
                )
