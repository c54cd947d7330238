# Written by scripts/generate_sync.py from strongroom/ports/principal_memory.py: change that, and run `make generate`.
"""The port for what is remembered about a principal."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject, Moment, Version
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.principal_memory import (
    Confidence,
    Embedding,
    FactText,
    MemoryFact,
    MemoryPut,
    MemorySearch,
    MemorySource,
    MemoryStatus,
    Namespace,
    SearchText,
    Sensitivity,
)
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.principal_memory import FactIds, MaxItems, MaxTokens, Sensitivities


class PrincipalMemoryStore(Protocol):
    """Atomic facts about a principal, searched under a budget, and forgotten for good.

    A principal's memory is theirs alone: a viewer who is somebody else sees what they would see of a
    principal without memory, and a signed-in user changes only their own (else PermissionDenied, SR020).
    A fact whose time has passed is as if it were gone.

    What was deleted does not come back: its id is never used again, and an ``extracted`` put of the same
    key or the same text (whatever its case, accents, punctuation and white space) has the outcome
    ``forgotten``. When the principal states it again (``user-stated``), it is remembered again. Expiry is
    no forgetting, and erasing the principal takes the record of what was forgotten along.

    Every method raises InvalidArgument (SR001) or LimitExceeded (SR004) for arguments of the wrong shape,
    TenantMismatch (SR021) for another tenant's caller, Unavailable (SR050) without a database; those that
    write NotFound (SR010) without the tenant.
    """

    def put(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        text: FactText,
        source: MemorySource,
        memory_id: Id | None = None,
        namespace: Namespace = "",
        key: Id | None = None,
        confidence: Confidence = 1.0,
        sensitivity: Sensitivity = "personal",
        expires_at: Moment | None = None,
        embedding: Embedding | None = None,
        embedding_model: Id | None = None,
        metadata: JsonObject | None = None,
        conversation_id: Id | None = None,
        message_id: Id | None = None,
        run_id: Id | None = None,
        expected_version: Version | None = None,
        generation: Version | None = None,
    ) -> MemoryPut:
        """Store a fact; with a key, in the place of the one that has the key.

        Args:
            tenant_id: the tenant.
            principal_id: whom the fact is about.
            text: the fact, 1 to 4,000 characters.
            source: ``user-stated``, or ``extracted`` from what was said. A user states.
            memory_id: the binding makes a UUIDv7 when it is None; a repeat with it changes nothing.
            namespace: a path such as ``work/travel``; the root by default.
            key: names one fact of the namespace.
            confidence: 0 to 1.
            sensitivity: ``normal``, ``personal`` or ``sensitive``.
            expires_at: from when on it is gone; a moment that has passed hides it at once.
            embedding: 1 to 4,000 numbers, not all zero.
            embedding_model: which model made it; embeddings of different models are never compared.
            metadata: the host's own JSON object, at most 16 KiB.
            conversation_id: where it came from, for people to trace; the fact outlives it.
            message_id: likewise.
            run_id: likewise.
            expected_version: the version of the fact with this key that is to be replaced. Without it,
                or with 0, nothing is replaced.
            generation: what ``status`` said when this put was prepared: when everything was forgotten
                since, nothing is stored.

        Returns:
            ``inserted``, ``duplicate``, ``updated`` or ``forgotten``, with the fact. A put that waited
            while everything was forgotten is ``forgotten``, too.

        Raises:
            AlreadyExists: SR011, the id was put with other content.
            VersionConflict: SR012, the key's fact has another version and other content.
            NotFound: SR010, an expected_version for a key that no fact has: it was deleted meanwhile.
            PermissionDenied: SR020, memory is disabled for this principal.

        SQL: ``strongroom.put_memory``

        Example:
            >>> import strongroom.sync
            >>> def main() -> list[str]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         whose = {"tenant_id": "acme", "principal_id": "ada"}
            ...         put = store.principal_memory.put(
            ...             **whose, text="Is allergic to peanuts.", source="user-stated"
            ...         )
            ...         found = store.principal_memory.search(**whose, text="any allergies?")
            ...         store.principal_memory.delete(**whose, memory_id=put.fact.id)
            ...         late = store.principal_memory.put(
            ...             **whose, text="is allergic to PEANUTS", source="extracted"
            ...         )
            ...         return [found.items[0].text, late.outcome]
            >>> main()
            ['Is allergic to peanuts.', 'forgotten']
        """
        ...

    def get(
        self, *, tenant_id: Id, principal_id: Id, memory_id: Id, viewer: Viewer | None = None
    ) -> MemoryFact:
        """Return the fact.

        Raises:
            NotFound: SR010, the same for an absent, an expired and an unreadable one.

        SQL: ``strongroom.find_memory``
        """
        ...

    def find(
        self, *, tenant_id: Id, principal_id: Id, memory_id: Id, viewer: Viewer | None = None
    ) -> MemoryFact | None:
        """Return the fact, or None. SQL: ``strongroom.find_memory``."""
        ...

    def list(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        namespace_prefix: Namespace = "",
        sensitivity: Sensitivity | None = None,
        source: MemorySource | None = None,
        viewer: Viewer | None = None,
    ) -> Page[MemoryFact]:
        """Return a page of facts, forward newest first.

        Args:
            tenant_id: the tenant.
            principal_id: whose memory.
            limit: rows, 1..500.
            after: the ``next_cursor`` of a page.
            before: the ``previous_cursor`` of a page.
            direction: ``forward`` or ``backward``.
            namespace_prefix: this namespace and all below it, segment by segment: ``user_1`` holds
                ``user_1`` and ``user_1/pets``, never ``user_10`` or ``userX1``. The empty one holds all.
            sensitivity: only such facts.
            source: only such facts.
            viewer: see with this principal's permissions.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_memories``
        """
        ...

    def search(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        text: SearchText | None = None,
        embedding: Embedding | None = None,
        embedding_model: Id | None = None,
        namespace_prefix: Namespace = "",
        sensitivities: Sensitivities | None = None,
        max_items: MaxItems = 20,
        max_tokens: MaxTokens = 2_000,
        viewer: Viewer | None = None,
    ) -> MemorySearch:
        """Find the facts that matter now, as many as fit into the budget.

        By text: words are folded (case, accents, width) and count by themselves, or for half by their
        first five letters; Chinese, Japanese, Korean, Thai and the like by pairs of characters and single
        ones. A word counts the less the more of the facts have it. Nothing is query syntax, and a text
        without words finds nothing. By embedding: exact cosine similarity with the facts of
        the same model and length. Both: ``a + b - a * b``. Equal scores go by confidence, then recency.

        Args:
            tenant_id: the tenant.
            principal_id: whose memory.
            text: what is asked or said, at most 32,768 characters.
            embedding: of what is asked, by the same model.
            embedding_model: the model.
            namespace_prefix: only this namespace and what is below it; see ``list``.
            sensitivities: only facts of these; None for all.
            max_items: facts, 1..500.
            max_tokens: estimated tokens of the facts' texts together, 1..1,000,000. A fact that does not
                fit is left out, and a shorter one after it may still come.
            viewer: see with this principal's permissions.

        Returns:
            The facts with score and how each was found; how many were found in all; whether memory is
            enabled for the principal.

        Raises:
            InvalidArgument: SR001, neither text nor embedding.

        SQL: ``strongroom.search_memories``
        """
        ...

    def touch(self, *, tenant_id: Id, principal_id: Id, memory_ids: FactIds) -> int:
        """Say that these facts were used now, at most 1,000; return how many there are.

        It is no change of the facts: their versions stay.

        SQL: ``strongroom.touch_memories``
        """
        ...

    def update(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        memory_id: Id,
        expected_version: Version,
        text: FactText | None = None,
        source: MemorySource | None = None,
        confidence: Confidence | None = None,
        sensitivity: Sensitivity | None = None,
        expires_at: Moment | Unset | None = UNSET,
        embedding: Embedding | Unset | None = UNSET,
        embedding_model: Id | None = None,
        metadata: JsonObject | None = None,
    ) -> MemoryFact:
        """Change a fact, given the version that you read; None leaves a field alone.

        For ``expires_at`` and ``embedding`` None clears. A new text without a new embedding clears the
        embedding. A text that a user changes is ``user-stated`` from then on.

        Raises:
            NotFound: SR010, also when it was deleted meanwhile.
            VersionConflict: SR012, with ``detail["current_version"]``.
            InvalidTransition: SR030, the new text is ``extracted``, and was forgotten.
            PermissionDenied: SR020, memory is disabled for this principal.

        SQL: ``strongroom.update_memory``
        """
        ...

    def delete(self, *, tenant_id: Id, principal_id: Id, memory_id: Id) -> bool:
        """Forget a fact for good; return whether there was one. SQL: ``strongroom.delete_memory``."""
        ...

    def forget_all(self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None) -> int:
        """Forget every fact of the principal for good; return how many there were.

        Args:
            tenant_id: the tenant.
            principal_id: whose memory.
            actor_id: who asks for it; a signed-in user is their own actor.

        SQL: ``strongroom.forget_memories``
        """
        ...

    def disable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """Store and find nothing for this principal from now on; what is stored stays until forgotten.

        Deleting, forgetting, and reading with ``get`` and ``list`` go on. A repeat changes nothing.

        SQL: ``strongroom.disable_memory``
        """
        ...

    def enable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """Allow memory again. A repeat changes nothing. SQL: ``strongroom.enable_memory``."""
        ...

    def status(
        self, *, tenant_id: Id, principal_id: Id, viewer: Viewer | None = None
    ) -> MemoryStatus:
        """Return the state of a principal's memory; that of a new one where there is nothing to see.

        SQL: ``strongroom.read_memory_status``
        """
        ...

    def expire(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """Delete up to ``limit`` facts of the tenant whose time has passed; return how many.

        Nobody sees them anyway: call it now and then to free their room.

        SQL: ``strongroom.expire_memories``
        """
        ...
