"""Not collected by itself: test_suite_can_fail.py runs the suite on these, until each has failed.

Each is the in-memory adapter with one plausible mistake.
"""

import dataclasses
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from strongroom.client import Strongroom, UnitOfWork
from strongroom.conformance import *  # noqa: F403
from strongroom.conformance import Adapter
from strongroom.errors import NotFound, VersionConflict
from strongroom.in_memory import memory_store
from strongroom.models import AppendResult, NewMessage, Page, PurgeReceipt
from tests.conformance import broken_records, broken_work
from tests.conformance.conftest import HAS_FAILED

Call = Callable[..., Awaitable[Any]]


class Changed:
    """A port with some methods replaced; each replacement gets the real method and the arguments."""

    def __init__(self, port: object, methods: dict[str, Callable[..., Awaitable[Any]]]) -> None:
        self._port = port
        self._methods = methods

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._port, name)
        if name not in self._methods:
            return real

        async def call(**arguments: Any) -> Any:
            return await self._methods[name](real, **arguments)

        return call


async def without_viewer(real: Call, **arguments: Any) -> Any:
    return await real(**{**arguments, "viewer": None})


async def clamped(real: Call, **arguments: Any) -> Any:
    limit = arguments.get("limit", 50)
    return await real(**{**arguments, "limit": min(limit, 500) if type(limit) is int else limit})


async def forward_only(real: Call, **arguments: Any) -> Any:
    return await real(**{**arguments, "direction": "forward"})


async def one_row_short(real: Call, **arguments: Any) -> Any:
    page = await real(**arguments)
    if page.next_cursor is not None and len(page.items) > 1:
        return Page(
            items=page.items[:-1],
            next_cursor=page.next_cursor,
            previous_cursor=page.previous_cursor,
        )
    return page


async def oldest(real: Call, **arguments: Any) -> Any:
    port = real.__self__  # type: ignore[attr-defined]
    return await port.list(**arguments)


async def last_writer_wins(real: Call, **arguments: Any) -> Any:
    try:
        return await real(**arguments)
    except VersionConflict as conflict:
        return await real(**{**arguments, "expected_version": conflict.detail["current_version"]})


async def never_a_duplicate(real: Call, **arguments: Any) -> Any:
    done = await real(**arguments)
    items = tuple(
        item.replace(outcome="inserted") if item.outcome == "duplicate" else item
        for item in done.items
    )
    return AppendResult(items=items)


async def silent_about_conflicts(real: Call, **arguments: Any) -> Any:
    done = await real(**arguments)
    items = tuple(
        item.replace(outcome="duplicate", conflict=None) if item.conflict else item
        for item in done.items
    )
    return AppendResult(items=items)


async def normalised(real: Call, **arguments: Any) -> Any:
    def mend(message: Any) -> Any:
        if not isinstance(message, NewMessage):
            return message
        parts = [
            part.replace(text=unicodedata.normalize("NFC", part.text))
            if part.type == "text" and part.text.isprintable()
            else part
            for part in message.parts
        ]
        return message.replace(parts=parts)

    messages = arguments["messages"]
    if isinstance(messages, list):
        messages = [mend(message) for message in messages]
    return await real(**{**arguments, "messages": messages})


async def one_at_a_time(real: Call, **arguments: Any) -> Any:
    messages = arguments["messages"]
    if not isinstance(messages, list) or not messages:
        return await real(**arguments)
    done = [await real(**{**arguments, "messages": [message]}) for message in messages]
    return AppendResult(items=tuple(item for result in done for item in result.items))


async def nothing_counted(real: Call, **arguments: Any) -> Any:
    await real(**arguments)
    return PurgeReceipt(tables={})


async def absent_is_deleted(real: Call, **arguments: Any) -> Any:
    try:
        return await real(**arguments)
    except NotFound:
        return None


async def all_of_it(real: Call, **arguments: Any) -> Any:
    return await real(**{**arguments, "up_to_position": None})


async def without_the_call(real: Call, **arguments: Any) -> Any:
    history = await real(**arguments)
    covered = history.summary.covers_to_position if history.summary else 0
    return history.replace(messages=[m for m in history.messages if m.position > covered])


async def shallow(real: Call, **arguments: Any) -> Any:
    port = real.__self__  # type: ignore[attr-defined]
    where = {name: arguments[name] for name in ("tenant_id", "conversation_id")}
    current = await port.get(**where)
    patch = arguments.pop("patch")
    if not isinstance(patch, dict):
        return await real(**arguments, patch=patch)
    state = {k: v for k, v in {**current.state, **patch}.items() if v is not None}
    return await port.put(**arguments, state=state)


FAULTS: dict[str, dict[str, dict[str, Call]]] = {
    **broken_work.FAULTS,
    **broken_records.FAULTS,
    "viewer_is_ignored": {"messages": {"list": without_viewer}},
    "viewer_is_ignored_in_lists": {"conversations": {"list": without_viewer}},
    "limit_is_clamped": {"messages": {"list": clamped}},
    "backward_is_forward": {"summaries": {"list": forward_only}},
    "a_page_is_short": {"tenants": {"list_members": one_row_short}},
    "latest_is_oldest": {"messages": {"latest": oldest}},
    "last_writer_wins": {"session_state": {"put": last_writer_wins}},
    "last_writer_wins_on_tenants": {"tenants": {"update": last_writer_wins}},
    "a_repeat_is_not_said": {"messages": {"append": never_a_duplicate}},
    "a_conflict_is_not_said": {"messages": {"append": silent_about_conflicts}},
    "text_is_normalised": {"messages": {"append": normalised}},
    "a_batch_is_not_atomic": {"messages": {"append": one_at_a_time}},
    "a_purge_counts_nothing": {"conversations": {"purge": nothing_counted}},
    "deleting_nothing_succeeds": {"conversations": {"soft_delete": absent_is_deleted}},
    "a_fork_copies_everything": {"conversations": {"fork": all_of_it}},
    "a_history_starts_with_a_result": {"summaries": {"history": without_the_call}},
    "a_patch_is_shallow": {"session_state": {"patch": shallow}},
    "a_unit_saves_half": {},
}


# Where to look, so that the run is short; any failure would do.
SECTIONS = {
    **broken_work.SECTIONS,
    **broken_records.SECTIONS,
    "viewer_is_ignored": "permissions or pagination",
    "viewer_is_ignored_in_lists": "permissions",
    "limit_is_clamped": "pagination and limit",
    "backward_is_forward": "pagination",
    "a_page_is_short": "pagination",
    "latest_is_oldest": "messages and latest",
    "last_writer_wins": "session_state",
    "last_writer_wins_on_tenants": "tenants and stale",
    "a_repeat_is_not_said": "messages and repeat",
    "a_conflict_is_not_said": "messages and conflict",
    "text_is_normalised": "text and well_formed or pieces",
    "a_batch_is_not_atomic": "messages and nothing",
    "a_purge_counts_nothing": "conversations and purge",
    "deleting_nothing_succeeds": "deletion",
    "a_fork_copies_everything": "forks",
    "a_history_starts_with_a_result": "summaries and history",
    "a_patch_is_shallow": "session_state and patch",
    "a_unit_saves_half": "transactions",
}


def broken(store: Strongroom, fault: str) -> Strongroom:
    changes: dict[str, Any] = {
        port: Changed(getattr(store, port), methods) for port, methods in FAULTS[fault].items()
    }
    if fault == "a_unit_saves_half":

        @asynccontextmanager
        async def begin(tenant_id: str) -> AsyncIterator[UnitOfWork]:
            async with store.begin(tenant_id) as unit:
                yield dataclasses.replace(unit, session_state=store.session_state)

        changes["begin"] = begin
    return dataclasses.replace(store, **changes)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the faults that it is likely to find."""
    if "adapter" in metafunc.fixturenames:
        name = metafunc.definition.originalname or metafunc.definition.name
        faults = [fault for fault, where in sorted(SECTIONS.items()) if is_in(where, name)]
        metafunc.parametrize("adapter", faults, indirect=True)


def is_in(where: str, name: str) -> bool:
    """Whether a test's name has what SECTIONS asks for: words joined by "and", ways by "or"."""
    return any(all(word in name for word in way.split(" and ")) for way in where.split(" or "))


FOUND: set[str] = set()


@pytest.fixture
def adapter(request: pytest.FixtureRequest) -> Iterator[Adapter]:
    fault = request.param
    if fault in FOUND:
        pytest.skip("this fault was found already")
    yield Adapter(store=broken(memory_store(text_policy="reject"), fault))
    if request.node.stash.get(HAS_FAILED, False):
        FOUND.add(fault)
