"""Put strongroom's migrations into a user's Supabase project, for `supabase db push` to apply.

Supabase's history of migrations is one line that the project's own files and ours share, and the
Supabase CLI refuses a file that sorts before the newest applied one. So the files cannot be shipped
with fixed names: :func:`emit` writes each with a timestamp later than every file that is there, and
an upgrade writes only what is new. What has been emitted is read back from the file names,
``<timestamp>_strongroom_<NNNN>_<domain>.sql``, so nothing else has to be kept in step.

Emitted files are copies. One that was edited, renamed or left out is refused, never repaired: only
the owner of the project knows whether it has been pushed.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from strongroom.errors import InvalidArgument, SchemaVersionError
from strongroom.migrations import Migration, load_migrations

SCHEMA = "strongroom"
_ANY_MIGRATION = re.compile(r"^([0-9]+)_.*\.sql$")
_OUR_MIGRATION = re.compile(r"([0-9]+)_strongroom_([0-9]{4})_([a-z0-9_]+)\.sql")
_TIMESTAMP = "%Y%m%d%H%M%S"


@dataclass(frozen=True)
class EmitResult:
    """What :func:`emit` found and did.

    Attributes:
        directory: the folder of migrations, such as ``my-app/supabase/migrations``.
        written: the files that this call wrote, in the order in which they apply.
        present: the files that earlier calls wrote, unchanged, in the same order.
        exposed: whether the project's config.toml exposes the schema to its local API; None when
            there is no config.toml or it cannot be read.
        next_steps: what remains to be done by a person, one sentence each.
    """

    directory: Path
    written: tuple[Path, ...]
    present: tuple[Path, ...]
    exposed: bool | None
    next_steps: tuple[str, ...]


def render(migration: Migration) -> str:
    """Return the text of a Supabase project's copy: the same bytes from every release that has it.

    Args:
        migration: the migration.
    """
    return (
        f"-- GENERATED from strongroom's migration {migration.version:04d}_{migration.name}:"
        f" do not edit this copy.\n\n{migration.up}"
    )


def file_name(migration: Migration, timestamp: str) -> str:
    """Return the name of an emitted file.

    Args:
        migration: the migration.
        timestamp: the version by which the Supabase CLI sorts, digits only.
    """
    return f"{timestamp}_{SCHEMA}_{migration.version:04d}_{migration.name}.sql"


def emit(
    directory: Path | str,
    *,
    now: datetime | None = None,
    migrations: Sequence[Migration] | None = None,
) -> EmitResult:
    """Write the package's migrations into a Supabase project, each file once.

    Args:
        directory: the project (the folder that holds ``supabase/``), its ``supabase`` folder, its
            ``supabase/migrations`` folder, or an empty folder for a new project.
        now: the time that new files are named after, with a time zone; the present when absent.
            Where the project has later files, the names continue after them.
        migrations: the migrations to write; those of the installed package when absent.

    Returns:
        The files written and found, and the steps that remain.

    Raises:
        InvalidArgument: (SR001) the directory is no Supabase project, or cannot be read or
            written, or a file there has a version after which no timestamp can sort.
        SchemaVersionError: (SR041) an emitted file differs from the package's, is missing,
            doubled or out of order, or comes from a newer package. Nothing was written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first, again = emit(folder), emit(folder)
        >>> len(first.written) > 0, again.written, again.present == first.written
        (True, (), True)
    """
    if now is not None and now.tzinfo is None:
        raise InvalidArgument("now has no time zone", hint="Pass datetime.now(UTC), or nothing.")
    wanted = sorted(
        load_migrations() if migrations is None else migrations,
        key=lambda migration: migration.version,
    )
    with _typed_os_errors(directory):
        folder = _find_migrations_folder(Path(directory))
        names = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
        present = _check_present(folder, names, wanted)
        missing = wanted[len(present) :]
        stamps = _timestamps(names, now or datetime.now(UTC), len(missing), folder)
        files = [
            (folder / file_name(migration, stamp), render(migration))
            for migration, stamp in zip(missing, stamps, strict=True)
        ]
        if files:
            folder.mkdir(parents=True, exist_ok=True)
            _write_all(folder, files)
    written = tuple(path for path, _ in files)
    exposed = _is_exposed(folder.parent / "config.toml")
    return EmitResult(folder, written, present, exposed, _next_steps(folder, written, exposed))


@contextlib.contextmanager
def _typed_os_errors(directory: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidArgument(
            f"cannot use {error.filename or directory}: {error.strerror}",
            detail={"directory": str(directory)},
            hint="Check that the folder exists and that you may write in it.",
        ) from error


def _find_migrations_folder(directory: Path) -> Path:
    """The folder of migrations that the user means, which need not exist yet."""
    if not directory.is_dir():
        what = "is not a directory" if directory.exists() else "does not exist"
        raise InvalidArgument(
            f"{directory} {what}",
            detail={"directory": str(directory)},
            hint="Name the folder of a Supabase project, the one that holds supabase/.",
        )
    place = directory.resolve()
    if (directory / "supabase").is_dir():
        return directory / "supabase" / "migrations"
    if place.name == "migrations" and place.parent.name == "supabase":
        return directory
    if place.name == "supabase" or (directory / "config.toml").is_file():
        return directory / "migrations"
    if all(path.name.startswith(".") for path in directory.iterdir()):
        return directory / "supabase" / "migrations"
    raise InvalidArgument(
        f"{directory} holds files, but no supabase folder",
        detail={"directory": str(directory)},
        hint=f"Run `supabase init` in {directory}, or name the folder of your Supabase project.",
    )


def _check_present(
    folder: Path, names: Sequence[str], wanted: Sequence[Migration]
) -> tuple[Path, ...]:
    """The files emitted before, in order, known to be exactly the package's first ones."""
    found = [
        (found_name[1], int(found_name[2]), folder / found_name[0])
        for found_name in map(_OUR_MIGRATION.fullmatch, names)
        if found_name
    ]
    found.sort(key=lambda item: item[0])  # as the Supabase CLI does: the text, not the number
    for place, (_, version, path) in enumerate(found, start=1):
        if version > len(wanted):
            raise _refusal(
                path,
                f"has migration {version:04d}, but this package ends at {len(wanted):04d}",
                "The project was written by a newer strongroom: upgrade the package.",
            )
        if version != place:
            raise _refusal(
                path,
                f"stands in place of migration {place:04d}: a file is missing, doubled or renamed",
                "Restore the files as they were emitted; `supabase migration list` shows what "
                "was pushed.",
            )
        migration = wanted[place - 1]
        same_name = file_name(migration, path.name.split("_", 1)[0]) == path.name
        if not same_name or _text(path) != render(migration):
            raise _refusal(
                path,
                f"differs from migration {version:04d} of this package",
                "It was edited, or written by another version of strongroom. Restore it as it was "
                "emitted and put your own changes into a migration of your own; if it was never "
                "pushed, delete it and emit again.",
            )
    return tuple(path for _, _, path in found)


def _text(path: Path) -> str:
    """The text of a file with the line ends of its first writing (git may have changed them)."""
    return path.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")


def _refusal(path: Path, problem: str, hint: str) -> SchemaVersionError:
    return SchemaVersionError(f"{path} {problem}", detail={"file": str(path)}, hint=hint)


def _timestamps(names: Sequence[str], now: datetime, count: int, folder: Path) -> list[str]:
    """Versions for new files, each later than all before it in the CLI's textual order."""
    latest = max((found for name in names for found in _ANY_MIGRATION.findall(name)), default="")
    stamps: list[str] = []
    for _ in range(count):
        stamp = now.astimezone(UTC).strftime(_TIMESTAMP)
        latest = stamp if stamp > latest else _successor(latest, folder)
        stamps.append(latest)
    return stamps


def _successor(version: str, folder: Path) -> str:
    """The next second, or the next number where the first 14 digits are no date."""
    digits = version[:14]
    try:
        moment = datetime.strptime(digits, _TIMESTAMP).replace(tzinfo=UTC) + timedelta(seconds=1)
        following = moment.strftime(_TIMESTAMP)
    except (ValueError, OverflowError):
        following = f"{int(digits) + 1:014d}"
    if len(digits) < len(following) or len(following) != 14:  # noqa: PLR2004 - digits of a timestamp
        raise InvalidArgument(
            f"{folder} has a migration {version} that sorts after every timestamp",
            detail={"directory": str(folder), "version": version},
            hint="The Supabase CLI compares versions as texts: name that file with a timestamp.",
        )
    return following


def _write_all(folder: Path, files: Sequence[tuple[Path, str]]) -> None:
    """Write under temporary names first, so that a full disk leaves no half of a migration."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".strongroom-") as staging:
        for path, text in files:
            with (Path(staging) / path.name).open("wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        for path, _ in files:
            (Path(staging) / path.name).replace(path)


def _is_exposed(config: Path) -> bool | None:
    try:
        settings = tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    api = settings.get("api")
    schemas = api.get("schemas") if isinstance(api, dict) else None
    return isinstance(schemas, list) and SCHEMA in schemas


def _next_steps(folder: Path, written: tuple[Path, ...], exposed: bool | None) -> tuple[str, ...]:
    steps: list[str] = []
    if not (folder.parent / "config.toml").exists():
        steps.append("Run `supabase init` in the project, which has no supabase/config.toml yet.")
    if written:
        steps.append("Run `supabase db push --dry-run`, read its list, then `supabase db push`.")
    if not exposed:
        steps.append(
            f'Let the local API serve the schema: add "{SCHEMA}" to `schemas` under [api] in '
            f'supabase/config.toml, as in schemas = ["public", "{SCHEMA}"].'
        )
    steps.append(
        f"Let the hosted API serve the schema: in the dashboard, Project Settings > API > Exposed "
        f"schemas, add {SCHEMA}. Direct PostgreSQL connections need no such step."
    )
    return tuple(steps)
