# Written by scripts/generate_sync.py from strongroom/infrastructure/hints.py: change that, and run `make generate`.
"""What wakes those who follow: a hint says "look", and no more."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from strongroom import blocking


class Hints(Protocol):
    """Says when there may be something new under a name.

    Attributes:
        has_heard: whether hints are arriving, so that silence may be trusted for some seconds.
    """

    has_heard: bool

    def subscription(self, names: tuple[str, ...]) -> AbstractContextManager[blocking.Event]:
        """Yield an event that is set whenever there may be something new.

        Args:
            names: such as ``("conversation", tenant, conversation)``.
        """
        ...

    def doubt(self) -> None:
        """Something new was found that nothing told of: trust no silence until the next hint."""
        ...
