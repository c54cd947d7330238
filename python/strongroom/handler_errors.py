"""How handlers end: whatever they raise becomes something that a worker can act on and a run can keep."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.models.base import JsonObject
from strongroom.models.json_values import replace_unstorable
from strongroom.models.runs import WaitingStatus

LONGEST_DELAY_SECONDS = 31_536_000.0
"""A year: what ``retry_later`` takes at the most."""

A = TypeVar("A")
R = TypeVar("R")
_CHARACTERS = 2000
_CODE_CHARACTERS = 255
_CENTURIES = 10**12


class Paused(BaseException):
    """Leave the handler: the run waits for a person. Raised by ``ask`` and ``request_approval``.

    Like ``asyncio.CancelledError`` it is no ``Exception``: a tool's ``except Exception`` does not eat it.
    """

    def __init__(self, status: WaitingStatus) -> None:
        """Say what it waits for."""
        super().__init__(status)
        self.status: WaitingStatus = status


class RunCancelled(BaseException):
    """Leave the handler: somebody asked to cancel the run. It is no ``Exception``, as ``Paused`` is none."""


class RetryLater(Exception):
    """Raise it in a handler to try again later, after a given time."""

    def __init__(self, message: str, *, delay_seconds: float | None = None) -> None:
        """Say why, and how long to wait: None leaves it to the worker's backoff.

        Raises:
            InvalidArgument: SR001, the delay is no number between 0 and a year.
        """
        super().__init__(message)
        if delay_seconds is not None:
            check_seconds("delay_seconds", delay_seconds, most=LONGEST_DELAY_SECONDS)
        self.delay_seconds = delay_seconds


class HandlerInterrupted(Exception):
    """The handler ended with what is meant for programs and tasks, not for runs: SystemExit, for example."""

    def __init__(self, cause: BaseException) -> None:
        """Say with what."""
        said = text_of(cause)
        super().__init__(f"{type(cause).__name__}: {said}" if said else type(cause).__name__)


async def call_handler(handler: Callable[[A], Awaitable[R]], argument: A) -> R:
    """Await a handler, and let out only what a worker acts on.

    That is: Exceptions, ``Paused`` and ``RunCancelled`` also where they come in a group (of a TaskGroup of
    tool calls), and the cancellation of this very task. A ``CancelledError`` that nobody asked this task for,
    ``SystemExit`` (of a command line parser that a tool uses) and the like end one run, not the worker.
    """
    try:
        return await handler(argument)
    except (Paused, RunCancelled, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseExceptionGroup as group:
        _let_out(group)
        raise HandlerInterrupted(group) from group
    except Exception:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise HandlerInterrupted(error) from error


def _let_out(group: BaseExceptionGroup[BaseException]) -> None:
    """Raise what a group comes down to: a failure before a pause, for a pause would hide it."""
    inner = [*_leaves(group)]
    for error in inner:
        if isinstance(error, RunCancelled | KeyboardInterrupt):
            raise error from group
    failures = [error for error in inner if not isinstance(error, Paused)]
    if not failures:
        raise inner[0] from group
    if len(failures) == 1 and isinstance(failures[0], Exception):
        raise failures[0] from group
    if isinstance(group, Exception):
        raise group


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def error_object(error: BaseException) -> JsonObject:
    """Return what a run keeps of an error: code and message, storable and short."""
    code = error.name if isinstance(error, StrongroomError) else type(error).__name__
    cleaned: JsonObject = replace_unstorable(
        {"code": short(code, _CODE_CHARACTERS), "message": short(text_of(error))}
    )
    return cleaned


def text_of(error: BaseException) -> str:
    """Return what an error says, also of one that cannot say it; a group says what is in it."""
    try:
        if isinstance(error, BaseExceptionGroup):
            named = (f"{type(leaf).__name__}: {text_of(leaf)}" for leaf in _leaves(error))
            return f"{error.message}: {'; '.join(named)}"
        return str(error)
    except Exception as unsaid:  # noqa: BLE001 (its __str__ is the handler's code, too)
        return f"its text cannot be had: {type(unsaid).__name__}"


def short(text: str, most: int = _CHARACTERS) -> str:
    """Return a text, cut where it is too long to keep."""
    return text if len(text) <= most else text[: most - 1] + "…"


def check_seconds(
    name: str, value: object, *, above: float | None = None, most: float = math.inf
) -> None:
    """Refuse what is no time to wait.

    Args:
        name: the argument, for the message.
        value: the seconds.
        above: the value must be greater; None: 0 is allowed.
        most: the greatest value.

    Raises:
        InvalidArgument: SR001.
    """
    seconds = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool) and value < _CENTURIES:
        seconds = float(value)
    is_enough = seconds >= 0 if above is None else seconds > above
    if is_enough and math.isfinite(seconds) and seconds <= most:
        return
    least = "at least 0" if above is None else f"above {above:g}"
    limit = "" if math.isinf(most) else f" and at most {most:g}"
    raise InvalidArgument(
        f"{name} must be a number {least}{limit}",
        detail={"path": name, "actual": short(repr(value), 100)},
        hint="Give the seconds.",
    )
