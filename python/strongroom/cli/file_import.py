"""Writing a checked file into a conversation: resumable, and never beside what is stored there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from strongroom.client import Strongroom
from strongroom.errors import AlreadyExists, InvalidTransition, NotFound
from strongroom.importing import FileSummary, read_file
from strongroom.models.json_values import stored_size
from strongroom.models.messages import AppendItem, NewMessage

_BATCH_BYTES = 4 * 1024 * 1024
"""A batch ends when it has reached this size, whatever its number of messages."""


@dataclass
class ImportReport:
    """What an import found and did.

    Attributes:
        file: the path as it was given.
        form: the form of the file.
        tenant_id: the tenant.
        conversation_id: the conversation.
        messages: how many messages the file makes.
        tenant_created: whether the tenant is new.
        conversation_created: whether the conversation is new.
        already_stored: messages of the file that were stored before.
        newer: messages that the conversation has beyond the file's.
        inserted: messages that this import inserted.
        duplicates: messages that another import inserted meanwhile.
        conflicts: number in the file (from 1), id and kind of each message that was refused.
    """

    file: str
    form: str
    tenant_id: str
    conversation_id: str
    messages: int
    tenant_created: bool = False
    conversation_created: bool = False
    already_stored: int = 0
    newer: int = 0
    inserted: int = 0
    duplicates: int = 0
    conflicts: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return it as ``--json`` shows it."""
        return asdict(self)


class FileImport:
    """One file on its way into one conversation."""

    def __init__(
        self,
        store: Strongroom,
        *,
        tenant_id: str,
        file: Path,
        summary: FileSummary,
        text_policy: Literal["reject", "replace"] = "reject",
        batch: int = 100,
    ) -> None:
        """Prepare an import; nothing is written yet.

        Args:
            store: where to.
            tenant_id: whose data it is.
            file: what was checked.
            summary: what the check found.
            text_policy: the policy that it was checked with.
            batch: messages per append, 1..500.
        """
        self._store = store
        self._file = file
        self._summary = summary
        self._policy = text_policy
        self._batch = batch
        self.report = ImportReport(
            file=str(file),
            form=summary.form,
            tenant_id=tenant_id,
            conversation_id=summary.conversation_id,
            messages=summary.messages,
        )

    async def ensure_tenant(self, *, create: bool, name: str | None = None) -> None:
        """Make sure of the tenant.

        Raises:
            NotFound: SR010, it does not exist and is not to be created.
        """
        tenant_id = self.report.tenant_id
        if await self._store.tenants.find(tenant_id=tenant_id) is not None:
            return
        if not create:
            raise NotFound(
                f"the tenant {tenant_id} does not exist",
                detail={"path": "--tenant", "record": "tenant"},
                hint="Give --create-tenant to create it.",
            )
        made = await self._store.tenants.create(tenant_id=tenant_id, name=name or tenant_id)
        self.report.tenant_created = made.outcome == "inserted"

    async def ensure_conversation(self, *, owner_id: str, title: str | None = None) -> None:
        """Make sure of the conversation; one that exists stays as it is.

        Raises:
            InvalidTransition: SR030, it is deleted.
        """
        tenant_id, conversation_id = self.report.tenant_id, self.report.conversation_id
        talks = self._store.conversations
        if await talks.find(tenant_id=tenant_id, conversation_id=conversation_id) is not None:
            return
        if await talks.find(tenant_id=tenant_id, conversation_id=conversation_id, deleted=True):
            raise InvalidTransition(
                f"the conversation {conversation_id} is deleted",
                detail={"path": "conversation_id"},
                hint="Restore it, or import into another with --conversation ID.",
            )
        made = await talks.create(
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            owner_id=owner_id,
            title=title or self._summary.title,
        )
        self.report.conversation_created = made.outcome == "inserted"

    async def run(self, on_progress: Callable[[int], None] | None = None) -> ImportReport:
        """Insert what is missing.

        Args:
            on_progress: is told how many messages of the file are stored.

        Returns:
            What happened. With conflicts, it stopped at the batch that has them.

        Raises:
            AlreadyExists: SR011, the conversation holds something else than the file. Nothing was
                written.
        """
        tell = on_progress or (lambda _: None)
        messages = read_file(
            self._file,
            form=self._summary.form,
            conversation_id=self.report.conversation_id,
            text_policy=self._policy,
        )
        stored = await self._store.messages.count(
            tenant_id=self.report.tenant_id, conversation_id=self.report.conversation_id
        )
        common = min(stored, self._summary.messages)
        if common:
            newest = deque(islice(messages, common), maxlen=1)
            await self._check_same(newest[0].id if newest else None, common)
        self.report.already_stored, self.report.newer = common, stored - common
        tell(common)
        done = common
        for batch in self._batches(messages):
            appended = await self._store.messages.append(
                tenant_id=self.report.tenant_id,
                conversation_id=self.report.conversation_id,
                messages=batch,
            )
            for item in appended.items:
                done += 1
                self._note(done, item)
            tell(done)
            if self.report.conflicts:
                break
        return self.report

    async def _check_same(self, wanted: str | None, position: int) -> None:
        """One id proves all before it: each is derived from the one before."""
        page = await self._store.messages.list(
            tenant_id=self.report.tenant_id,
            conversation_id=self.report.conversation_id,
            after_position=position - 1,
            limit=1,
        )
        found = page.items[0].id if page.items else None
        if found != wanted:
            raise AlreadyExists(
                f"the conversation {self.report.conversation_id} holds other messages than"
                f" {self.report.file}: they differ at message {position} or before",
                detail={
                    "path": "conversation_id",
                    "position": position,
                    "stored_id": found,
                    "file_id": wanted,
                },
                hint="Nothing was written. Import the file into another conversation with"
                " --conversation ID.",
            )

    def _note(self, number: int, item: AppendItem) -> None:
        conflict = item.conflict
        if item.outcome == "conflict":
            kind = str(conflict)
        elif item.position != number:
            kind = "other-position"  # somebody else appended to the conversation meanwhile
        else:
            kind = ""
        if kind:
            self.report.conflicts.append({"number": number, "id": item.id, "conflict": kind})
        if item.outcome == "inserted":
            self.report.inserted += 1
        elif item.outcome == "duplicate":
            self.report.duplicates += 1

    def _batches(self, messages: Iterator[NewMessage]) -> Iterator[list[NewMessage]]:
        batch: list[NewMessage] = []
        size = 0
        for message in messages:
            batch.append(message)
            size += stored_size(message.to_json())
            if len(batch) == self._batch or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch
