"""What an ingestion was asked for, and what it found and did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.ingestion.embedding import Embedder
from strongroom.ingestion.files import TextPolicy
from strongroom.ingestion.splitting import Splitter
from strongroom.models.knowledge import Source

Vanished = Literal["report", "keep", "delete"]
"""What becomes of sources whose files are gone: said as a finding, kept, or soft-deleted."""

MARK = "ingested"
"""The key of a source's metadata that says that it came from a folder."""


@dataclass(frozen=True)
class Recipe:
    """What decides, besides a file's bytes, what its source becomes.

    Attributes:
        splitter: how files are cut.
        embedder: how chunks are embedded; None: not at all.
        source_type: what the sources are, for filters.
        auth_subjects: who may see them; None: new ones the tenant, others whoever might before.
        uri_prefix: what a source's uri begins with, before the path in the folder.
        text_policy: what to do with text that PostgreSQL cannot hold.
    """

    splitter: Splitter = field(default_factory=Splitter)
    embedder: Embedder | None = None
    source_type: str = "document"
    auth_subjects: Sequence[str] | None = None
    uri_prefix: str | None = None
    text_policy: TextPolicy = "reject"

    def digest(self, *parts: str) -> str:
        """Return a digest of the recipe and of what it is for."""
        subjects = None if self.auth_subjects is None else sorted(set(self.auth_subjects))
        made = [self.splitter.settings, self.source_type, subjects, self.uri_prefix, *parts]
        return hashlib.sha256(json.dumps(made).encode()).hexdigest()

    def is_up_to_date(self, source: Source, digest: str) -> bool:
        """Tell whether a source is what this recipe would make of the same bytes."""
        model = None if self.embedder is None else self.embedder.model
        return source.content_digest == digest and (
            source.model == model or source.chunk_count == 0
        )


@dataclass
class IngestReport:
    """What an ingestion found and did.

    Attributes:
        folder: the path as it was given.
        tenant_id: the tenant.
        collection_id: the collection.
        collection: its name.
        collection_created: whether it is new.
        embedding_model: the model that chunks were embedded with; None: they are searched by words.
        files: how many files there are to ingest.
        ignored: how many were left out: other suffixes, hidden ones, excluded ones.
        unchanged: how many files were stored as they are.
        inserted: refs of files that are new.
        replaced: refs of files that were stored otherwise.
        failed: file, code and message of each that could not be stored now; a repeat tries again.
        unreadable: file, code and message of each that cannot be read.
        vanished: refs of sources whose files are gone.
        deleted: whether those were soft-deleted.
        deleted_before: refs of new sources of which a deleted one was there.
    """

    folder: str
    tenant_id: str
    collection: str
    collection_id: str = ""
    collection_created: bool = False
    embedding_model: str | None = None
    files: int = 0
    ignored: int = 0
    unchanged: int = 0
    inserted: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[dict[str, Any]] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    deleted: bool = False
    deleted_before: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the collection holds the whole folder now."""
        return not self.failed and not self.unreadable

    def to_json(self) -> dict[str, Any]:
        """Return it as ``--json`` shows it."""
        return asdict(self)


def told(error: StrongroomError, file: str) -> dict[str, Any]:
    """Return an error about a file, as reports have it."""
    return {
        "file": str(error.detail.get("file", file)),
        "line": error.detail.get("line"),
        "code": error.code,
        "message": error.message,
    }


def all_of(problems: Sequence[InvalidArgument]) -> InvalidArgument:
    """Return one error that names every file that cannot be read."""
    first = problems[0]
    if len(problems) == 1:
        return first
    files = [told(problem, "") for problem in problems]
    shown = "; ".join(str(one["message"]) for one in files[:3])
    more = f"; and {len(files) - 3} more" if len(files) > 3 else ""  # noqa: PLR2004 (as shown above)
    return type(first)(
        f"{len(files)} files cannot be ingested: {shown}{more}",
        detail={"files": files[:100], "count": len(files)},
        hint="Nothing was written. Mend them, leave them out with --exclude, or give"
        " --skip-unreadable to ingest the others.",
    )
