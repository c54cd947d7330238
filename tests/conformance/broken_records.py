"""More adapters with one mistake each: in the records beside runs, and in how records end."""

from typing import Any

from strongroom.errors import VersionConflict
from tests.conformance.broken_work import Call, place_of, port_of, saying, without


async def seen_by_everybody(real: Call, **arguments: Any) -> Any:
    return await real(**{**arguments, "viewer": None})


async def only_hidden(real: Call, **arguments: Any) -> Any:
    """What should be gone for good is only said to be."""
    fact = await port_of(real).find(**place_of(arguments, "principal_id", "memory_id"))
    return fact is not None


async def last_publisher_wins(real: Call, **arguments: Any) -> Any:
    try:
        return await real(**arguments)
    except VersionConflict as conflict:
        return await real(**{**arguments, "expected_version": conflict.detail["current_version"]})


async def half_of_the_batch(real: Call, **arguments: Any) -> Any:
    chunks = list(arguments["chunks"])
    return await real(**{**arguments, "chunks": chunks[: max(1, len(chunks) // 2)]})


async def one_cent_more(real: Call, **arguments: Any) -> Any:
    totals = await real(**arguments)
    return tuple(total.replace(input_tokens=total.input_tokens + 1) for total in totals)


FAULTS: dict[str, dict[str, dict[str, Call]]] = {
    "a_dry_run_erases": {"lifecycle": {"erase_principal": without("dry_run")}},
    "a_forgotten_fact_stays": {"principal_memory": {"delete": only_hidden}},
    "a_budget_is_swallowed": {"principal_memory": {"search": without("max_tokens", "max_items")}},
    "an_expiry_is_swallowed": {"principal_memory": {"put": without("expires_at")}},
    "a_stale_update_of_an_agent_wins": {"agents": {"update": last_publisher_wins}},
    "a_file_is_shown_to_everybody": {
        "files": {"get": seen_by_everybody, "list": seen_by_everybody}
    },
    "an_artifact_is_shown_to_everybody": {"artifacts": {"get": seen_by_everybody}},
    "knowledge_is_shown_to_everybody": {"keywords": {"search": seen_by_everybody}},
    "a_source_loses_chunks": {"knowledge": {"replace_source": half_of_the_batch}},
    "sums_do_not_add_up": {"usage": {"totals": one_cent_more}},
    "a_repeated_usage_event_is_new": {"usage": {"record": saying("inserted", "duplicate")}},
}

SECTIONS = {
    "a_dry_run_erases": "lifecycle",
    "a_forgotten_fact_stays": "principal_memory",
    "a_budget_is_swallowed": "principal_memory",
    "an_expiry_is_swallowed": "principal_memory",
    "a_stale_update_of_an_agent_wins": "catalog",
    "a_file_is_shown_to_everybody": "permissions or files",
    "an_artifact_is_shown_to_everybody": "permissions or artifacts",
    "knowledge_is_shown_to_everybody": "knowledge",
    "a_source_loses_chunks": "knowledge",
    "sums_do_not_add_up": "usage",
    "a_repeated_usage_event_is_new": "usage",
}
"""Where to look first, so that each run is short; any failure would do."""
