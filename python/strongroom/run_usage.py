"""What a run has used and nobody has written yet."""

from __future__ import annotations

import datetime as dt
import logging

from strongroom.client import Strongroom
from strongroom.errors import InvalidArgument, LimitExceeded, StrongroomError
from strongroom.ids import new_id
from strongroom.models.json_values import replace_unstorable, stored_size
from strongroom.models.runs import Run
from strongroom.models.usage import NewUsage, RunUsage

log = logging.getLogger("strongroom.worker")

BATCH = 500
METADATA_BYTES = 16_384
AHEAD = dt.timedelta(minutes=5)


class UsageBuffer:
    """Usage of one claimed run, on its way to the ledger.

    Attributes:
        pending: what is not written yet; each event has its id, so that writing it again is harmless.
    """

    def __init__(self, store: Strongroom, run: Run) -> None:
        """For the run's context."""
        self.pending: list[RunUsage] = []
        self._store = store
        self._run = run

    def add(self, *events: RunUsage) -> None:
        """Take events that the ledger will take: what it would refuse is refused here, at once."""
        for event in events:
            if stored_size(event.metadata) > METADATA_BYTES:
                raise LimitExceeded(
                    f"metadata has more than {METADATA_BYTES} bytes",
                    detail={"path": "metadata", "limit": METADATA_BYTES},
                    hint="Keep large data in a file or artifact, and its id here.",
                )
            if (
                event.occurred_at is not None
                and event.occurred_at > dt.datetime.now(dt.UTC) + AHEAD
            ):
                raise InvalidArgument(
                    "occurred_at is more than 5 minutes in the future",
                    detail={"path": "occurred_at"},
                    hint="Leave it out for now.",
                )
        self.pending += [_storable(event) for event in events]

    async def flush(self, *, all_but: int = 0) -> None:
        """Write what is pending, under the run's claim; the last ``all_but`` may stay.

        Raises:
            StaleClaim: SR031, the claim is lost: nothing was written.
        """
        while len(self.pending) > all_but:
            batch = self.pending[: min(BATCH, len(self.pending) - all_but)]
            await self._store.usage.record_for_run(
                tenant_id=self._run.tenant_id,
                run_id=self._run.id,
                claim_token=self._run.claim_token or 0,
                events=batch,
            )
            del self.pending[: len(batch)]

    async def salvage(self, *, of_a_living_run: bool = True) -> None:
        """Write each pending event on its own, and tell those that the ledger refuses."""
        pending, self.pending = self.pending, []
        for event in pending:
            try:
                if of_a_living_run:
                    self.pending = [event]
                    await self.flush()
                else:
                    await self._store.usage.record(
                        tenant_id=self._run.tenant_id, events=[self._named(event)]
                    )
            except StrongroomError as error:
                log.warning("usage %s of run %s is not recorded: %s", event.id, self._run.id, error)
        self.pending = []

    def _named(self, event: RunUsage) -> NewUsage:
        """Return the event with the ids of its run, which is gone."""
        given = dict(event)
        if event.corrects_id is None:
            given["run_id"] = self._run.id
            given["conversation_id"] = self._run.conversation_id
            if event.agent_id is None and self._run.agent_id is not None:
                given["agent_id"] = self._run.agent_id
                given["agent_version"] = self._run.agent_version
        return NewUsage(**given)


def _storable(event: RunUsage) -> RunUsage:
    """Give it an id, and replace what PostgreSQL cannot hold: usage must not keep a run from ending."""
    given = {name: value for name, value in dict(event).items() if name != "occurred_at"}
    cleaned = replace_unstorable(given)
    return RunUsage(**{**cleaned, "occurred_at": event.occurred_at, "id": event.id or new_id()})
