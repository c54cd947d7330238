"""Races of what frameworks keep: one transaction is open, the other is seen to wait for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from strongroom import NewFrameworkRecord
from strongroom.models.frameworks import (
    FrameworkRecordChange,
    FrameworkRecordReference,
    FrameworkSession,
)
from tests.concurrency.test_memory_races import TENANT, Arena, Call, arena  # noqa: F401 (a fixture)

AT: dict[str, Any] = {"tenant_id": TENANT, "framework": "mine"}


@dataclass
class Session:
    """A session, and calls of it."""

    arena: Arena
    name: str

    @property
    def at(self) -> dict[str, Any]:
        return {**AT, "path": [self.name]}

    def append(self, *keys: str, content: Any = 1, **options: Any) -> Call:
        records = [NewFrameworkRecord(key=key, content=content) for key in keys]
        return lambda store: store.frameworks.append(**self.at, records=records, **options)

    def put(self, content: Any, **fields: Any) -> Call:
        change = FrameworkRecordChange(path=[self.name], key="k", content=content, **fields)
        return lambda store: store.frameworks.put(**AT, records=[change])

    def put_state(self, value: str, version: int) -> Call:
        return lambda store: store.frameworks.put_session(
            **self.at, state={"is": value}, expected_version=version
        )

    def delete(self, store: Any) -> Any:
        return store.frameworks.delete_sessions(**self.at)

    async def find(self) -> FrameworkSession | None:
        return await self.arena.first.frameworks.find_session(**self.at)

    async def order(self) -> list[tuple[str, int | None]]:
        page = await self.arena.first.frameworks.list(**self.at)
        return [(record.key, record.position) for record in page.items]

    async def value(self) -> tuple[Any, int]:
        wanted = [FrameworkRecordReference(path=[self.name], key="k")]
        (found,) = await self.arena.first.frameworks.find(**AT, wanted=wanted)
        return found.content, found.version


def _both_ways(arena: Arena) -> list[tuple[bool, Session]]:  # noqa: F811
    """The first transaction commits in one session, and is rolled back in another."""
    return [(commit, Session(arena, f"committed-{commit}")) for commit in (True, False)]


async def test_two_appends_have_one_order_without_gaps_b03(arena: Arena) -> None:  # noqa: F811
    for commit, session in _both_ways(arena):
        for start in (0, 9):
            # First they make the session, both of them; then it is there.
            named = replace(session, name=f"{session.name}-{start}")
            before = [(f"{n}", n) for n in range(1, start + 1)]
            if before:
                await named.append(*(key for key, _ in before))(arena.second)
            done = await arena.race(named.append("a", "b"), named.append("c", "b"), commit=commit)
            if commit:
                # What the first has appended is a repeat in the second.
                assert [one.outcome for one in done] == ["inserted", "duplicate"]
                after = [("a", start + 1), ("b", start + 2), ("c", start + 3)]
            else:
                assert [one.outcome for one in done] == ["inserted", "inserted"]
                after = [("c", start + 1), ("b", start + 2)]
            assert await named.order() == [*before, *after]
            found = await named.find()
            assert found is not None
            assert found.last_position == start + len(after)


async def test_an_append_of_another_thing_under_the_same_key_is_refused_b09(
    arena: Arena,  # noqa: F811
) -> None:
    for commit, session in _both_ways(arena):
        done = await arena.race(
            session.append("a", content=1),
            session.append("z", "a", content=2, refuse_conflicts=True),
            commit=commit,
        )
        assert (done == "SR011") is commit
        assert await session.order() == ([("a", 1)] if commit else [("z", 1), ("a", 2)])


async def test_an_append_that_waits_for_a_deletion_begins_anew(arena: Arena) -> None:  # noqa: F811
    for commit, session in _both_ways(arena):
        await session.append("before")(arena.second)
        done = await arena.race(session.delete, session.append("after"), commit=commit)
        assert [one.outcome for one in done] == ["inserted"]
        left = [("after", 1)] if commit else [("before", 1), ("after", 2)]
        assert await session.order() == left


async def test_a_deletion_that_waits_for_an_append_takes_it_along(arena: Arena) -> None:  # noqa: F811
    for commit, session in _both_ways(arena):
        await session.append("before")(arena.second)
        assert await arena.race(session.append("after"), session.delete, commit=commit) == 1
        assert await session.order() == []
        assert await session.find() is None


async def test_of_two_puts_over_the_same_version_one_is_told_b13(arena: Arena) -> None:  # noqa: F811
    for commit, session in _both_ways(arena):
        for version in (0, 1):
            named = replace(session, name=f"{session.name}-{version}")
            # The session is there in any case: the two meet at the record.
            await (named.put("old") if version else named.append("0"))(arena.second)
            done = await arena.race(
                named.put("first", expected_version=version),
                named.put("second", expected_version=version),
                commit=commit,
            )
            assert (done == "SR012") is commit
            assert await named.value() == ("first" if commit else "second", version + 1)


async def test_of_two_puts_that_keep_what_is_there_one_stays(arena: Arena) -> None:  # noqa: F811
    for commit, session in _both_ways(arena):
        done = await arena.race(
            session.put("first", mode="keep"), session.put("second", mode="keep"), commit=commit
        )
        assert [one.outcome for one in done] == ["conflict" if commit else "inserted"]
        assert await session.value() == ("first" if commit else "second", 1)


async def test_a_put_that_waits_for_a_deletion_is_whole(arena: Arena) -> None:  # noqa: F811
    for commit, session in _both_ways(arena):
        await session.put("old")(arena.second)
        done = await arena.race(session.delete, session.put("new"), commit=commit)
        assert [one.outcome for one in done] == ["inserted" if commit else "replaced"]
        assert await session.value() == ("new", 1 if commit else 2)


async def test_a_state_over_what_was_read_waits_and_is_refused_b13(arena: Arena) -> None:  # noqa: F811
    for commit, session in _both_ways(arena):
        await session.put_state("old", 0)(arena.second)
        done = await arena.race(
            session.put_state("first", 1), session.put_state("second", 1), commit=commit
        )
        assert (done == "SR012") is commit
        found = await session.find()
        assert found is not None
        assert (found.state["is"], found.version) == ("first" if commit else "second", 2)
