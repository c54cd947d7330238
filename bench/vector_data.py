"""Embeddings that lie in clusters, as those of texts do; who has how many; and which are really nearest."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import psycopg

DIMENSIONS = 384
LIMIT = 10
QUERIES = 40
PER_SOURCE = 50
_TOPICS, _TOPICS_OF_A_TENANT, _FILLER = 2_000, 60, 5_000


@dataclass(frozen=True)
class VectorData:
    """Tenants of these sizes, and others of 5,000 chunks until there are ``rows`` in all."""

    sizes: tuple[int, ...]
    rows: int

    @cached_property
    def tenants(self) -> list[int]:
        """How many chunks each tenant has; the measured ones first."""
        left = self.rows - sum(self.sizes)
        assert left >= 0, "more rows in the measured tenants than in all"
        rest = [_FILLER] * (left // _FILLER) + [left % _FILLER]
        return [*self.sizes, *(size for size in rest if size)]

    @cached_property
    def vectors(self) -> Any:
        """All embeddings, tenant after tenant, of length 1."""
        import numpy as np  # noqa: PLC0415 (only for this line)

        source = np.random.default_rng(8)
        topics = source.standard_normal((_TOPICS, DIMENSIONS), dtype=np.float32)
        made = []
        for size in self.tenants:
            mine = source.choice(_TOPICS, _TOPICS_OF_A_TENANT, replace=False)
            chosen = topics[source.choice(mine, size)]
            noise = source.standard_normal((size, DIMENSIONS), dtype=np.float32)
            made.append(chosen + 0.7 * noise)
        joined = np.concatenate(made)
        return joined / np.linalg.norm(joined, axis=1, keepdims=True)

    def begin(self, tenant: int) -> int:
        """The place of a tenant's first chunk among all."""
        return sum(self.tenants[:tenant])

    def queries(self, tenant: int) -> list[list[float]]:
        """What is searched for in a tenant: near to what it has, and never quite it."""
        import numpy as np  # noqa: PLC0415

        source = np.random.default_rng(100 + tenant)
        begin = self.begin(tenant)
        near = self.vectors[begin + source.integers(0, self.tenants[tenant], QUERIES)]
        noise = source.standard_normal(near.shape).astype(np.float32) / DIMENSIONS**0.5
        return [[float(value) for value in one] for one in near + 0.5 * noise]

    def nearest(self, tenant: int) -> list[set[int]]:
        """The places in the tenant (from 0) of the nearest chunks, by comparing every one."""
        import numpy as np  # noqa: PLC0415

        begin = self.begin(tenant)
        mine = self.vectors[begin : begin + self.tenants[tenant]]
        scores = np.array(self.queries(tenant), dtype=np.float32) @ mine.T
        return [{int(place) for place in np.argsort(-one)[:LIMIT]} for one in scores]

    def stage(self, connection: psycopg.Connection) -> None:
        """Fill a temporary table ``staged`` (tenant, place from 0, embedding)."""
        connection.execute(
            f"create temporary table staged"
            f" (tenant integer, place integer, embedding vector({DIMENSIONS}))".encode()
        )
        with connection.cursor().copy("copy staged from stdin (format binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0))
            for rows in self._binary_rows():
                copy.write(rows)
            copy.write(struct.pack(">h", -1))

    def _binary_rows(self) -> Iterator[bytes]:
        import numpy as np  # noqa: PLC0415

        row = np.dtype(
            [
                ("fields", ">i2"), ("tenant_size", ">i4"), ("tenant", ">i4"), ("place_size", ">i4"),
                ("place", ">i4"), ("size", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"),
                ("embedding", ">f4", (DIMENSIONS,)),
            ]
        )  # fmt: skip
        for tenant, size in enumerate(self.tenants):
            rows = np.zeros(size, row)
            rows["fields"], rows["tenant_size"], rows["place_size"] = 3, 4, 4
            rows["tenant"], rows["place"] = tenant, np.arange(size)
            rows["size"], rows["dimensions"] = 4 + 4 * DIMENSIONS, DIMENSIONS
            begin = self.begin(tenant)
            rows["embedding"] = self.vectors[begin : begin + size]
            yield rows.tobytes()
