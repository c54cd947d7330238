"""Write supabase/migrations/ from sql/migrations/*.up.sql; with --check, fail when it is stale.

The copies are what `supabase db push` and `supabase db reset` apply in this repository. Only ups
are copied: the Supabase CLI would apply a `.down.sql` there as one more migration. Their timestamps
follow from the migration's number alone, so that generating twice writes the same names.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from strongroom.migrations import Migration
from strongroom.supabase_project import file_name, render

ROOT = Path(__file__).resolve().parent.parent
FIRST_DAY = datetime(2026, 11, 30, tzinfo=UTC)


def sources(folder: Path) -> list[Migration]:
    found = [
        Migration(int(match[1]), match[2], path.read_text(encoding="utf-8"), down="")
        for path in sorted(folder.glob("*.up.sql"))
        if (match := re.fullmatch(r"(\d{4})_(\w+)\.up\.sql", path.name))
    ]
    if len(found) != len(list(folder.glob("*.up.sql"))):
        sys.exit(f"{folder}: every up migration has to be called NNNN_domain.up.sql")
    return found


def wanted(root: Path) -> dict[str, str]:
    """Name and text of every file that belongs into supabase/migrations."""
    return {
        file_name(source, f"{FIRST_DAY + timedelta(seconds=source.version):%Y%m%d%H%M%S}"): render(
            source
        )
        for source in sources(root / "sql/migrations")
    }


def stale(root: Path) -> list[str]:
    """One line per file that is missing, different or should not be there."""
    target = root / "supabase/migrations"
    files = wanted(root)
    problems = []
    for name, text in files.items():
        path = target / name
        if not path.exists():
            problems.append(f"supabase/migrations/{name} is missing")
        elif path.read_text(encoding="utf-8") != text:
            problems.append(f"supabase/migrations/{name} differs from sql/migrations")
    problems += [
        f"supabase/migrations/{path.name} belongs to no migration"
        for path in sorted(target.glob("*.sql"))
        if path.name not in files
    ]
    return problems


def write(root: Path) -> None:
    target = root / "supabase/migrations"
    target.mkdir(parents=True, exist_ok=True)
    files = wanted(root)
    for path in target.glob("*.sql"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (target / name).write_text(text, encoding="utf-8")


def main(root: Path = ROOT) -> int:
    if "--check" not in sys.argv:
        write(root)
        return 0
    problems = stale(root)
    for problem in problems:
        print(f"stale: {problem}; run `make generate`", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
