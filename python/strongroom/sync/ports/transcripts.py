# Written by scripts/generate_sync.py from strongroom/ports/transcripts.py: change that, and run `make generate`.
"""The port for transcripts that are saved as a whole."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonValue, Version
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.transcripts import RawMessages, SavedTranscript, TranscriptHead


class TranscriptStore(Protocol):
    """One list of raw provider messages per scope, for runners that load it, add to it, and save it.

    A message is any JSON value and comes back as it was given. ``load`` returns the whole list and
    ``save`` replaces it; only what differs is written. Two runners of one scope overwrite each other, as
    the contract has it, unless they name the version that they read. Every method raises
    InvalidArgument (SR001), LimitExceeded (SR004), NotFound (SR010) for a scope that is bound to an
    absent or deleted conversation, PermissionDenied (SR020), Unavailable (SR050).

    Attributes:
        kind: for inspectors: ``postgresql`` or ``in-memory``.
    """

    @property
    def kind(self) -> str:
        """What stores it, for inspectors."""
        ...

    def load(self, *, tenant_id: Id, scope: Id) -> list[JsonValue]:
        """Return the whole transcript, in order: an empty list when the scope is new.

        SQL: ``strongroom.read_transcript``
        """
        ...

    def find(self, *, tenant_id: Id, scope: Id) -> TranscriptHead | None:
        """Return what there is to know without the messages; None when nothing was saved.

        To save only over what you have read, call this before ``load``, and give ``save`` its version.

        SQL: ``strongroom.find_transcript``
        """
        ...

    def save(
        self,
        *,
        tenant_id: Id,
        scope: Id,
        messages: RawMessages,
        expected_version: Version | None = None,
        conversation_id: Id | None = None,
    ) -> SavedTranscript:
        """Make the scope's transcript this list.

        A list that extends the stored one sends and writes only the new messages; one that is shorter
        or has changed replaces what follows the common beginning.

        Args:
            tenant_id: the tenant.
            scope: the memory scope.
            messages: the whole list.
            expected_version: what you have read, 0 for a new scope; None replaces whatever is there.
            conversation_id: what a new transcript is bound to, and goes with.

        Raises:
            VersionConflict: SR012, it has another version.

        SQL: ``strongroom.find_transcript`` where the list is long, ``strongroom.save_transcript``

        Example:
            >>> import strongroom.sync
            >>> def main() -> int:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         place = {"tenant_id": "acme", "scope": "support/ada"}
            ...         messages = store.transcripts.load(**place)
            ...         messages += [{"role": "system", "content": "Be brief."}]
            ...         store.transcripts.save(**place, messages=messages)
            ...         messages += [{"role": "user", "content": "Hello"}]
            ...         done = store.transcripts.save(**place, messages=messages)
            ...         return done.inserted
            >>> main()
            1
        """
        ...

    def copy(
        self, *, tenant_id: Id, from_scope: Id, to_scope: Id, conversation_id: Id | None = None
    ) -> int:
        """Copy a transcript to a scope that has none; return how many messages were copied.

        The same scope twice: nothing happens. The copy is bound as its source is, unless a conversation
        is given.

        Raises:
            NotFound: SR010, ``from_scope`` has no transcript.
            AlreadyExists: SR011, ``to_scope`` has one.

        SQL: ``strongroom.copy_transcript``
        """
        ...

    def delete(self, *, tenant_id: Id, scope: Id) -> bool:
        """Delete the scope's transcript; return whether there was one.

        SQL: ``strongroom.delete_transcript``
        """
        ...

    def list_scopes(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[TranscriptHead]:
        """Return a page of the scopes that have a transcript, forward newest first.

        SQL: ``strongroom.list_transcripts``
        """
        ...
