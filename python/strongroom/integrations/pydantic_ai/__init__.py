"""Pydantic AI: its message history, and the step store of its harness, kept in strongroom.

Extras: ``pydantic-ai``; for ``StrongroomStepStore`` also ``pydantic-ai-harness``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strongroom.integrations.pydantic_ai.history import StrongroomHistory as StrongroomHistory

if TYPE_CHECKING:
    from strongroom.integrations.pydantic_ai.steps import StrongroomStepStore

__all__ = ["StrongroomHistory", "StrongroomStepStore"]


def __getattr__(name: str) -> Any:
    """Import the step store when it is asked for: the harness is an extra of its own."""
    if name != "StrongroomStepStore":
        raise AttributeError(name)
    from strongroom.integrations.pydantic_ai.steps import StrongroomStepStore  # noqa: PLC0415

    return StrongroomStepStore
