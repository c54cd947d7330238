"""Reads what pgoutput says about committed changes: enough of its protocol, version 1, for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Relation:
    schema: str
    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """One row's change; ``old`` holds the replica identity where the server sends one."""

    kind: str
    schema: str
    table: str
    record: dict[str, str | None]
    old: dict[str, str | None]


@dataclass
class Decoder:
    """Remembers relations from message to message, as the protocol wants."""

    relations: dict[int, Relation] = field(default_factory=dict)

    def read(self, messages: Iterator[bytes]) -> Iterator[Change]:
        for message in messages:
            kind = message[:1]
            if kind == b"R":
                self._relation(message)
            elif kind in b"IUD" and kind:
                yield self._change(kind.decode(), message)

    def _relation(self, message: bytes) -> None:
        (oid,) = struct.unpack_from("!I", message, 1)
        schema, at = _text(message, 5)
        table, at = _text(message, at)
        (count,) = struct.unpack_from("!H", message, at + 1)
        at += 3
        columns = []
        for _ in range(count):
            name, at = _text(message, at + 1)
            columns.append(name)
            at += 8
        self.relations[oid] = Relation(schema, table, tuple(columns))

    def _change(self, kind: str, message: bytes) -> Change:
        (oid,) = struct.unpack_from("!I", message, 1)
        relation = self.relations[oid]
        at, record, old = 5, {}, {}
        while at < len(message):
            mark = message[at : at + 1]
            row, at = _row(message, at + 1, relation.columns)
            if mark == b"N":
                record = row
            elif mark == b"K":
                # Columns that are no part of the identity come as null.
                old = {name: value for name, value in row.items() if value is not None}
            else:
                old = row
        return Change(
            {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}[kind],
            relation.schema,
            relation.table,
            record,
            old,
        )


def _text(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def _row(message: bytes, at: int, columns: tuple[str, ...]) -> tuple[dict[str, Any], int]:
    (count,) = struct.unpack_from("!H", message, at)
    at += 2
    row: dict[str, str | None] = {}
    for name in columns[:count]:
        mark = message[at : at + 1]
        at += 1
        row[name] = None
        if mark == b"t":
            (length,) = struct.unpack_from("!I", message, at)
            at += 4
            row[name] = message[at : at + length].decode()
            at += length
    return row, at
