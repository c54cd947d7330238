"""What is remembered about a principal: facts, what became of a put, what a search found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from strongroom.errors import InvalidArgument
from strongroom.models.base import (
    BoundedText,
    Id,
    JsonObject,
    JsonValue,
    Record,
    Timestamp,
    Version,
)

MemorySource = Literal["user-stated", "extracted"]
Sensitivity = Literal["normal", "personal", "sensitive"]
PutOutcome = Literal["inserted", "duplicate", "updated", "forgotten"]
FoundBy = Literal["text", "vector"]

FactText = Annotated[str, BoundedText(1, 4_000)]
"""One fact: 1 to 4,000 characters."""

SearchText = Annotated[str, BoundedText(0, 32_768)]
"""What is searched for: plain words, at most 32,768 characters; there is no query syntax."""

Confidence = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
"""How sure a fact is: 0 to 1."""

Embedding = Annotated[
    Sequence[Annotated[float, Field(strict=True, ge=-3e38, le=3e38, allow_inf_nan=False)]],
    Field(min_length=1, max_length=4_000),
]
"""1 to 4,000 numbers, kept as four-byte floats."""


def _check_path(value: str) -> str:
    if value and "" in value.split("/"):
        raise PydanticCustomError(
            "not_a_path", "must be a path of segments with single slashes between them"
        )
    return value


Namespace = Annotated[str, BoundedText(0, 255), AfterValidator(_check_path)]
"""A path such as ``work/travel``, at most 255 characters; the empty text is the root."""


class MemoryFact(Record):
    """A fact about a principal.

    Attributes:
        id: unique for the principal.
        namespace: the path it lies under; empty is the root.
        key: its name in the namespace, for facts that replace each other.
        source: ``user-stated``, or ``extracted`` from what was said.
        sensitivity: ``normal``, ``personal`` or ``sensitive``.
        last_used_at: when ``touch`` last said that it was used.
        expires_at: from when on it is gone.
        embedding_model: which model made its embedding; None without one.
        embedding_dimensions: the embedding's length. The numbers themselves stay in the store.
        source_conversation_id: where it came from; the conversation may be gone meanwhile.
        version: one more at every change.
    """

    tenant_id: Id
    principal_id: Id
    id: Id
    namespace: str
    key: Id | None
    text: str
    source: MemorySource
    confidence: float
    sensitivity: Sensitivity
    last_used_at: Timestamp | None
    expires_at: Timestamp | None
    embedding_model: Id | None
    embedding_dimensions: int | None
    metadata: JsonObject
    source_conversation_id: Id | None
    source_message_id: Id | None
    source_run_id: Id | None
    version: Version
    created_at: Timestamp
    updated_at: Timestamp


class MemoryPut(Record):
    """What became of a put.

    Attributes:
        outcome: ``inserted``; ``duplicate`` (the same id or key with the same content: nothing changed);
            ``updated`` (the fact with this key had the expected version); or ``forgotten``: the principal
            forgot this fact, or all of them, and nothing was stored.
        fact: the fact as it is stored; None when it was forgotten.
    """

    outcome: PutOutcome
    fact: MemoryFact | None


class FoundMemoryFact(MemoryFact):
    """A fact that a search found.

    Attributes:
        score: above 0, to four digits; only to be compared within one search.
        found_by: ``text``, ``vector`` or both.
        tokens: the estimate that counts against the budget: a third of the text's bytes, rounded up.
    """

    score: float
    found_by: tuple[FoundBy, ...]
    tokens: int


class MemorySearch(Record):
    """What a search found, within its budget.

    Attributes:
        items: the facts, the best first.
        is_enabled: False when memory is disabled for the principal; then nothing is found.
        found: how many facts were found in all.
        tokens: the estimated tokens of the items together.
    """

    items: tuple[FoundMemoryFact, ...]
    is_enabled: bool
    found: int
    tokens: int

    @property
    def omitted(self) -> int:
        """How many facts were found that the budget left out."""
        return self.found - len(self.items)


class MemoryStatus(Record):
    """A principal's memory as a whole.

    Attributes:
        is_enabled: whether anything is stored and found.
        disabled_at: since when not.
        disabled_by: who disabled it.
        generation: how often everything was forgotten. Whoever prepares puts for later gives it along.
        forgotten_at: when everything was forgotten last.
        fact_count: how many facts there are.
    """

    tenant_id: Id
    principal_id: Id
    is_enabled: bool
    disabled_at: Timestamp | None
    disabled_by: Id | None
    generation: int
    forgotten_at: Timestamp | None
    fact_count: int


def embedding_of(
    embedding: Sequence[float] | None, embedding_model: str | None
) -> dict[str, JsonValue]:
    """Return the two fields of an embedding, checked together.

    Raises:
        InvalidArgument: SR001, one without the other, or nothing but zeros.
    """
    if (embedding is None) != (embedding_model is None):
        raise InvalidArgument(
            "embedding and embedding_model come together",
            detail={"path": "embedding_model"},
            hint="Name the model that made the embedding.",
        )
    numbers = None
    if embedding is not None:
        numbers = [0.0 if abs(number) < 1e-37 else float(number) for number in embedding]  # noqa: PLR2004
        if not any(numbers):
            raise InvalidArgument(
                "embedding must not be all zeros",
                detail={"path": "embedding"},
                hint="An embedding needs a direction to be compared.",
            )
    return {"embedding": numbers, "embedding_model": embedding_model}  # type: ignore[dict-item]


def search_embedding(
    text: str | None, embedding: Sequence[float] | None, embedding_model: str | None
) -> dict[str, JsonValue]:
    """Return the two fields of a search by embedding, checked together with its text.

    Raises:
        InvalidArgument: SR001, an embedding without a model, or nothing to search for.
    """
    checked = embedding_of(embedding, embedding_model)
    if text is None and embedding is None:
        raise InvalidArgument(
            "text or embedding is required",
            detail={"path": "text"},
            hint="Say what to search for; principal_memory.list shows everything.",
        )
    return checked
