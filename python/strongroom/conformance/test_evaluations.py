"""EvaluationStore: exact case versions, results that are known again, comparisons that add up."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import at, fresh, new_talk, new_tenant, said, walk
from strongroom.conformance.strategies import quick
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidCursor,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from strongroom.models import CaseReference, NewEvaluationResult, RecordedItem


@dataclass(frozen=True, slots=True)
class Bench:
    """Evaluation in one tenant."""

    store: Ports
    tenant_id: str

    async def case(self, case_id: str | None = None, **fields: Any) -> str:
        made = await self.store.evaluations.create_case(
            tenant_id=self.tenant_id,
            **{"name": "Refund", "input": "Where?", "case_id": case_id, **fields},
        )
        return made.id

    async def run(self, *case_ids: str, **fields: Any) -> str:
        run = await self.store.evaluations.start_run(
            tenant_id=self.tenant_id, cases=[CaseReference(case_id=i) for i in case_ids], **fields
        )
        return run.id

    async def record(self, run_id: str, *results: NewEvaluationResult) -> list[RecordedItem]:
        return await self.store.evaluations.record(
            tenant_id=self.tenant_id, run_id=run_id, results=results
        )

    async def results(self, run_id: str, **filters: Any) -> list[Any]:
        return await walk(
            lambda **page: self.store.evaluations.list_results(
                tenant_id=self.tenant_id, run_id=run_id, **filters, **page
            ),
            limit=500,
        )


async def bench_of(adapter: Adapter) -> Bench:
    return Bench(adapter.store, await new_tenant(adapter.store))


def result(case_id: str, **fields: Any) -> NewEvaluationResult:
    return NewEvaluationResult(case_id=case_id, **fields)


# --- Cases --------------------------------------------------------------------------------------------


async def test_a_repeated_create_is_known(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    content: dict[str, Any] = {"name": "N", "input": {"a": 1, "b": [2]}, "expected": "x"}
    where: dict[str, Any] = {"tenant_id": bench.tenant_id, "case_id": "c"}
    create = bench.store.evaluations.create_case
    first = await create(**where, **content)
    assert (first.outcome, first.version, first.latest_version) == ("inserted", 1, 1)
    await bench.store.evaluations.update_case(**where, name="Later", expected_version=1)
    again = await create(**where, **{**content, "input": {"b": [2], "a": 1}})
    assert (again.outcome, again.name, again.version) == ("duplicate", "Later", 2)
    others: list[dict[str, Any]] = [{"input": 1}, {"expected": None}, {"suite": "s"}]
    for other in others:
        with pytest.raises(AlreadyExists):
            await create(**where, **{**content, **other})


async def test_an_update_makes_the_next_version_and_leaves_the_others(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id = await bench.case(expected={"a": 1}, metadata={"m": 1}, suite="s")
    where: dict[str, Any] = {"tenant_id": bench.tenant_id, "case_id": case_id}
    evaluations = bench.store.evaluations
    first = await evaluations.get_case(**where)
    second = await evaluations.update_case(**where, input=[1, None], expected_version=1)
    assert (second.version, second.input, second.expected) == (2, [1, None], {"a": 1})
    third = await evaluations.update_case(**where, expected=None, name="N", expected_version=2)
    assert (third.version, third.input, third.expected, third.name) == (3, [1, None], None, "N")
    assert third.metadata == {"m": 1}
    assert len({one.content_digest for one in (first, second, third)}) == 3
    for old in (first, second):
        kept = await evaluations.get_case(**where, version=old.version)
        assert (kept.input, kept.expected, kept.name) == (old.input, old.expected, old.name)
        assert (kept.content_digest, kept.latest_version) == (old.content_digest, 3)
    with pytest.raises(VersionConflict) as caught:
        await evaluations.update_case(**where, input="late", expected_version=2)
    assert caught.value.detail["current_version"] == 3
    nothing = await bench.case(input=None)
    assert (await evaluations.get_case(tenant_id=bench.tenant_id, case_id=nothing)).input is None
    assert await evaluations.find_case(**where, version=4) is None
    with pytest.raises(NotFound):
        await evaluations.get_case(**where, version=4)
    (head,) = (await evaluations.list_cases(tenant_id=bench.tenant_id, suite="s")).items
    assert (head.name, head.version, hasattr(head, "input")) == ("N", 3, False)
    assert (await evaluations.list_cases(tenant_id=bench.tenant_id, suite="t")).items == ()


async def test_updates_at_once_make_one_version_each_or_are_told(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id = await bench.case()
    where: dict[str, Any] = {"tenant_id": bench.tenant_id, "case_id": case_id}
    done = await asyncio.gather(
        *(
            bench.store.evaluations.update_case(**where, input=n, expected_version=1)
            for n in range(8)
        ),
        return_exceptions=True,
    )
    assert sum(not isinstance(one, Exception) for one in done) == 1
    assert {type(one) for one in done if isinstance(one, Exception)} == {VersionConflict}
    assert (await bench.store.evaluations.get_case(**where)).version == 2


async def test_an_archived_case_stays_readable_and_takes_no_version(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id, other_id = await bench.case(), await bench.case()
    where: dict[str, Any] = {"tenant_id": bench.tenant_id, "case_id": case_id}
    evaluations = bench.store.evaluations
    archived = await evaluations.archive_case(**where)
    assert archived.archived_at is not None
    assert await evaluations.archive_case(**where) == archived
    with pytest.raises(InvalidTransition):
        await evaluations.update_case(**where, input=1, expected_version=1)
    for wanted, expected in ((True, [case_id]), (False, [other_id])):
        page = await evaluations.list_cases(tenant_id=bench.tenant_id, archived=wanted)
        assert [one.id for one in page.items] == expected
    back = await evaluations.unarchive_case(**where)
    assert back.archived_at is None
    assert (await evaluations.update_case(**where, input=1, expected_version=1)).version == 2


# --- Runs ---------------------------------------------------------------------------------------------


async def test_a_run_is_about_exact_versions(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    evaluations = bench.store.evaluations
    a, b = await bench.case("a"), await bench.case("b")
    where: dict[str, Any] = {"tenant_id": bench.tenant_id}
    await evaluations.update_case(**where, case_id=a, input=2, expected_version=1)
    cases = [CaseReference(case_id=b), CaseReference(case_id=a, version=1)]
    run = await evaluations.start_run(**where, cases=cases, run_id="r", name="Nightly")
    assert (run.outcome, run.status, run.case_count, run.name) == (
        *("inserted", "running"),
        *(2, "Nightly"),
    )
    await evaluations.update_case(**where, case_id=b, input=2, expected_version=1)
    again = await evaluations.start_run(**where, cases=cases, run_id="r", name="Nightly")
    assert again.outcome == "duplicate"
    pinned = (await evaluations.list_run_cases(**where, run_id="r")).items
    assert [(one.case_id, one.case_version) for one in pinned] == [("a", 1), ("b", 1)]
    with pytest.raises(AlreadyExists):
        await evaluations.start_run(**where, cases=cases, run_id="r", name="Other")
    for place, missing in ((0, "absent"), (1, "absent"), (1, "version")):
        cases = [CaseReference(case_id=b), CaseReference(case_id=a)]
        cases[place] = CaseReference(
            case_id=a if missing == "version" else "absent",
            version=3 if missing == "version" else None,
        )
        with pytest.raises(NotFound) as caught:
            await evaluations.start_run(**where, cases=cases, run_id="none")
        assert caught.value.detail["path"] == f"cases[{place}]"
    assert await evaluations.find_run(**where, run_id="none") is None
    for bad in ([], [CaseReference(case_id=a)] * 2):
        with pytest.raises(InvalidArgument):
            await evaluations.start_run(**where, cases=bad)
    with pytest.raises(LimitExceeded):
        await evaluations.start_run(**where, cases=[CaseReference(case_id=a)] * 1001)


async def test_a_run_records_the_agents_version(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id = await bench.case()
    where: dict[str, Any] = {"tenant_id": bench.tenant_id}
    agent = await bench.store.agents.create(**where, name="Support")
    for _ in range(2):
        await bench.store.agents.publish_version(**where, agent_id=agent.id, definition={})
    for given_version, expected in ((None, 2), (1, 1)):
        run = await bench.store.evaluations.start_run(
            **where,
            cases=[CaseReference(case_id=case_id)],
            agent_id=agent.id,
            agent_version=given_version,
        )
        assert (run.agent_id, run.agent_version) == (agent.id, expected)
    run_id = await bench.run(case_id, agent_id="in-code")
    assert (await bench.store.evaluations.get_run(**where, run_id=run_id)).agent_version is None
    with pytest.raises(InvalidArgument):
        await bench.run(case_id, agent_version=1)


async def test_a_finished_run_is_counted_and_closed(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id = await bench.case()
    run_id, other_id = await bench.run(case_id), await bench.run(case_id)
    where: dict[str, Any] = {"tenant_id": bench.tenant_id, "run_id": run_id}
    verdicts = [True, True, False, None]
    first = [result(case_id, repeat=n, passed=v, id=f"r{n}") for n, v in enumerate(verdicts, 1)]
    await bench.record(run_id, *first)
    finished = await bench.store.evaluations.finish_run(**where)
    assert (finished.status, finished.result_count) == ("completed", 4)
    assert (finished.passed_count, finished.failed_count) == (2, 1)
    assert await bench.store.evaluations.finish_run(**where) == finished
    for call in (
        bench.store.evaluations.finish_run(**where, status="failed"),
        bench.record(run_id, result(case_id, repeat=5)),
        bench.record(run_id, first[0], result(case_id, repeat=5)),
    ):
        with pytest.raises(InvalidTransition):
            await call
    # Results whose answer was lost had been recorded before.
    again = await bench.record(run_id, *first)
    assert {item.outcome for item in again} == {"duplicate"}
    assert len(await bench.results(run_id)) == 4
    for status, expected in (("completed", [run_id]), ("running", [other_id]), ("failed", [])):
        page = await bench.store.evaluations.list_runs(
            tenant_id=bench.tenant_id,
            status=status,  # type: ignore[arg-type]
        )
        assert [one.id for one in page.items] == expected


# --- Results ------------------------------------------------------------------------------------------


async def test_results_say_what_became_of_them(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    a, b = await bench.case("a"), await bench.case("b")
    run_id = await bench.run(a, b)
    given_fields: dict[str, Any] = {"passed": True, "scores": {"x": 1, "y": 0.25}, "output": ["o"]}
    done = await bench.record(
        run_id,
        result(b, id="b1", **given_fields),
        result(a, id="a1", error={"code": "timeout"}, usage_event_id="u"),
        result(b, id="again", **given_fields),  # the same, under another id
        result(b, passed=False),  # other content for the same try
        result(b, repeat=2, id="b1", passed=True),  # an id that is taken
    )
    assert [(item.outcome, item.conflict) for item in done] == [
        ("inserted", None),
        ("inserted", None),
        ("duplicate", None),
        ("conflict", "other-content"),
        ("conflict", "other-place"),
    ]
    assert done[2].id == "b1"
    of_a, of_b = await bench.results(run_id)
    assert (of_a.case_id, of_a.passed, of_a.error) == ("a", False, {"code": "timeout"})
    assert (of_a.usage_event_id, of_a.case_version, of_a.output) == ("u", 1, None)
    assert (of_b.scores, of_b.output, of_b.passed) == ({"x": 1, "y": 0.25}, ["o"], True)
    for again in (result(b, id="b1", **given_fields), result(b, **given_fields)):
        (item,) = await bench.record(run_id, again)
        assert (item.outcome, item.id, item.recorded_at) == ("duplicate", "b1", of_b.recorded_at)
    assert await bench.results(run_id) == [of_a, of_b]
    assert await bench.results(run_id, case_id="a") == [of_a]
    assert await bench.results(run_id, passed=True) == [of_b]
    other_run = await bench.run(a)
    (item,) = await bench.record(other_run, result(a, id="a1"))
    assert (item.outcome, item.conflict) == ("conflict", "other-place")
    assert await bench.results(other_run) == []


async def test_results_of_the_wrong_shape_name_the_field_b51_b53(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id = await bench.case()
    run_id = await bench.run(case_id)
    long = "".join(random.choices("äöü😀abc", k=5_000))
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("repeat", {"repeat": 0}),
        ("passed", {"passed": "yes"}),
        ("scores.x", {"scores": {"x": "1"}}),
        ("scores.x", {"scores": {"x": True}}),
        ("scores.x", {"scores": {"x": float("nan")}}),
        ("scores", {"scores": {str(n): n for n in range(101)}}),
        ("scores", {"scores": {long: 1}}),
        ("output", {"output": b"bytes"}),
        ("output.a[0]", {"output": {"a": [{1, 2}]}}),
        ("metadata", {"metadata": []}),
        ("id", {"id": long}),
        ("usage_event_id", {"usage_event_id": long}),
    ]
    for path, fields in wrong:
        with pytest.raises(InvalidArgument) as caught:
            result(case_id, **fields)
        assert caught.value.detail["path"].startswith(path), caught.value.detail
    large: list[tuple[str, dict[str, Any]]] = [
        ("output", {"output": "ä" * 530_000}),
        ("metadata", {"metadata": {"k": long * 4}}),
        ("error", {"error": {"k": long * 10}}),
    ]
    for path, fields in large:
        with pytest.raises(LimitExceeded) as exceeded:
            await bench.record(run_id, result(case_id), result(case_id, repeat=2, **fields))
        assert exceeded.value.detail["path"] == f"results[1].{path}"
    with pytest.raises(InvalidArgument) as refused:
        await bench.record(run_id, result(case_id), result("other case"))
    assert refused.value.detail["path"] == "results[1].case_id"
    with pytest.raises(InvalidArgument) as both:
        await bench.record(run_id, result(case_id, passed=True, error={"code": "x"}))
    assert both.value.detail["path"] == "results[0].passed"
    for number in (0, 501):
        with pytest.raises(InvalidArgument):
            await bench.record(run_id, *[result(case_id)] * number)
    with pytest.raises(LimitExceeded) as input_too_large:
        await bench.case(input="ä" * 530_000)
    assert input_too_large.value.detail["path"] == "input"
    with pytest.raises(LimitExceeded):
        await bench.case(name=long)
    assert await bench.results(run_id) == []


async def test_recorders_of_one_run_at_once(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_ids = [await bench.case(f"c{n}") for n in range(6)]
    run_id = await bench.run(*case_ids)
    every = [result(case_id, repeat=n) for case_id in case_ids for n in (1, 2, 3)]

    async def record(seed: int) -> list[RecordedItem]:
        return await bench.record(run_id, *random.Random(seed).sample(every, len(every)))

    done = await asyncio.gather(*(record(seed) for seed in range(6)))
    outcomes = [item.outcome for items in done for item in items]
    assert outcomes.count("inserted") == len(every)
    assert outcomes.count("duplicate") == 5 * len(every)
    assert len(await bench.results(run_id)) == len(every)


# --- Comparing ----------------------------------------------------------------------------------------


async def test_two_runs_are_compared_case_by_case(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    names = ["gone", "improved", "new", "regressed", "same", "unjudged"]
    for name in names:
        await bench.case(name)
    base = await bench.run(*(name for name in names if name != "new"))
    await bench.store.evaluations.update_case(
        tenant_id=bench.tenant_id, case_id="same", input=2, expected_version=1
    )
    other = await bench.run(*(name for name in names if name != "gone"))
    await bench.record(
        base,
        result("gone", passed=True),
        result("improved", passed=True, scores={"tone": 1, "cost": 0.5}),
        result("improved", repeat=2, passed=False, scores={"tone": 2}),
        result("regressed", passed=True),
        result("same", passed=True),
        result("unjudged", passed=True),
    )
    await bench.record(
        other,
        result("new", passed=False),
        result("improved", passed=True, scores={"tone": 4}),
        result("regressed", error={"code": "timeout"}),
        result("same", passed=True),
        result("unjudged", scores={"other": 7}),
    )
    runs: dict[str, Any] = {
        "tenant_id": bench.tenant_id,
        "base_run_id": base,
        "other_run_id": other,
    }
    figures = await bench.store.evaluations.compare(**runs)
    assert (figures.improved, figures.regressed, figures.same) == (1, 1, 1)
    assert (figures.unjudged, figures.only_base, figures.only_other) == (1, 1, 1)
    assert figures.base_pass_rate == pytest.approx(5 / 6)
    assert figures.other_pass_rate == pytest.approx(2 / 4)
    assert [
        (one.name, one.base_mean, one.other_mean, one.delta, one.base_count, one.other_count)
        for one in figures.scores
    ] == [
        ("cost", 0.5, None, None, 1, 0),
        ("other", None, 7, None, 0, 1),
        ("tone", 1.5, 4, 2.5, 2, 1),
    ]
    cases = {
        one.case_id: one
        for one in await walk(
            lambda **page: bench.store.evaluations.compare_cases(**runs, **page),
            limit=2,
            back=True,
        )
    }
    assert list(cases) == names
    assert {name: one.change for name, one in cases.items()} == {
        name: {"gone": "only_base", "new": "only_other"}.get(name, name) for name in names
    }
    improved = cases["improved"]
    assert (improved.base_pass_rate, improved.other_pass_rate) == (0.5, 1)
    assert (improved.base_scores, improved.other_scores) == (
        {"tone": 1.5, "cost": 0.5},
        {"tone": 4},
    )
    assert (improved.base_results, improved.other_results) == (2, 1)
    assert (cases["same"].base_version, cases["same"].other_version) == (1, 2)
    assert (cases["gone"].other_version, cases["gone"].other_pass_rate) == (None, None)
    backward = await walk(
        lambda **page: bench.store.evaluations.compare_cases(**runs, **page),
        limit=4,
        direction="backward",
    )
    assert [one.case_id for one in backward] == names[::-1]
    only = await bench.store.evaluations.compare_cases(**runs, change="improved")
    assert [one.case_id for one in only.items] == ["improved"]


Verdicts = list[bool | None]


@quick
@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.tuples(*[st.none() | st.lists(st.none() | st.booleans(), max_size=3) for _ in range(2)]),
        min_size=1,
    )
)
async def test_any_comparison_adds_up(
    adapter: Adapter, plan: dict[str, tuple[Verdicts | None, Verdicts | None]]
) -> None:
    """None: the case is not in that run. The figures are what counting by hand gives."""
    bench = await bench_of(adapter)
    for name in [*plan, "always"]:
        await bench.case(name)
    runs = []
    for side in (0, 1):
        verdicts = {name: both[side] for name, both in plan.items() if both[side] is not None}
        run_id = await bench.run("always", *verdicts)
        results = [
            result(name, repeat=repeat, passed=passed, scores={"n": repeat})
            for name, given_verdicts in verdicts.items()
            for repeat, passed in enumerate(given_verdicts or [], 1)
        ]
        if results:
            await bench.record(run_id, *results)
        runs.append(run_id)

    def rate(verdicts: Verdicts | None) -> float | None:
        judged = [one for one in verdicts or [] if one is not None]
        return sum(judged) / len(judged) if judged else None

    expected = ["unjudged"]  # the case that is always there, and never judged
    for base, other in plan.values():
        rates = rate(base), rate(other)
        if base is None or other is None:
            change = {(True, False): "only_other", (False, True): "only_base"}.get(
                (base is None, other is None)
            )
            expected += [change] if change else []
        elif rates[0] is None or rates[1] is None:
            expected.append("unjudged")
        else:
            expected.append(
                "same"
                if rates[0] == rates[1]
                else "improved"
                if rates[1] > rates[0]
                else "regressed"
            )
    where: dict[str, Any] = {
        "tenant_id": bench.tenant_id,
        "base_run_id": runs[0],
        "other_run_id": runs[1],
    }
    figures = await bench.store.evaluations.compare(**where)
    cases = (await bench.store.evaluations.compare_cases(**where, limit=500)).items
    assert sorted(one.change for one in cases) == sorted(expected)
    for change in ("improved", "regressed", "same", "unjudged", "only_base", "only_other"):
        assert getattr(figures, change) == expected.count(change)
    for side, pass_rate in enumerate((figures.base_pass_rate, figures.other_pass_rate)):
        every = [v for both in plan.values() for v in both[side] or [] if v is not None]
        assert pass_rate == (pytest.approx(sum(every) / len(every)) if every else None)
    counts = [
        _mean(n for b in plan.values() for n in range(1, len(b[s] or []) + 1)) for s in (0, 1)
    ]
    means = [(one.base_mean, one.other_mean) for one in figures.scores] or [(None, None)]
    assert means == [tuple(None if one is None else pytest.approx(one) for one in counts)]


def _mean(numbers: Iterable[int]) -> float | None:
    values = list(numbers)
    return sum(values) / len(values) if values else None


async def test_a_cursor_of_one_comparison_is_not_anothers(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_ids = [await bench.case(f"c{n}") for n in range(3)]
    base, other = await bench.run(*case_ids), await bench.run(*case_ids)
    compare = bench.store.evaluations.compare_cases
    where: dict[str, Any] = {"tenant_id": bench.tenant_id}
    page = await compare(**where, base_run_id=base, other_run_id=other, limit=1)
    with pytest.raises(InvalidCursor):
        await compare(**where, base_run_id=other, other_run_id=base, after=page.next_cursor)
    for absent in ("base_run_id", "other_run_id"):
        runs: dict[str, Any] = {"base_run_id": base, "other_run_id": other, absent: "none"}
        with pytest.raises(NotFound) as caught:
            await compare(**where, **runs)
        assert caught.value.detail["path"] == absent


# --- What goes and what stays -------------------------------------------------------------------------


async def test_a_difference_that_no_float_holds_is_none(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id, most = await bench.case(), sys.float_info.max
    base, other = await bench.run(case_id), await bench.run(case_id)
    await bench.record(base, result(case_id, scores={"far": -most, "top": most, "half": 0}))
    await bench.record(other, result(case_id, scores={"far": most, "top": most, "half": -most}))
    figures = await bench.store.evaluations.compare(
        tenant_id=bench.tenant_id, base_run_id=base, other_run_id=other
    )
    assert [(one.name, one.base_mean, one.other_mean, one.delta) for one in figures.scores] == [
        ("far", -most, most, None),
        ("half", 0, -most, -most),
        ("top", most, most, 0),
    ]


async def test_a_result_outlives_its_conversation_without_what_was_said(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    case_id, talk = await bench.case(), await new_talk(bench.store, bench.tenant_id)
    await bench.store.messages.append(**at(talk), messages=[said("secret")])
    run_id = await bench.run(case_id)
    told = result(
        case_id,
        id="told",
        passed=True,
        scores={"tone": 3},
        output="secret",
        metadata={"said": "secret"},
        source_conversation_id=talk.id,
        usage_event_id="u",
    )
    own = result(case_id, id="own", repeat=2, passed=True, output="kept")
    await bench.record(run_id, told, own)
    before = await bench.results(run_id)
    assert [one.source_conversation_id for one in before] == [talk.id, None]
    await bench.store.conversations.soft_delete(**at(talk))
    assert await bench.results(run_id) == before
    with pytest.raises(NotFound) as caught:
        await bench.record(run_id, result(case_id, repeat=3, source_conversation_id=talk.id))
    assert caught.value.detail["path"] == "results[0].source_conversation_id"
    receipt = await bench.store.conversations.purge(**at(talk))
    assert "evaluation_results" not in receipt.tables
    emptied, kept = await bench.results(run_id)
    assert kept == before[1]
    assert emptied.source_purged_at is not None
    assert emptied == before[0].replace(
        source_conversation_id=None,
        source_purged_at=emptied.source_purged_at,
        output=None,
        metadata={},
    )
    # A repeat is still known, and brings nothing back.
    (item,) = await bench.record(run_id, told)
    assert item.outcome == "duplicate"
    assert (await bench.results(run_id))[0] == emptied
    (absent,) = [fresh("absent")]
    with pytest.raises(NotFound):
        await bench.record(run_id, result(case_id, repeat=3, source_conversation_id=absent))


async def test_anothers_conversation_is_an_absent_one_b07_b35(adapter: Adapter) -> None:
    bench, theirs = await bench_of(adapter), await new_talk(adapter.store)
    case_id = await bench.case()
    run_id = await bench.run(case_id)
    refusals = []
    for source in (theirs.id, theirs.id[::-1]):
        with pytest.raises(NotFound) as caught:
            await bench.record(run_id, result(case_id, source_conversation_id=source))
        refusals.append((caught.value.message, caught.value.detail))
    assert refusals[0] == refusals[1]
    assert await bench.results(run_id) == []


async def test_a_purge_takes_along_what_hangs_on_it_and_says_so_b87(adapter: Adapter) -> None:
    bench = await bench_of(adapter)
    evaluations = bench.store.evaluations
    where: dict[str, Any] = {"tenant_id": bench.tenant_id}
    a, b = await bench.case("a"), await bench.case("b")
    await evaluations.update_case(**where, case_id=a, input=2, expected_version=1)
    runs = [await bench.run(a, b) for _ in range(2)]
    for run_id in runs:
        await bench.record(run_id, result(a), result(a, repeat=2), result(b))
    receipt = await evaluations.purge_case(**where, case_id=a)
    assert receipt.tables == {
        "evaluation_cases": 1,
        "evaluation_case_versions": 2,
        "evaluation_run_cases": 2,
        "evaluation_results": 4,
    }
    assert await evaluations.find_case(**where, case_id=a) is None
    assert [one.case_id for one in await bench.results(runs[0])] == ["b"]
    receipt = await evaluations.purge_run(**where, run_id=runs[0])
    assert receipt.tables == {
        "evaluation_runs": 1,
        "evaluation_run_cases": 1,
        "evaluation_results": 1,
    }
    assert await evaluations.find_run(**where, run_id=runs[0]) is None
    with pytest.raises(NotFound):
        await bench.record(runs[0], result(b))
    for nothing in (
        evaluations.purge_run(**where, run_id=runs[0]),
        evaluations.purge_case(**where, case_id=a),
        evaluations.purge_case(**where, case_id="never was"),
    ):
        assert not (await nothing).purged
    assert [one.case_id for one in await bench.results(runs[1])] == ["b"]


async def test_the_same_ids_live_in_two_tenants_apart_b07(adapter: Adapter) -> None:
    benches = [await bench_of(adapter) for _ in range(2)]
    for number, bench in enumerate(benches):
        await bench.case("c", input=number)
        await bench.run("c", run_id="r")
        (item,) = await bench.record("r", result("c", id="x", output=number))
        assert item.outcome == "inserted"
    await benches[0].store.evaluations.purge_case(tenant_id=benches[0].tenant_id, case_id="c")
    (kept,) = await benches[1].results("r")
    assert kept.output == 1
