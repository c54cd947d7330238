"""What the catalog says, as plain records; the writers know nothing but these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ROLES = (
    "strongroom_host",
    "service_role",
    "authenticated",
    "supabase_auth_admin",
    "anon",
    "PUBLIC",
)


@dataclass(frozen=True)
class Named:
    """A part of a table, with its definition as SQL and its comment."""

    name: str
    definition: str
    comment: str | None


@dataclass(frozen=True)
class Column:
    """A column of a table, view or type."""

    name: str
    type: str
    collation: str | None
    not_null: bool
    default: str | None
    comment: str | None

    @property
    def short_type(self) -> str:
        """The type, by its shorter name where it has one."""
        return self.type.replace("timestamp with time zone", "timestamptz")

    @property
    def sql(self) -> str:
        """The column as a line of CREATE TABLE."""
        parts = [self.name, self.short_type]
        parts += [f"collate {self.collation}"] if self.collation else []
        parts += ["not null"] if self.not_null else []
        parts += [f"default {self.default}"] if self.default else []
        return " ".join(parts)


@dataclass(frozen=True)
class Constraint(Named):
    """A constraint; for a foreign key also where it leads."""

    kind: str
    columns: tuple[str, ...]
    target: str | None
    target_columns: tuple[str, ...]


@dataclass(frozen=True)
class Grant:
    """A right that a role really has, of the catalog; without a column, on the whole object."""

    object: str
    column: str
    privilege: str
    role: str


@dataclass(frozen=True)
class Thing:
    """What all objects have in common.

    Attributes:
        schema: strongroom or strongroom_private.
        name: without the schema.
        domain: the migration that made it, such as ``conversations``.
        comment: its COMMENT ON.
    """

    schema: str
    name: str
    domain: str
    comment: str

    @property
    def full_name(self) -> str:
        """The qualified name."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Relation(Thing):
    """A table, view or composite type; a view has its query, only a table has the rest."""

    columns: tuple[Column, ...]
    query: str | None = None
    options: tuple[str, ...] = ()
    row_security: bool = False
    forced: bool = False
    constraints: tuple[Constraint, ...] = ()
    indexes: tuple[Named, ...] = ()
    policies: tuple[Named, ...] = ()
    triggers: tuple[Named, ...] = ()


@dataclass(frozen=True)
class Function(Thing):
    """A function; no two have the same name."""

    signature: str
    types: str
    returns: str
    definer: bool
    definition: str


@dataclass(frozen=True)
class Present:
    """The whole present state.

    Attributes:
        domains: name of each migration, in order.
        fingerprint: as strongroom.drift makes it.
        errors: code, name, retryable, meaning.
        cascades: table, whether its rows go with a conversation, whether with a tenant.
        erasure: table, column, action, reason.
        retention: kind, description, table.
    """

    domains: tuple[str, ...]
    tables: tuple[Relation, ...]
    views: tuple[Relation, ...]
    types: tuple[Relation, ...]
    functions: tuple[Function, ...]
    sequences: tuple[str, ...]
    grants: tuple[Grant, ...]
    errors: tuple[tuple[str, str, bool, str], ...]
    cascades: tuple[tuple[str, bool, bool], ...]
    erasure: tuple[tuple[str, str, str, str], ...]
    retention: tuple[tuple[str, str, str], ...]
    schemas: dict[str, str]
    fingerprint: Any = field(repr=False)

    def grants_on(self, name: str) -> list[Grant]:
        """Return the rights on an object of this qualified name."""
        return [grant for grant in self.grants if grant.object == name]
