"""Usage: what models and tools used and cost, event by event, and its sums."""

from __future__ import annotations

import decimal
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PlainSerializer, StringConstraints, model_validator

from strongroom.models.base import Id, JsonObject, Moment, Record, Timestamp
from strongroom.models.messages import AppendOutcome

_MOST = 2**53 - 1

Amount = Annotated[int, Field(strict=True, ge=-_MOST, le=_MOST)]
"""Tokens of one kind, or a cost in integer units; negative only in a correction. At most 2^53 - 1."""

Currency = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Z]{3}$")]
"""ISO 4217: three capital letters."""

Whole = Annotated[int, PlainSerializer(str, when_used="json")]
"""A sum, of any size; a text in JSON, where a browser would lose its last digits."""

Decimals = Annotated[int, Field(strict=True, ge=0, le=12)]
AgentVersionNumber = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
UsageKey = Literal["day", "model", "agent", "principal", "conversation"]

TOKENS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
"""The kinds of tokens. They are never added to each other."""

_SHARED = (
    *("conversation_id", "run_id", "step_id", "tool_call_id", "principal_id"),
    *("agent_id", "agent_version", "model", "currency", "cost_decimals"),
)


class NewUsage(Record):
    """Usage to record: of one call of a model or a tool, or a correction of it.

    Attributes:
        id: makes a repeated record harmless; the binding makes a UUIDv7 when it is None.
        conversation_id: the conversation, whose reading rule the event has.
        run_id: the run.
        step_id: one attempt of one step of the run. The pair is counted once; another attempt is
            another step, with an id of its own.
        tool_call_id: the tool call that caused it.
        principal_id: on whose behalf.
        agent_id: the agent.
        agent_version: and its version.
        model: the model, as the host calls it.
        input_tokens: tokens that the model read. Kinds of tokens are never added to each other, so
            whether this contains ``cached_input_tokens`` is as the provider counts.
        output_tokens: tokens that the model wrote.
        cached_input_tokens: tokens read from a cache.
        cache_write_tokens: tokens written to a cache.
        reasoning_tokens: tokens of reasoning.
        cost: what it cost, in integer units of 10^-cost_decimals of the currency.
        cost_decimals: 2 counts cents (the default), 6 millionths.
        currency: given exactly when there is a cost.
        corrects_id: the event that this one takes back, in whole or in part. Its amounts are zero or
            negative, and together with earlier corrections never exceed that event; everything else
            comes from there.
        metadata: the host's own, at most 16 KiB.
        occurred_at: when it happened, at most 5 minutes in the future; None for now.

    Example:
        >>> from strongroom.models import NewUsage
        >>> NewUsage(model="small", input_tokens=812, output_tokens=65, cost=1240,
        ...          cost_decimals=6, currency="USD").output_tokens
        65
    """

    of_a_run: ClassVar[bool] = False

    id: Id | None = None
    conversation_id: Id | None = None
    run_id: Id | None = None
    step_id: Id | None = None
    tool_call_id: Id | None = None
    principal_id: Id | None = None
    agent_id: Id | None = None
    agent_version: AgentVersionNumber | None = None
    model: Id | None = None
    input_tokens: Amount = 0
    output_tokens: Amount = 0
    cached_input_tokens: Amount = 0
    cache_write_tokens: Amount = 0
    reasoning_tokens: Amount = 0
    cost: Amount | None = None
    cost_decimals: Decimals | None = None
    currency: Currency | None = None
    corrects_id: Id | None = None
    metadata: JsonObject = Field(default_factory=dict)
    occurred_at: Moment | None = None

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        problem = self._correction_problem() if self.corrects_id else self._problem()
        if problem is not None:
            raise ValueError(problem)
        return self

    def _amounts(self) -> list[int]:
        return [getattr(self, name) for name in TOKENS] + [self.cost or 0]

    def _correction_problem(self) -> str | None:
        given = [name for name in _SHARED if getattr(self, name) is not None]
        if given:
            return f"{given[0]} of a correction comes from the corrected event"
        if max(self._amounts()) > 0:
            return "the amounts of a correction must not be positive"
        return None

    def _problem(self) -> str | None:
        named = [name for name in ("run_id", "conversation_id") if getattr(self, name) is not None]
        problems = {
            "only the amounts of a correction are negative: give corrects_id": min(self._amounts())
            < 0,
            "run_id and conversation_id come from the run": self.of_a_run and bool(named),
            "run_id is required with step_id": not self.of_a_run
            and self.step_id is not None
            and self.run_id is None,
            "agent_id is required with agent_version": self.agent_version is not None
            and self.agent_id is None,
            "currency is given exactly when there is a cost": (self.cost is None)
            != (self.currency is None),
            "cost is required with cost_decimals": self.cost is None
            and self.cost_decimals is not None,
        }
        return next((problem for problem, there_is in problems.items() if there_is), None)


class RunUsage(NewUsage):
    """Usage to record with a run: run and conversation are the run's own."""

    of_a_run: ClassVar[bool] = True


class UsageEvent(Record):
    """Usage as it was recorded. Never updated; it leaves only with its tenant."""

    tenant_id: Id
    id: Id
    conversation_id: Id | None
    run_id: Id | None
    step_id: Id | None
    tool_call_id: Id | None
    principal_id: Id | None
    agent_id: Id | None
    agent_version: int | None
    model: Id | None
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost: int | None
    cost_decimals: int | None
    currency: str | None
    corrects_id: Id | None
    metadata: JsonObject
    occurred_at: Timestamp
    created_at: Timestamp


class RecordedUsage(UsageEvent):
    """The stored event, and whether this call wrote it.

    Attributes:
        outcome: ``inserted``; ``duplicate``, recorded before: this is the first row; ``conflict``, the id
            or step was recorded with other content: this is what is there, and nothing was written.
    """

    outcome: AppendOutcome


class UsageItem(Record):
    """What became of one event of a run."""

    id: Id
    outcome: AppendOutcome


class Cost(Record):
    """A sum of money in one currency.

    Attributes:
        cost: in integer units of 10^-decimals of the currency; of any size.
        decimals: the finest of the events that were added.

    Example:
        >>> from strongroom.models import Cost
        >>> Cost(currency="EUR", cost=123456, decimals=6).amount
        Decimal('0.123456')
    """

    currency: str
    cost: Whole
    decimals: int

    @property
    def amount(self) -> decimal.Decimal:
        """The sum as a decimal number of the currency."""
        return decimal.Decimal(self.cost).scaleb(
            -self.decimals, context=decimal.Context(prec=max(len(str(self.cost)), 28))
        )


class UsageTotals(Record):
    """The sum of some usage events; equal to adding them by hand, and of any size.

    Attributes:
        costs: one per currency; currencies are never added to each other.
    """

    event_count: int
    input_tokens: Whole
    output_tokens: Whole
    cached_input_tokens: Whole
    cache_write_tokens: Whole
    reasoning_tokens: Whole
    costs: tuple[Cost, ...]


class UsageSum(UsageTotals):
    """The sum of the usage events of one day, model, agent, principal or conversation.

    Attributes:
        key: which: a day as ``2026-11-30``, or an id; None for events that name none.
    """

    key: str | None
