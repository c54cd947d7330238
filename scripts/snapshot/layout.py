"""Where the cards and lines of erd.svg stand.

Parents stand left of their children. Every column of cards is sorted so that few lines cross, and a
line that leads past a column of cards has a slim place of its own there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from snapshot.model import Column, Constraint, Relation

ROW, HEAD, PAD, GAP, LANE, MARGIN = 21, 34, 8, 34, 16, 32
TOP = MARGIN + 62  # below the title and the legend
CHAR = 6.7  # the width of one character at 11 px in a monospaced font


@dataclass
class Node:
    """A card, or, without a table, the place where a line passes a column of cards."""

    table: Relation | None
    rank: int
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 14

    def port(self, column: str) -> float:
        """Return the height at which a line meets this column of the table."""
        if self.table is None:
            return self.y + self.height / 2
        place = [c.name for c in self.table.columns].index(column)
        return self.y + HEAD + PAD / 2 + place * ROW + ROW / 2


@dataclass
class Line:
    """A foreign key, as the nodes that it leads through from parent to child."""

    parent_column: str
    child_column: str
    single: bool
    path: list[Node] = field(default_factory=list)

    @property
    def source(self) -> tuple[str, str]:
        """The table and column that it starts at; lines of one source share their trunk."""
        table = self.path[0].table
        return (table.full_name if table else "", self.parent_column)


def _foreign_keys(table: Relation) -> list[Constraint]:
    return [k for k in table.constraints if k.kind == "f" and k.target != table.full_name]


def separate(tables: Sequence[Relation]) -> tuple[list[Relation], list[Node]]:
    targets = {k.target for table in tables for k in _foreign_keys(table)}
    linked = [t for t in tables if _foreign_keys(t) or t.full_name in targets]
    return linked, [_card(table, 0) for table in tables if table not in linked]


def _card(table: Relation, rank: int) -> Node:
    longest = max(len(c.name) for c in table.columns) + max(len(type_of(c)) for c in table.columns)
    width = max(longest * CHAR + 74, len(title_of(table)) * 8.6 + 28)
    return Node(table, rank, width=round(width), height=HEAD + PAD + ROW * len(table.columns))


def title_of(table: Relation) -> str:
    return table.name if table.schema == "strongroom" else table.full_name


def type_of(column: Column) -> str:
    return column.short_type + ("" if column.not_null else "?")


def arrange(tables: list[Relation]) -> tuple[list[list[Node]], list[Line]]:
    """Rank every table one right of its rightmost parent, and lay lines through the ranks."""
    depth: dict[str, int] = {}
    by_name = {table.full_name: table for table in tables}

    def depth_of(table: Relation, seen: tuple[str, ...] = ()) -> int:
        name = table.full_name
        if name not in depth:
            parents = [
                by_name[str(k.target)] for k in _foreign_keys(table) if str(k.target) not in seen
            ]
            depth[name] = max((1 + depth_of(p, (*seen, name)) for p in parents), default=0)
        return depth[name]

    nodes = {table.full_name: _card(table, depth_of(table)) for table in tables}
    ranks: list[list[Node]] = [[] for _ in range(1 + max(depth.values(), default=0))]
    for node in nodes.values():
        ranks[node.rank].append(node)
    lines = []
    for table in tables:
        child = nodes[table.full_name]
        primary = next((k.columns for k in table.constraints if k.kind == "p"), ())
        for key in _foreign_keys(table):
            parent = nodes[str(key.target)]
            line = Line(
                key.target_columns[-1],
                key.columns[-1],
                single=key.columns == primary,
            )
            passed = [Node(None, rank) for rank in range(parent.rank + 1, child.rank)]
            for node in passed:
                ranks[node.rank].append(node)
            line.path = [parent, *passed, child]
            lines.append(line)
    return ranks, lines


def _neighbours(lines: list[Line]) -> dict[int, list[Node]]:
    found: dict[int, list[Node]] = {}
    for line in lines:
        for left, right in zip(line.path, line.path[1:], strict=False):
            found.setdefault(id(left), []).append(right)
            found.setdefault(id(right), []).append(left)
    return found


def order_ranks(ranks: list[list[Node]], lines: list[Line]) -> None:
    """Sort every rank by the mean place of what its nodes are joined with, back and forth."""
    neighbours = _neighbours(lines)
    for sweep in range(6):
        order = range(len(ranks)) if sweep % 2 == 0 else range(len(ranks) - 1, -1, -1)
        for index in order:
            beside = ranks[index - 1 if sweep % 2 == 0 else index + 1 : index or None][:1]
            fixed = {id(node): place for place, node in enumerate(beside[0])} if beside else {}
            centre = {}
            for place, node in enumerate(ranks[index]):
                places = [fixed[id(n)] for n in neighbours.get(id(node), []) if id(n) in fixed]
                centre[id(node)] = sum(places) / len(places) if places else float(place)
            by_centre = [(centre[id(n)], place, n) for place, n in enumerate(ranks[index])]
            ranks[index] = [node for _, _, node in sorted(by_centre, key=lambda entry: entry[:2])]


def place_ranks(ranks: list[list[Node]], lines: list[Line]) -> tuple[float, float]:
    """Give every node its x and y; return the width and where the cards end."""
    x = float(MARGIN)
    for index, rank in enumerate(ranks):
        width = max(node.width for node in rank)
        y = float(TOP)
        for node in rank:
            node.x, node.y = x, y
            node.width = width if node.table is None else node.width
            y += node.height + GAP
        sources = {line.source for line in lines if _crosses(line, index)}
        x += width + 56 + LANE * len(sources)
    for _ in range(4):
        for rank in ranks:
            _relax(rank, lines)
    return x - 56 + MARGIN, max((n.y + n.height for rank in ranks for n in rank), default=TOP)


def _relax(rank: list[Node], lines: list[Line]) -> None:
    """Pull nodes towards the ports that they are joined with, keeping their order and distance."""
    floor = float(TOP)
    for node in rank:
        pulls = []
        for line in lines:
            if node in line.path and line.path[0] is not node:
                before = line.path[line.path.index(node) - 1]
                offset = node.port(line.child_column) - node.y
                pulls.append(before.port(line.parent_column) - offset)
        wish = sum(pulls) / len(pulls) if pulls else node.y
        node.y = max(floor, wish)
        floor = node.y + node.height + GAP


def _crosses(line: Line, rank: int) -> bool:
    return line.path[0].rank <= rank < line.path[-1].rank


def place_lone(lone: list[Node], width: float, bottom: float) -> tuple[float, float]:
    """Put the tables without relations into rows below the others."""
    x, y, tallest = float(MARGIN), bottom + 58, 0.0
    for node in lone:
        if x > MARGIN and x + node.width + MARGIN > width:
            x, y, tallest = float(MARGIN), y + tallest + GAP, 0.0
        node.x, node.y = x, y
        x += node.width + GAP
        tallest = max(tallest, node.height)
    return width, (y + tallest if lone else bottom) + MARGIN


def lane_of(line: Line, rank: int, lines: list[Line]) -> float:
    """Return the x of a line's vertical part between two ranks; lines of one source share it."""
    crossing = [other for other in lines if _crosses(other, rank)]
    places = {other.source: other.path[rank - other.path[0].rank] for other in crossing}
    order = sorted(places, key=lambda source: (-places[source].port(source[1]), source))
    right = max(other.path[rank - other.path[0].rank].x for other in crossing)
    widest = max(node.width for node in places.values())
    return right + widest + 24 + LANE * order.index(line.source)
