"""What each adapter advertises: its ports, what they need, and how they take part in a unit of work.

The README's table is generated from this; the capabilities are those that the adapters themselves have.
"""

from __future__ import annotations

from dataclasses import dataclass

from strongroom.in_memory.adapter import CAPABILITIES as MEMORY
from strongroom.infrastructure.composing import CAPABILITY_OF
from strongroom.models.health import Capability
from strongroom.postgres import CAPABILITIES as POSTGRESQL
from strongroom.supabase import CAPABILITIES as SUPABASE

PORTS: dict[str, Capability] = {
    **CAPABILITY_OF,
    "blobs": "blob_storage",
    "keywords": "full_text_search",
    "vectors": "vector_search",
}
"""The ports of infrastructure, and the capability that each stands for."""


@dataclass(frozen=True, slots=True)
class Advertised:
    """An adapter.

    Attributes:
        name: what people call it.
        opened: how it is opened.
        extra: which extra it needs; '' for none.
        notes: for each of its ports, what is to be known of it; '' for nothing.
        in_unit: what happens in a unit of work.
        blocking: whether ``strongroom.sync`` has it, and how.
    """

    name: str
    opened: str
    extra: str
    notes: dict[str, str]
    in_unit: str
    blocking: str = "yes"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What a store can do with its ports."""
        return frozenset(PORTS[port] for port in self.notes)


def _of(capabilities: frozenset[Capability], **notes: str) -> dict[str, str]:
    """Return the ports that a set of capabilities stands for."""
    return {
        port: notes.get(port, "") for port, needed in PORTS.items() if needed in capabilities
    } | notes


_OUTSIDE = "outside: the row comes first"

ADAPTERS: tuple[Advertised, ...] = (
    Advertised(
        "PostgreSQL",
        'connect("postgresql://...")',
        "",
        _of(POSTGRESQL, vectors="with pgvector"),
        "part of the transaction",
        "subscriptions look once a second",
    ),
    Advertised(
        "Supabase's API",
        "connect_supabase(url, key)",
        "supabase",
        _of(SUPABASE, realtime="woken by Supabase Realtime, else polls", vectors="with pgvector"),
        "no units of work",
        "subscriptions look once a second",
    ),
    Advertised("in memory", 'connect("memory:")', "", _of(MEMORY), "part of the transaction"),
    Advertised(
        "Redis",
        'locks="redis://..."',
        "redis",
        {"locks": ""},
        "what is checked stays pinned until the end",
    ),
    Advertised(
        "Redis",
        'realtime="redis://..."',
        "redis",
        {"realtime": "bounded topics"},
        "published after the commit, through an outbox",
    ),
    Advertised(
        "BullMQ",
        'jobs="bullmq+redis://..."',
        "bullmq",
        {"jobs": "rows stay in the database"},
        "part of the transaction; workers told after it",
        "no",
    ),
    Advertised(
        "S3-compatible",
        'blobs="s3://bucket?endpoint=..."',
        "s3",
        {"blobs": "signed URLs"},
        _OUTSIDE,
    ),
    Advertised(
        "Supabase Storage",
        'connect_supabase(..., blobs="supabase:")',
        "supabase",
        {"blobs": "signed URLs for getting"},
        "no units of work",
    ),
    Advertised("local folder", 'blobs="file:///folder"', "", {"blobs": ""}, _OUTSIDE),
    Advertised("bytes in memory", 'blobs="memory:"', "", {"blobs": ""}, _OUTSIDE),
)


def table() -> str:
    """Return adapter x port x capability as a Markdown table."""
    heads = [f"{port}: `{capability}`" for port, capability in PORTS.items()]
    lines = [
        "| adapter | opened with | extra | "
        + " | ".join(heads)
        + " | in a unit of work | in `strongroom.sync` |",
        "|---" * (len(PORTS) + 5) + "|",
    ]
    for adapter in ADAPTERS:
        cells = [
            "" if port not in adapter.notes else adapter.notes[port] or "yes" for port in PORTS
        ]
        row = [adapter.name, f"`{adapter.opened}`", adapter.extra, *cells, adapter.in_unit]
        row.append(adapter.blocking)
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)
