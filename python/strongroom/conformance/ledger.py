"""The port ledger: which port methods the suite really calls, counted in tests that pass.

It is a pytest plugin, so it also serves people who write an adapter:

    pytest -p strongroom.conformance.ledger tests/test_my_adapter.py

It wraps the store of every ``adapter`` and ``blob_adapter`` fixture, counts the calls that a test makes,
keeps them only when the test passes, and fails the session when a port has a method that no passing
test has called. A method that is merely named somewhere, in a comment or in a test that is skipped or
fails, counts for nothing. Set ``STRONGROOM_LEDGER`` to a file name to get the counts as JSON.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from strongroom import ports
from strongroom.client import Ports, Strongroom, UnitOfWork
from strongroom.conformance.adapter import Adapter, Opened

P = TypeVar("P", bound=Ports)

PORTS: dict[str, type] = {
    "tenants": ports.TenantStore,
    "agents": ports.AgentStore,
    "skills": ports.SkillStore,
    "conversations": ports.ConversationStore,
    "messages": ports.MessageStore,
    "session_state": ports.SessionStateStore,
    "summaries": ports.ThreadSummaryStore,
    "principal_memory": ports.PrincipalMemoryStore,
    "runs": ports.RunStore,
    "checkpoints": ports.CheckpointStore,
    "interactions": ports.InteractionStore,
    "evaluations": ports.EvaluationStore,
    "frameworks": ports.FrameworkStore,
    "knowledge": ports.KnowledgeStore,
    "vectors": ports.VectorIndex,
    "keywords": ports.KeywordIndex,
    "artifacts": ports.ArtifactStore,
    "tool_outputs": ports.ToolOutputStore,
    "transcripts": ports.TranscriptStore,
    "memory": ports.MemoryStore,
    "jobs": ports.JobDispatcher,
    "locks": ports.DistributedLockStore,
    "realtime": ports.RealtimePublisher,
    "usage": ports.UsageStore,
    "audit": ports.AuditStore,
    "files": ports.FileMetadataStore,
    "blob_removals": ports.BlobRemovalStore,
    "lifecycle": ports.LifecycleStore,
    "schema": ports.SchemaManager,
    "blobs": ports.BlobStore,
}
"""The port of each attribute of a store. A test compares it with the attributes that there are."""

Calls = Counter[str]


def methods_of(port: type) -> list[str]:
    """Return the public methods of a port's Protocol."""
    return sorted(
        name
        for name, member in inspect.getmembers(port, inspect.isfunction)
        if not name.startswith("_")
    )


def all_methods(port_types: dict[str, type] = PORTS) -> list[str]:
    """Return every method of every port, as ``messages.append``."""
    return [
        f"{attribute}.{name}"
        for attribute, port in sorted(port_types.items())
        for name in methods_of(port)
    ]


def missing(calls: Iterable[str], port_types: dict[str, type] = PORTS) -> list[str]:
    """Return the port methods that are not among the calls."""
    called = set(calls)
    return [name for name in all_methods(port_types) if name not in called]


class _Recorded:
    """A port that counts the calls of its methods and passes them on."""

    def __init__(self, attribute: str, port: object, calls: Calls) -> None:
        self._attribute = attribute
        self._port = port
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._port, name)
        if name not in methods_of(PORTS[self._attribute]):
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            self._calls[f"{self._attribute}.{name}"] += 1
            return member(*args, **kwargs)

        return call


def recorded(store: P, calls: Calls) -> P:
    """Return the same store, with its calls counted, those in units of work included."""

    def unit(begin: Callable[[str], AbstractAsyncContextManager[UnitOfWork]]) -> Any:
        @asynccontextmanager
        async def counted(tenant_id: str) -> AsyncIterator[UnitOfWork]:
            async with begin(tenant_id) as uow:
                yield recorded(uow, calls)

        return counted

    changes: dict[str, Any] = {
        field.name: _Recorded(field.name, getattr(store, field.name), calls)
        for field in dataclasses.fields(store)
        if field.name in PORTS
    }
    if isinstance(store, Strongroom):
        changes["begin"] = unit(store.begin)
    elif isinstance(store, UnitOfWork):
        changes["begin_nested"] = unit(store.begin_nested)
    return dataclasses.replace(store, **changes)


def recorded_adapter(adapter: Adapter, calls: Calls) -> Adapter:
    """Return the same adapter, with the calls of all stores that it opens counted."""

    def counted(opens: Callable[..., Opened]) -> Callable[..., Opened]:
        @asynccontextmanager
        async def opened(*args: str) -> AsyncIterator[Strongroom]:
            async with opens(*args) as store:
                yield recorded(store, calls)

        return opened

    hooks: dict[str, Any] = {
        name: counted(hook)
        for name in ("open_second", "open_replacing", "as_user")
        if (hook := getattr(adapter, name)) is not None
    }
    return dataclasses.replace(adapter, store=recorded(adapter.store, calls), **hooks)


class Ledger:
    """The plugin: counts calls test by test."""

    def __init__(self) -> None:
        """Start empty."""
        self.calls: Calls = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Count the calls of one test, and keep them when it passes."""
        arguments: dict[str, Any] = getattr(item, "funcargs", {})
        adapter, calls = arguments.get("adapter"), Calls()
        if isinstance(adapter, Adapter):
            arguments["adapter"] = recorded_adapter(adapter, calls)
        blob_adapter = arguments.get("blob_adapter")
        if blob_adapter is not None:
            store = _Recorded("blobs", blob_adapter.store, calls)
            arguments["blob_adapter"] = dataclasses.replace(blob_adapter, store=store)
        result = yield  # a test that fails or is skipped leaves here
        self.calls += calls
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session when a port method was never called."""
        if path := os.environ.get("STRONGROOM_LEDGER"):
            Path(path).write_text(json.dumps(self.calls), encoding="utf-8")
        if missing(self.calls) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List every method with its count, the missing ones first."""
        terminalreporter.section("port ledger")
        for name in missing(self.calls):
            terminalreporter.write_line(f"NEVER CALLED  {name}")
        for name in all_methods():
            if self.calls[name]:
                terminalreporter.write_line(f"{self.calls[name]:>12}  {name}")


def pytest_configure(config: pytest.Config) -> None:
    """Put the ledger into the session."""
    config.pluginmanager.register(Ledger(), "strongroom-port-ledger")
