"""Citations: where in which file a chunk stands, and the lines that it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from strongroom.errors import InvalidArgument, NotFound
from strongroom.ingestion.files import FoundFile, read_text
from strongroom.ingestion.report import MARK
from strongroom.models.knowledge import SearchHit


@dataclass(frozen=True)
class Citation:
    """Where a chunk stands.

    Attributes:
        ref: the source's external_ref: the folder's name and the path in it.
        first_line: the chunk's first line, from 1; None where its locator has no lines.
        last_line: its last one.
        uri: where the source can be read.
        title: what it is called.
    """

    ref: str
    first_line: int | None
    last_line: int | None
    uri: str | None
    title: str | None

    @property
    def label(self) -> str:
        """The citation on one line, as editors understand it: ``docs/faq.md:3-9``."""
        if self.first_line is None or self.last_line is None:
            return self.ref
        return f"{self.ref}:{self.first_line}-{self.last_line}"


def cite(hit: SearchHit) -> Citation:
    """Return where what a search has found stands."""
    first, last = _pair(hit.locator.get("lines")) or (None, None)
    return Citation(hit.external_ref, first, last, hit.uri, hit.title)


def _pair(value: object) -> tuple[int, int] | None:
    match value:
        case [int(first), int(last)]:
            return first, last
        case _:
            return None


def resolve(hit: SearchHit, folder: Path | str) -> str:
    """Return what stands at a citation now, and make sure that it is what was found.

    Args:
        hit: what a search has found.
        folder: the folder that was ingested.

    Raises:
        NotFound: SR010, the file is gone, or something else stands there: ingest the folder again.
        InvalidArgument: SR001, it was not ingested from a folder.
    """
    label = cite(hit).label
    mark, span = hit.source_metadata.get(MARK), _pair(hit.locator.get("characters"))
    if not isinstance(mark, dict) or span is None:
        raise InvalidArgument(
            f"{label} was not ingested from a folder",
            detail={"path": "hit", "external_ref": hit.external_ref},
            hint="Only what ingest_folder has stored can be found again in a folder.",
        )
    inside = hit.external_ref.removeprefix(f"{mark['name']}/")
    path = Path(folder, inside)
    if path.is_file():
        start, end = span
        text = read_text(FoundFile(hit.external_ref, path), text_policy="replace").text[start:end]
        if text == hit.content:
            return text
    raise NotFound(
        f"{label}: {'something else stands there' if path.is_file() else 'the file is gone'}",
        detail={"path": "hit", "external_ref": hit.external_ref},
        hint="Ingest the folder again.",
    )
