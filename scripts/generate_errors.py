"""Write python/strongroom/errors.py from sql/errors.toml; with --check, fail when it is stale.

The same registry stands in the function strongroom_private.error_codes() of the foundation migration,
because a DBA must be able to read it in the database; --check compares that copy too.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "python/strongroom/errors.py"
MIGRATION = ROOT / "sql/migrations/0001_foundation.up.sql"

HEADER = '''"""The one error tree. GENERATED from sql/errors.toml by scripts/generate_errors.py: do not edit.

{tree}

Every failure of every adapter is one of these, with the same code over psycopg and over PostgREST.
Decide by class or by ``code``; the message is for people and may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class StrongroomError(Exception):
    """The root of every error that strongroom raises.

    Attributes:
        code: the SQLSTATE of class ``SR`` (or the SQLSTATE of an unforeseen database error).
        message: what went wrong, and where, for a person.
        detail: machine-readable fields, such as ``{{"path": "messages[3].parts[0].text"}}``.
        hint: what to do next.
        retryable: True when the same call may succeed if it is made again unchanged.
    """

    code: ClassVar[str] = "SR000"
    name: ClassVar[str] = "error"
    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        detail: Mapping[str, Any] | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        """Keep the parts apart, so that callers need not parse the message."""
        super().__init__(message)
        self.message = message
        self.detail: dict[str, Any] = dict(detail or {{}})
        self.hint = hint
        self.retryable = self.default_retryable if retryable is None else retryable

    def __str__(self) -> str:
        """Return the message, followed by the hint where there is one."""
        return f"{{self.message}} [{{self.code}}]" + (f" Hint: {{self.hint}}" if self.hint else "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error travel between processes with all its fields."""
        return (_rebuild, (type(self), self.message, self.detail, self.hint, self.retryable))


def _rebuild(
    kind: type[StrongroomError], message: str, detail: dict[str, Any], hint: str | None, retryable: bool
) -> StrongroomError:
    return kind(message, detail=detail, hint=hint, retryable=retryable)

'''

CLASS = '''
class {python}({parent}):
    """{meaning}"""

    code = "{code}"
    name = "{name}"
    default_retryable = {retryable}

'''

FOOTER = '''
BY_CODE: dict[str, type[StrongroomError]] = {{
{rows}
}}
"""SQLSTATE -> class. One map serves psycopg's ``sqlstate`` and PostgREST's ``code``."""
'''


def tree(
    errors: list[dict[str, Any]], parent: str = "StrongroomError", depth: int = 0
) -> list[str]:
    lines = [f"    {parent}"] if depth == 0 else []
    for error in errors:
        if error["parent"] == parent:
            lines.append("    " + "  " * (depth + 1) + f"{error['python']}  ({error['code']})")
            lines += tree(errors, error["python"], depth + 1)
    return lines


def render(errors: list[dict[str, Any]]) -> str:
    text = HEADER.format(tree="\n".join(tree(errors)))
    text += "".join(CLASS.format(**error) for error in errors)
    rows = "\n".join(f'    "{error["code"]}": {error["python"]},' for error in errors)
    text += FOOTER.format(rows=rows)
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def sql_registry() -> list[tuple[str, str, bool, str]]:
    """The rows of error_codes() as the migration writes them."""
    body = (
        MIGRATION.read_text().split("function strongroom_private.error_codes()")[1].split("$$")[1]
    )
    rows = re.findall(r"\('(SR\d{3})', '(\w+)', (true|false), '((?:[^']|'')*)'\)", body)
    return [
        (code, name, retry == "true", text.replace("''", "'")) for code, name, retry, text in rows
    ]


def main() -> int:
    errors = tomllib.loads((ROOT / "sql/errors.toml").read_text())["error"]
    text = render(errors)
    if "--check" not in sys.argv:
        TARGET.write_text(text)
        return 0
    stale = (
        [] if TARGET.exists() and TARGET.read_text() == text else [str(TARGET.relative_to(ROOT))]
    )
    wanted = [(e["code"], e["name"], e["retryable"], e["meaning"]) for e in errors]
    if sql_registry() != wanted:
        stale.append(f"{MIGRATION.relative_to(ROOT)} (strongroom_private.error_codes)")
    for name in stale:
        print(f"stale: {name} differs from sql/errors.toml; run `make generate`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
