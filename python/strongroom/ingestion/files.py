"""Finding and reading the files of a folder: what cannot be read is named, and nothing is left out unseen."""

from __future__ import annotations

import codecs
import hashlib
import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from strongroom.errors import InvalidArgument, InvalidText, LimitExceeded

MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
"""Suffixes of Markdown; everything else is split as plain text."""

READ = MARKDOWN | {".txt", ".text"}
"""Suffixes that are read where no patterns are given."""

MAX_BYTES = 16 * 1024 * 1024
"""A file may have so many bytes."""

_REF_CHARACTERS = 255
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

TextPolicy = Literal["reject", "replace"]


@dataclass(frozen=True)
class FoundFile:
    """A file that is to be ingested.

    Attributes:
        ref: what its source is called: the folder's name and the path in it, with slashes, in NFC.
        path: where it lies.
    """

    ref: str
    path: Path

    @property
    def is_markdown(self) -> bool:
        """Whether its headings count."""
        return self.path.suffix.lower() in MARKDOWN


@dataclass(frozen=True)
class ReadFile:
    """What a file holds.

    Attributes:
        text: the decoded text, without a byte order mark.
        sha256: of the bytes.
    """

    text: str
    sha256: str


@dataclass
class Folder:
    """What a folder holds.

    Attributes:
        found: the files to ingest, in the order of their names.
        problems: what should be ingested and cannot be, each naming its file.
        ignored: how many files were left out: other suffixes, hidden and excluded ones; not counted are
            those in folders that are hidden or excluded.
    """

    found: list[FoundFile] = field(default_factory=list)
    problems: list[InvalidArgument] = field(default_factory=list)
    ignored: int = 0


def fault(
    file: str,
    reason: str,
    *,
    kind: type[InvalidArgument] = InvalidArgument,
    line: int | None = None,
    hint: str | None = None,
) -> InvalidArgument:
    """Return the error that says what is wrong with a file, and where."""
    where = file if line is None else f"{file}: line {line}"
    return kind(
        f"{where}: {reason}",
        detail={"file": file, "line": line, "reason": reason},
        hint=hint or "Mend the file, or leave it out with --exclude.",
    )


def find_files(
    path: Path,
    *,
    name: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Folder:
    """Return the files of a folder, or the one file that the path names.

    Hidden files and folders are left out, and links to what lies outside of the folder are problems.

    Args:
        path: a folder, or one file.
        name: what refs begin with; None: the folder's own name.
        include: only files whose path in the folder matches one of these patterns, such as ``*.rst``.
        exclude: but none that matches one of these.

    Raises:
        InvalidArgument: SR001, there is nothing at the path.
    """
    try:
        place = path.resolve(strict=True)
        root, entries = (
            (place, _walk(place, exclude)) if place.is_dir() else (place.parent, iter([place]))
        )
        prefix = unicodedata.normalize("NFC", name or root.name)
        folder = Folder()
        refs: dict[str, Path] = {}
        for entry in entries:
            inside = PurePosixPath(entry.relative_to(root).as_posix())
            alone = entry == place
            if not alone and not _is_wanted(inside, include, exclude):
                folder.ignored += 1
                continue
            ref = unicodedata.normalize("NFC", f"{prefix}/{inside}" if prefix else str(inside))
            problem = _problem_of(entry, ref, root, refs)
            if problem is None:
                refs[ref] = entry
                folder.found.append(FoundFile(ref, entry))
            else:
                folder.problems.append(problem)
    except OSError as error:
        raise InvalidArgument(
            f"{error.filename or path}: {error.strerror}",
            detail={"path": str(path)},
            hint="Name a folder, or a file, that can be read.",
        ) from error
    folder.found.sort(key=lambda file: file.ref)
    return folder


def _walk(root: Path, exclude: Sequence[str]) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(root, onerror=refuse):
        here = Path(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and not _matches(PurePosixPath((here / name).relative_to(root).as_posix()), exclude)
        )
        yield from (here / name for name in sorted(names))


def _is_wanted(inside: PurePosixPath, include: Sequence[str], exclude: Sequence[str]) -> bool:
    if inside.name.startswith(".") or _matches(inside, exclude):
        return False
    return _matches(inside, include) if include else inside.suffix.lower() in READ


def _matches(inside: PurePosixPath, patterns: Sequence[str]) -> bool:
    """A pattern of one part is for names of files and folders, others for the path's end."""
    return any(
        inside.match(pattern) or any(parent.match(pattern) for parent in inside.parents)
        for pattern in patterns
    )


def _problem_of(entry: Path, ref: str, root: Path, refs: dict[str, Path]) -> InvalidArgument | None:
    try:
        ref.encode()
    except UnicodeEncodeError:
        shown = ref.encode("utf-8", "backslashreplace").decode()
        return fault(shown, "its name is not UTF-8", kind=InvalidText, hint="Rename the file.")
    if len(ref) > _REF_CHARACTERS:
        return fault(
            ref,
            f"its name has {len(ref)} characters; at most {_REF_CHARACTERS} are allowed",
            kind=LimitExceeded,
            hint="Ingest an inner folder, or give a shorter --as NAME.",
        )
    if entry.is_symlink() and not entry.resolve().is_relative_to(root):
        return fault(ref, "is a link to what lies outside of the folder")
    if not entry.is_file():
        return fault(ref, "is no file, or a link to nothing")
    if ref in refs:
        return fault(ref, f"has the same name, in another spelling, as {refs[ref].name}")
    return None


def read_text(file: FoundFile, *, text_policy: TextPolicy = "reject") -> ReadFile:
    """Read a file: UTF-8, or UTF-16 where a byte order mark says so.

    Args:
        file: the file.
        text_policy: ``reject`` a U+0000, which PostgreSQL cannot hold, or ``replace`` it by U+FFFD.

    Raises:
        InvalidText: SR003, it is not text, naming file and line.
        LimitExceeded: SR004, it is too large.
        InvalidArgument: SR001, it cannot be opened.
    """
    try:
        with file.path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise fault(file.ref, str(error.strerror)) from error
    if len(data) > MAX_BYTES:
        raise fault(
            file.ref,
            f"has more than {MAX_BYTES} bytes",
            kind=LimitExceeded,
            hint="Cut it into several files, or leave it out with --exclude.",
        )
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise fault(
            file.ref,
            f"is not {encoding.removesuffix('-sig').upper()}: byte {error.start} cannot be decoded",
            kind=InvalidText,
            line=data.count(b"\n", 0, error.start) + 1,
            hint="Save it as UTF-8, or leave it out with --exclude.",
        ) from error
    if "\x00" in text:
        if text_policy == "reject":
            raise fault(
                file.ref,
                "holds U+0000, which PostgreSQL cannot store",
                kind=InvalidText,
                line=text.count("\n", 0, text.index("\x00")) + 1,
                hint="Remove the character, or give --text-policy replace.",
            )
        text = text.replace("\x00", "\ufffd")
    return ReadFile(text, hashlib.sha256(data).hexdigest())
