# Written by scripts/generate_sync.py from strongroom/memory_sessions.py: change that, and run `make generate`.
"""Runs of an agent in a session, whose messages are stored by a save policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_args

from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.ids import new_id
from strongroom.memory_sessions import _BATCH, DEFAULT_POLICY, _plain, describe_error
from strongroom.models.base import JsonValue
from strongroom.models.memory_sessions import MemoryContext, SavePolicy
from strongroom.sync.ports.memory_sessions import MemoryStore


class MemoryRun:
    """One run: what was said before, and what it has said so far.

    Attributes:
        run_id: the run's id.
        history: the session's messages before this run.
        messages: the messages of this run, saved or not.
        turn: the turn that it is in: 0, 1, 2, ...
    """

    def __init__(
        self,
        memory: MemoryStore,
        *,
        tenant_id: str,
        context: MemoryContext,
        policy: SavePolicy,
        run_id: str,
        history: list[JsonValue],
    ) -> None:
        """Use :meth:`MemorySession.run`."""
        self._memory = memory
        self._tenant_id = tenant_id
        self._context = context
        self._policy = policy
        self._saved = 0
        self.run_id = run_id
        self.history = history
        self.messages: list[JsonValue] = []
        self.turn = 0

    def add(self, *messages: JsonValue) -> None:
        """Add completed messages: of the user, the assistant, or a tool's result.

        Raises:
            InvalidArgument: SR001, one is not JSON; none was added.
            StrongroomError: they cannot be stored; with policy ``message`` it is known at once.
        """
        begun = len(self.messages)
        self.messages += [_plain(message, begun + n) for n, message in enumerate(messages)]
        if self._policy == "message":
            self.save()

    def end_turn(self) -> None:
        """End a model and tool loop; the next message belongs to the next turn."""
        if self._policy == "turn":
            self.save()
        self.turn += 1

    def save(self) -> None:
        """Append what is not stored yet.

        Raises:
            AlreadyExists: SR011, a message carries the id of another stored one, which stays.
        """
        while self._saved < len(self.messages):
            batch = self.messages[self._saved : self._saved + _BATCH]
            done = self._memory.append(
                tenant_id=self._tenant_id,
                context=self._context,
                run_id=self.run_id,
                turn=self.turn,
                messages=batch,
            )
            if done.conflicts:
                first = self._saved + done.conflicts[0].item
                raise AlreadyExists(
                    f"messages[{first}] of the run has the id of another message of the session",
                    detail={"path": f"messages[{first}]", "record": "session message"},
                    hint="Give every message an id of its own, or none.",
                )
            self._saved += len(batch)

    def record(self, error: BaseException) -> None:
        """Record that the run failed, with its last 500 messages."""
        described = describe_error(error)
        if len(self.messages) > _BATCH:
            described["omitted_messages"] = len(self.messages) - _BATCH
        self._memory.record_error(
            tenant_id=self._tenant_id,
            context=self._context,
            run_id=self.run_id,
            error=described,
            messages=self.messages[-_BATCH:],
        )


class MemorySession:
    """An agent's session: each run loads what was said before, and is stored by the policy.

    ``message``: each completed message at once. ``turn``: the messages of a turn when it ends. ``run``:
    all of them, only when the run ends well. A run that fails is recorded with its messages, and what
    failed is raised; so is what goes wrong in storing.

    Example:
        >>> import strongroom.sync
        >>> from strongroom import MemoryContext
        >>> from strongroom.sync.memory_sessions import MemorySession
        >>> def main() -> int:
        ...     with strongroom.sync.connect("memory:") as store:
        ...         store.tenants.create(tenant_id="acme", name="Acme")
        ...         context = MemoryContext(session_id="thread-1", user_id="ada")
        ...         session = MemorySession(
        ...             store.memory, tenant_id="acme", context=context, save_policy="turn"
        ...         )
        ...         with session.run() as run:
        ...             run.add({"role": "user", "content": "Hello"})
        ...             run.add({"role": "assistant", "content": "Good day"})
        ...             run.end_turn()
        ...         return len(store.memory.load(tenant_id="acme", context=context))
        >>> main()
        2
    """

    def __init__(
        self,
        memory: MemoryStore | None,
        *,
        tenant_id: str,
        context: MemoryContext,
        save_policy: SavePolicy | None = None,
    ) -> None:
        """Begin or go on with a session.

        Args:
            memory: ``store.memory``, or that of a unit of work.
            tenant_id: the tenant.
            context: the session.
            save_policy: ``message`` when it is None.

        Raises:
            InvalidArgument: SR001, there is no memory store, or no such policy.
        """
        if memory is None:
            raise InvalidArgument(
                "a session needs a memory store",
                detail={"path": "memory"},
                hint="Give store.memory.",
            )
        if save_policy not in {None, *get_args(SavePolicy)}:
            raise InvalidArgument(
                f"save_policy must be one of: {', '.join(get_args(SavePolicy))}",
                detail={"path": "save_policy", "choices": [*get_args(SavePolicy)]},
                hint="Use one of the listed values.",
            )
        self._memory = memory
        self._tenant_id = tenant_id
        self._context = context
        self.save_policy: SavePolicy = save_policy or DEFAULT_POLICY

    def load(self) -> list[JsonValue]:
        """Return the session's messages."""
        return self._memory.load(tenant_id=self._tenant_id, context=self._context)

    def clear(self) -> bool:
        """Delete the session; return whether there was one."""
        return self._memory.clear(tenant_id=self._tenant_id, context=self._context)

    @contextmanager
    def run(self, run_id: str | None = None) -> Iterator[MemoryRun]:
        """Begin a run: leaving the block is a successful final response, an error is a failed run.

        Args:
            run_id: the run's id; a new one when it is None.

        Raises:
            StrongroomError: loading, saving or recording failed.
        """
        run = MemoryRun(
            self._memory,
            tenant_id=self._tenant_id,
            context=self._context,
            policy=self.save_policy,
            run_id=run_id or new_id(),
            history=self.load(),
        )
        try:
            yield run
            run.save()
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            run.record(error)
            raise
