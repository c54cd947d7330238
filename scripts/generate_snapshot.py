"""Write sql/snapshot/, the present state of the schema; with --check, fail when it is stale.

The migrations run on an embedded server of their own, as a superuser, with Supabase's roles there,
and what they leave in the catalog is written down: one file per object, the reference, the grant
matrix, the diagram, and the fingerprint that drift is measured by.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from snapshot.catalog import read_present
from snapshot.deletion import write_deletion
from snapshot.diagram import draw_diagram
from snapshot.objects import write_objects
from snapshot.reference import write_grants, write_reference
from strongroom import drift

ROOT = Path(__file__).resolve().parent.parent
MIGRATIONS = ROOT / "sql/migrations"
TARGET = ROOT / "sql/snapshot"


def wanted() -> dict[str, str]:
    """Return path below sql/snapshot -> text, of every file that belongs there."""
    present = read_present(sorted(MIGRATIONS.glob("*.up.sql")))
    return {
        **write_objects(present),
        "reference.md": write_reference(present),
        "grants.md": write_grants(present),
        "deletion.md": write_deletion(present),
        "erd.svg": draw_diagram(present.tables, present.domains),
        "fingerprint.json": write_fingerprint(present.fingerprint),
    }


def write_fingerprint(fingerprint: drift.Fingerprint) -> str:
    """Return the JSON with one line per object, so that a diff names what changes."""
    lines = [
        f"    {json.dumps(key)}: {json.dumps(history)}"
        for key, history in fingerprint["objects"].items()
    ]
    objects = ",\n".join(lines)
    return f'{{\n  "version": {fingerprint["version"]},\n  "objects": {{\n{objects}\n  }}\n}}\n'


def find_stale(files: dict[str, str], target: Path) -> list[str]:
    """Return one line per file that is missing, differs or should not be there."""
    problems = []
    for name, text in files.items():
        path = target / name
        if not path.exists():
            problems.append(f"{name} is missing")
        elif path.read_text(encoding="utf-8") != text:
            problems.append(f"{name} differs from what the migrations make")
    present = sorted(p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_file())
    return problems + [f"{name} belongs to no object" for name in present if name not in files]


def write(files: dict[str, str], target: Path) -> None:
    for path in sorted(target.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(target).as_posix() not in files:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for name, text in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(target: Path = TARGET) -> int:
    files = wanted()
    if "--check" not in sys.argv:
        write(files, target)
        return 0
    problems = find_stale(files, target)
    for problem in problems:
        print(f"stale: sql/snapshot/{problem}; run `make generate`", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
