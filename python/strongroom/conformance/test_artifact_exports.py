"""Exports of artifacts: claimed once per version and format, taken over after a crash, ended once."""

from __future__ import annotations

import asyncio

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_artifacts import PDF, Described, blob_of
from strongroom.conformance.helpers import at, new_talk
from strongroom.conformance.run_helpers import AT_ONCE
from strongroom.conformance.test_artifacts import made, place
from strongroom.errors import (
    InvalidArgument,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    StaleClaim,
)


async def exportable(adapter: Adapter) -> Described:
    """Make an artifact with two versions."""
    artifact = await made(adapter.store)
    await adapter.store.artifacts.add_version(**place(artifact), expected_latest=1, text="two")
    return place(artifact)


async def test_an_export_is_claimed_and_finished_once(adapter: Adapter) -> None:
    port, of = adapter.store.artifacts, await exportable(adapter)
    assert await port.find_export(**of, **PDF) is None
    claim = await port.claim_export(**of, **PDF, worker_id="first")
    assert (claim.outcome, claim.status, claim.attempt) == ("claimed", "claimed", 1)
    assert claim.lease_expires_at is not None
    second = await port.claim_export(**of, **PDF, worker_id="second")
    assert second == claim.replace(outcome="already_claimed")
    done = await port.finish_export(
        **of, **PDF, claim_token=claim.claim_token, blob=blob_of(b"pdf"), media_type="text/pdf"
    )
    assert (done.status, done.blob_key, done.size_bytes, done.media_type) == (
        "finished",
        "k",
        3,
        "text/pdf",
    )
    assert (done.sha256, done.lease_expires_at, done.error) == (blob_of(b"pdf").sha256, None, None)
    third = await port.claim_export(**of, **PDF, worker_id="third")
    assert (third.outcome, third.blob_key, third.attempt) == ("already_finished", "k", 1)
    assert await port.find_export(**of, **PDF) == done


async def test_each_version_and_format_is_its_own(adapter: Adapter) -> None:
    port, of = adapter.store.artifacts, await exportable(adapter)
    claims = [
        await port.claim_export(**of, version=version, format=name, worker_id="w")
        for version in (1, 2)
        for name in ("pdf", "PDF", "html")
    ]
    assert {claim.outcome for claim in claims} == {"claimed"}
    tokens = [claim.claim_token for claim in claims]
    assert tokens == sorted(set(tokens))
    with pytest.raises(NotFound):
        await port.claim_export(**of, version=3, format="pdf", worker_id="w")
    with pytest.raises(NotFound):
        await port.finish_export(
            **of, version=2, format="docx", claim_token=tokens[0], blob=blob_of(b"x")
        )


async def test_of_exporters_at_once_exactly_one_wins(adapter: Adapter) -> None:
    port, of = adapter.store.artifacts, await exportable(adapter)
    for version in (1, 2):
        claims = await asyncio.gather(
            *(
                port.claim_export(**of, version=version, format="pdf", worker_id=f"w{number}")
                for number in range(6)
            )
        )
        won = [claim for claim in claims if claim.outcome == "claimed"]
        assert len(won) == 1
        assert {claim.claim_token for claim in claims} == {won[0].claim_token}
        assert {claim.worker_id for claim in claims} == {won[0].worker_id}


async def test_a_crashed_exporters_claim_is_taken_over(adapter: Adapter) -> None:
    port, of = adapter.store.artifacts, await exportable(adapter)
    lost = await port.claim_export(**of, **PDF, worker_id="crashed", lease_seconds=AT_ONCE)
    taken = await port.claim_export(**of, **PDF, worker_id="successor")
    assert (taken.outcome, taken.attempt, taken.worker_id) == ("claimed", 2, "successor")
    assert taken.claim_token > lost.claim_token
    for late in (
        port.finish_export(**of, **PDF, claim_token=lost.claim_token, blob=blob_of(b"late")),
        port.fail_export(**of, **PDF, claim_token=lost.claim_token, error={"code": "late"}),
    ):
        with pytest.raises(StaleClaim):
            await late
    assert await port.find_export(**of, **PDF) == await _plain(adapter, of)
    await port.finish_export(**of, **PDF, claim_token=taken.claim_token, blob=blob_of(b"good"))
    found = await port.find_export(**of, **PDF)
    assert found is not None
    assert found.sha256 == blob_of(b"good").sha256


async def _plain(adapter: Adapter, of: Described) -> object:
    claim = await adapter.store.artifacts.claim_export(**of, **PDF, worker_id="looks")
    assert claim.outcome == "already_claimed"
    kind = type(claim).__mro__[1]
    return kind(**{name: getattr(claim, name) for name in kind.model_fields})  # type: ignore[attr-defined]


async def test_an_ended_lease_may_still_finish_while_nobody_has_taken_over(
    adapter: Adapter,
) -> None:
    port, of = adapter.store.artifacts, await exportable(adapter)
    slow = await port.claim_export(**of, **PDF, worker_id="slow", lease_seconds=AT_ONCE)
    done = await port.finish_export(
        **of, **PDF, claim_token=slow.claim_token, blob=blob_of(b"slow")
    )
    assert done.status == "finished"


async def test_a_failed_export_is_claimed_again_and_ends_are_final(adapter: Adapter) -> None:
    port, of = adapter.store.artifacts, await exportable(adapter)
    first = await port.claim_export(**of, **PDF, worker_id="w")
    error = {"code": "no_fonts", "detail": [1]}
    failed = await port.fail_export(**of, **PDF, claim_token=first.claim_token, error=error)  # type: ignore[arg-type]
    assert (failed.status, failed.error, failed.lease_expires_at) == ("failed", error, None)
    again = await port.fail_export(**of, **PDF, claim_token=first.claim_token, error=error)  # type: ignore[arg-type]
    assert again == failed
    for call in (
        port.fail_export(**of, **PDF, claim_token=first.claim_token, error={"code": "other"}),
        port.finish_export(**of, **PDF, claim_token=first.claim_token, blob=blob_of(b"x")),
    ):
        with pytest.raises(InvalidTransition):
            await call
    second = await port.claim_export(**of, **PDF, worker_id="w")
    assert (second.outcome, second.attempt, second.error) == ("claimed", 2, None)
    token = second.claim_token
    done = await port.finish_export(**of, **PDF, claim_token=token, blob=blob_of(b"x"))
    assert await port.finish_export(**of, **PDF, claim_token=token, blob=blob_of(b"x")) == done
    for call in (
        port.finish_export(**of, **PDF, claim_token=token, blob=blob_of(b"y")),
        port.finish_export(**of, **PDF, claim_token=token, blob=blob_of(b"x", key="other")),
        port.fail_export(**of, **PDF, claim_token=token, error={}),
    ):
        with pytest.raises(InvalidTransition):
            await call
    assert await port.find_export(**of, **PDF) == done


async def test_leases_and_errors_have_limits(adapter: Adapter) -> None:
    port, of = adapter.store.artifacts, await exportable(adapter)
    for seconds in (0, -1, 86_401, float("nan")):
        with pytest.raises(InvalidArgument) as caught:
            await port.claim_export(**of, **PDF, worker_id="w", lease_seconds=seconds)
        assert caught.value.detail["path"] == "lease_seconds"
    assert await port.find_export(**of, **PDF) is None
    claim = await port.claim_export(**of, **PDF, worker_id="w")
    with pytest.raises(LimitExceeded) as refused:
        await port.fail_export(
            **of, **PDF, claim_token=claim.claim_token, error={"k": "x" * 65_536}
        )
    assert refused.value.detail["path"] == "error"


async def test_a_worker_whose_artifact_is_gone_finds_out_b83(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for how in ("artifact", "conversation"):
        artifact = await made(store, talk)
        claim = await store.artifacts.claim_export(
            **place(artifact), version=1, format="pdf", worker_id="w"
        )
        if how == "artifact":
            await store.artifacts.purge(**place(artifact))
        else:
            await store.conversations.purge(**at(talk))
        with pytest.raises(NotFound):
            await store.artifacts.finish_export(
                **place(artifact),
                version=1,
                format="pdf",
                claim_token=claim.claim_token,
                blob=blob_of(b"late"),
            )
        assert not (await store.artifacts.purge(**place(artifact))).purged
