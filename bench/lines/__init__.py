"""One function per line of the goals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench.context import Context
from bench.lines.append import append_one, append_ten, eight_clients
from bench.lines.buckets import bytes_in_buckets
from bench.lines.checkpoints import checkpoints
from bench.lines.frameworks import frameworks
from bench.lines.growth import growth
from bench.lines.jobs import jobs_and_runs
from bench.lines.locks import locks
from bench.lines.pages import last_fifty, validated_page
from bench.lines.supabase import supabase
from bench.lines.vectors import vectors

LINES: dict[str, Callable[[Context], Awaitable[None]]] = {
    "P1": append_one,
    "P2": append_ten,
    "P3": eight_clients,
    "P4": last_fifty,
    "P5": validated_page,
    "P6": jobs_and_runs,
    "P7": checkpoints,
    "P8": vectors,
    "P9": locks,
    "P10": growth,
    "P11": bytes_in_buckets,
    "P12": frameworks,
    "P13": supabase,
}
