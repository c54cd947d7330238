"""deletion.md: what becomes of each table's rows, from the catalog and the registries."""

from __future__ import annotations

from collections.abc import Iterator

from snapshot.model import Present
from snapshot.reference import NOTE, write_rows

_ACTIONS = {
    "delete": "the rows go",
    "clear": "the name goes, the row stays",
    "handle": "as the reason says",
    "keep": "kept",
}


def write_deletion(present: Present) -> str:
    """Return the text of deletion.md."""
    return "\n".join(_deletion(present)) + "\n"


def _deletion(present: Present) -> Iterator[str]:
    yield "# What is deleted, and when"
    yield ""
    yield NOTE
    yield "Soft deletion hides a record and can be undone. A purge and an erasure cannot; each is one"
    yield "transaction, and says how many rows of which table it took (`--dry-run` says it before)."
    yield ""
    yield "## With a conversation, and with a tenant"
    yield ""
    yield "Rows go by cascading foreign keys. What stays of a purged tenant is about deleting alone."
    yield ""
    yield from write_rows(
        ("Table", "`purge_conversation`", "`purge_tenant`"),
        (
            (
                f"`{table}`",
                "with it" if with_conversation else "stays",
                "with it" if with_tenant else "stays",
            )
            for table, with_conversation, with_tenant in present.cascades
        ),
    )
    yield ""
    yield "## With a person: `erase_principal`"
    yield ""
    yield "Every table has a rule for every column that can name a person; a migration that forgets one"
    yield "is refused."
    yield ""
    yield from write_rows(
        ("Table", "Column", "What happens", "Why"),
        (
            (f"`{table}`", f"`{column}`" if column else "", _ACTIONS[action], reason)
            for table, column, action, reason in present.erasure
        ),
    )
    yield ""
    yield "## With time: retention policies"
    yield ""
    yield "A tenant's policy names a kind and how long its records are kept (`set_retention_policy`)."
    yield "Live runs, pending interactions and their conversations are never touched."
    yield ""
    yield from write_rows(
        ("Kind", "Records", "Table"),
        ((f"`{kind}`", text, f"`{table}`") for kind, text, table in present.retention),
    )
