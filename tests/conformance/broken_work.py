"""More adapters with one mistake each: in runs, checkpoints, interactions, jobs, locks and the feed."""

from collections.abc import Awaitable, Callable
from typing import Any

from strongroom.errors import StaleClaim, VersionConflict
from strongroom.models import RevokedGrant

Call = Callable[..., Awaitable[Any]]


def port_of(real: Call) -> Any:
    return real.__self__  # type: ignore[attr-defined]


def place_of(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: arguments[name] for name in ("tenant_id", *names)}


def without(*names: str) -> Call:
    """The arguments do not arrive."""

    async def call(real: Call, **arguments: Any) -> Any:
        return await real(**{name: v for name, v in arguments.items() if name not in names})

    return call


def saying(told: str, instead_of: str) -> Call:
    """The outcome is told wrongly."""

    async def call(real: Call, **arguments: Any) -> Any:
        done = await real(**arguments)
        return done.replace(outcome=told) if done.outcome == instead_of else done

    return call


async def with_the_present_claim(real: Call, **arguments: Any) -> Any:
    try:
        return await real(**arguments)
    except StaleClaim:
        run = await port_of(real).get(**place_of(arguments, "run_id"))
        return await real(**{**arguments, "claim_token": run.claim_token})


async def also_when_held(real: Call, **arguments: Any) -> Any:
    run = await real(**arguments)
    return run or await port_of(real).get(**place_of(arguments, "run_id"))


async def events_without_ids(real: Call, **arguments: Any) -> Any:
    events = arguments["events"]
    if isinstance(events, list | tuple):
        events = [event.replace(id=None) if hasattr(event, "id") else event for event in events]
    return await real(**{**arguments, "events": events})


async def silent_about_cancelling(real: Call, **arguments: Any) -> Any:
    return (await real(**arguments)).replace(cancel_requested=False)


async def at_once(real: Call, **arguments: Any) -> Any:
    return await real(**{**arguments, "delay_seconds": 0})


async def all_but_the_first(real: Call, **arguments: Any) -> Any:
    page = await real(**arguments)
    return page.replace(items=page.items[1:])


async def last_saver_wins(real: Call, **arguments: Any) -> Any:
    try:
        return await real(**arguments)
    except VersionConflict as conflict:
        return await real(**{**arguments, "expected_sequence": conflict.detail["current_version"]})


async def stale_is_done(real: Call, **arguments: Any) -> Any:
    try:
        return await real(**arguments)
    except StaleClaim:
        return await port_of(real).get(**place_of(arguments, "job_id"))


async def also_what_is_running(real: Call, **arguments: Any) -> Any:
    taken = await real(**arguments)
    if taken or arguments.get("tenant_id") is None:
        return taken
    page = await port_of(real).list(tenant_id=arguments["tenant_id"], status="running", limit=1)
    return type(taken)(page.items)


async def released_as_failed(real: Call, **arguments: Any) -> Any:
    return await port_of(real).retry_later(**arguments, error={"code": "released"}, delay_seconds=0)


async def only_looked_at(real: Call, **arguments: Any) -> Any:
    return await port_of(real).get(**arguments)


async def freed_by_anybody(real: Call, **arguments: Any) -> Any:
    if await real(**arguments):
        return True
    lock = await port_of(real).find(**place_of(arguments, "name"))
    return lock is not None and await real(
        **place_of(arguments, "name"), owner_id=lock.owner_id, token=lock.token
    )


async def held_by_two(real: Call, **arguments: Any) -> Any:
    lock = await real(**arguments)
    return lock or await port_of(real).find(**place_of(arguments, "name"))


async def never_lost(real: Call, **arguments: Any) -> Any:
    try:
        return await real(**arguments)
    except StaleClaim:
        return await port_of(real).find(**place_of(arguments, "name"))


async def nothing_revoked(real: Call, **arguments: Any) -> Any:
    return RevokedGrant(revoked=real is not None and bool(arguments), others=0)


FAULTS: dict[str, dict[str, dict[str, Call]]] = {
    "a_stale_claim_writes_events": {"runs": {"append_events": with_the_present_claim}},
    "a_stale_claim_finishes": {"runs": {"finish": with_the_present_claim}},
    "two_workers_hold_a_run": {"runs": {"claim": also_when_held}},
    "a_turn_forgets_the_state": {"runs": {"finish": without("state", "state_expected_version")}},
    "repeated_events_are_new": {"runs": {"append_events": events_without_ids}},
    "a_heartbeat_hides_the_cancel": {"runs": {"heartbeat": silent_about_cancelling}},
    "a_retry_does_not_wait": {"runs": {"retry_later": at_once}},
    "a_run_ignores_its_time": {"runs": {"create": without("available_at")}},
    "a_checkpoint_list_skips_one": {"checkpoints": {"list": all_but_the_first}},
    "a_late_checkpoint_wins": {"checkpoints": {"save": last_saver_wins}},
    "a_repeated_checkpoint_is_new": {"checkpoints": {"save": without("checkpoint_id")}},
    "a_second_answer_counts": {"interactions": {"answer": saying("resolved", "already_resolved")}},
    "an_approved_call_runs_twice": {
        "interactions": {"claim_approval": saying("claimed", "already_claimed")}
    },
    "a_denied_call_runs": {"interactions": {"claim_approval": saying("claimed", "not_approved")}},
    "a_revoked_grant_holds": {"interactions": {"revoke_grant": nothing_revoked}},
    "a_question_does_not_expire": {"interactions": {"ask": without("expires_at")}},
    "a_dedupe_key_is_swallowed": {"jobs": {"enqueue": without("dedupe_key")}},
    "a_priority_is_swallowed": {"jobs": {"enqueue": without("priority")}},
    "a_job_does_not_wait": {"jobs": {"enqueue": at_once}},
    "a_stale_job_is_completed": {"jobs": {"complete": stale_is_done}},
    "two_workers_hold_a_job": {"jobs": {"claim": also_what_is_running}},
    "giving_back_costs_an_attempt": {"jobs": {"release": released_as_failed}},
    "a_cancelled_job_goes_on": {"jobs": {"cancel": only_looked_at}},
    "a_former_owner_frees_a_lock": {"locks": {"release": freed_by_anybody}},
    "two_owners_hold_a_lock": {"locks": {"acquire": held_by_two}},
    "a_lost_lock_guards": {"locks": {"check": never_lost}},
    "repeated_publications_are_new": {"realtime": {"publish": events_without_ids}},
}

SECTIONS = {
    "a_stale_claim_writes_events": "late_workers",
    "a_stale_claim_finishes": "late_workers",
    "two_workers_hold_a_run": "run_claims",
    "a_turn_forgets_the_state": "run_endings",
    "repeated_events_are_new": "run_events",
    "a_heartbeat_hides_the_cancel": "run_endings",
    "a_retry_does_not_wait": "run_endings",
    "a_run_ignores_its_time": "run_claims",
    "a_checkpoint_list_skips_one": "checkpoints",
    "a_late_checkpoint_wins": "checkpoints",
    "a_repeated_checkpoint_is_new": "checkpoints",
    "a_second_answer_counts": "interactions",
    "an_approved_call_runs_twice": "approvals",
    "a_denied_call_runs": "approvals",
    "a_revoked_grant_holds": "approvals",
    "a_question_does_not_expire": "interactions",
    "a_dedupe_key_is_swallowed": "jobs and dedupe",
    "a_priority_is_swallowed": "jobs and order",
    "a_job_does_not_wait": "jobs",
    "a_stale_job_is_completed": "jobs",
    "two_workers_hold_a_job": "jobs",
    "giving_back_costs_an_attempt": "jobs",
    "a_cancelled_job_goes_on": "jobs and cancelling",
    "a_former_owner_frees_a_lock": "locks and former_owner",
    "two_owners_hold_a_lock": "locks",
    "a_lost_lock_guards": "locks",
    "repeated_publications_are_new": "realtime",
}
"""Where to look first, so that each run is short; any failure would do."""
