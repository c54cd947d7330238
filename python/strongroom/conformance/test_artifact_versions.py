"""Versions of artifacts: their content, immutable and contiguous, and where it comes from."""

from __future__ import annotations

import asyncio
import hashlib
import random
import string

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_artifacts import blob_of
from strongroom.conformance.helpers import (
    at,
    new_talk,
)
from strongroom.conformance.test_artifacts import made, place, plain
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidText,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from strongroom.models import (
    AddedArtifactVersion,
    BlobRef,
    Provenance,
)
from strongroom.models.base import JsonValue

INLINE_BYTES = 4_194_304


# Content


async def test_content_comes_back_with_its_size_and_digest(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    texts = ["", "Grüße 🌍\r\n\u2028", "x" * 100_000]
    for number, text in enumerate(texts):
        artifact = await store.artifacts.create(**at(talk), name=f"t{number}", text=text)
        version = await store.artifacts.get_version(**place(artifact))
        stored = text.encode()
        assert (version.text, version.value, version.blob_key) == (text, None, None)
        assert (version.kind, version.media_type) == ("text", "text/plain")
        assert (version.size_bytes, version.sha256) == (
            len(stored),
            hashlib.sha256(stored).hexdigest(),
        )
    blob = BlobRef(key="b/" + "k" * 1_022, sha256="0f" * 32, size_bytes=2**53 - 1)
    artifact = await store.artifacts.create(
        **at(talk), name="big.zip", blob=blob, media_type="application/zip"
    )
    version = await store.artifacts.get_version(**place(artifact))
    assert (version.kind, version.media_type) == ("blob", "application/zip")
    assert (version.blob_key, version.sha256, version.size_bytes) == (
        blob.key,
        blob.sha256,
        blob.size_bytes,
    )
    assert (version.text, version.value) == (None, None)


JSON_TEXTS: list[tuple[JsonValue, str]] = [
    ({"bb": 1, "a": [True, None], "ä": {}}, '{"a": [true, null], "bb": 1, "ä": {}}'),
    ({"b": 1.50, "a": 1e22, "c": -0.0}, '{"a": 10000000000000000000000, "b": 1.5, "c": 0.0}'),
    (1e-7, "0.0000001"),
    (10**30, "1" + "0" * 30),
    ('\u0001\b\f\n\r\t"\\/\x7f🌍\u2028', '"\\u0001\\b\\f\\n\\r\\t\\"\\\\/\x7f🌍\u2028"'),
    ([], "[]"),
    (False, "false"),
]


@pytest.mark.parametrize("number", range(len(JSON_TEXTS)))
async def test_json_is_hashed_as_jsonb_writes_it(adapter: Adapter, number: int) -> None:
    value, written = JSON_TEXTS[number]
    store = adapter.store
    artifact = await store.artifacts.create(**at(await new_talk(store)), name="j", value=value)
    version = await store.artifacts.get_version(**place(artifact))
    assert (version.kind, version.media_type, version.text) == ("json", "application/json", None)
    assert version.value == value
    assert version.size_bytes == len(written.encode())
    assert version.sha256 == hashlib.sha256(written.encode()).hexdigest()


async def test_there_is_exactly_one_content(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    artifact = await made(store, talk)
    blob = blob_of(b"x")
    contents: list[tuple[str | None, JsonValue, BlobRef | None]] = [
        (None, None, None),
        ("x", 1, None),
        ("x", None, blob),
        (None, 1, blob),
        ("", 0, blob),
    ]
    for text, value, both in contents:
        for call in (
            store.artifacts.create(**at(talk), name="b", text=text, value=value, blob=both),
            store.artifacts.add_version(
                **place(artifact), expected_latest=1, text=text, value=value, blob=both
            ),
        ):
            with pytest.raises(InvalidArgument) as caught:
                await call
            assert caught.value.detail["path"] == "text"
    assert (await store.artifacts.list(**at(talk))).items == (plain(artifact),)


async def test_inline_content_has_at_most_4_mib_b89(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    largest = "ä" * (INLINE_BYTES // 2)
    artifact = await store.artifacts.create(**at(talk), name="a", text=largest)
    version = await store.artifacts.get_version(**place(artifact))
    assert version.text == largest
    contents: list[tuple[str, str | None, JsonValue]] = [
        ("text", largest + "x", None),
        ("value", None, "x" * (INLINE_BYTES - 1)),
    ]
    for path, text, value in contents:
        for call in (
            store.artifacts.create(**at(talk), name="b", text=text, value=value),
            store.artifacts.add_version(
                **place(artifact), expected_latest=1, text=text, value=value
            ),
        ):
            with pytest.raises(LimitExceeded) as caught:
                await call
            assert caught.value.detail["path"] == path
            assert caught.value.detail["limit"] == INLINE_BYTES
            assert "blob" in str(caught.value.hint)
    assert [a.latest_version for a in (await store.artifacts.list(**at(talk))).items] == [1]


async def test_text_and_names_that_cannot_be_stored_are_refused_b47_b49_b51(
    adapter: Adapter,
) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    artifact = await made(store, talk)
    for bad in ("a\x00b", "cut \ud83d"):
        for path, call in (
            ("text", store.artifacts.create(**at(talk), name="b", text=bad)),
            ("value.k[0]", store.artifacts.create(**at(talk), name="b", value={"k": [bad]})),
            ("name", store.artifacts.create(**at(talk), name=bad, text="x")),
            ("title", store.artifacts.create(**at(talk), name="b", title=bad, text="x")),
            (
                "text",
                store.artifacts.add_version(**place(artifact), expected_latest=1, text=bad),
            ),
            (
                "provenance.run_id",
                store.artifacts.create(
                    **at(talk), name="b", text="x", provenance=Provenance(run_id=bad)
                ),
            ),
            (
                "changes.title",
                store.artifacts.update(**place(artifact), title=bad, expected_version=1),
            ),
        ):
            with pytest.raises(InvalidText) as caught:
                await call
            assert caught.value.detail["path"] == path
    with pytest.raises(InvalidArgument) as refused:
        await store.artifacts.create(**at(talk), name="b", value={"a": b"\xff"})  # type: ignore[dict-item]
    assert refused.value.detail["path"].endswith("value.a")
    assert (await store.artifacts.list(**at(talk))).items == (plain(artifact),)


async def test_ids_and_names_have_1_to_255_characters_b53(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    longest = "".join(random.choices("😀😁😂🤣😃😄", k=255))
    artifact = await store.artifacts.create(
        **at(talk), name=longest, artifact_id=longest, title=longest, text="x", media_type=longest
    )
    await store.artifacts.claim_export(
        **place(artifact), version=1, format=longest, worker_id=longest
    )
    page = await store.artifacts.list(**at(talk), name_prefix=longest)
    assert [a.id for a in page.items] == [longest]
    long = "".join(random.choices(string.ascii_letters, k=5_000))
    for path, call in (
        ("name", store.artifacts.create(**at(talk), name=long, text="x")),
        ("artifact_id", store.artifacts.create(**at(talk), name="b", artifact_id=long, text="x")),
        ("title", store.artifacts.create(**at(talk), name="b", title=long, text="x")),
        ("media_type", store.artifacts.create(**at(talk), name="b", text="x", media_type=long)),
        ("name_prefix", store.artifacts.list(**at(talk), name_prefix=long)),
        (
            "format",
            store.artifacts.claim_export(**place(artifact), version=1, format=long, worker_id="w"),
        ),
    ):
        with pytest.raises(LimitExceeded) as caught:
            await call
        assert caught.value.detail["path"] == path
    with pytest.raises(LimitExceeded) as caught:
        BlobRef(key="k" * 1_025, sha256="0" * 64, size_bytes=0)
    assert caught.value.detail["path"].endswith("key")
    for wrong in ({"sha256": "F" * 64}, {"sha256": "0" * 63}, {"size_bytes": -1}, {"key": ""}):
        with pytest.raises(InvalidArgument):
            BlobRef(**{"key": "k", "sha256": "0" * 64, "size_bytes": 0, **wrong})
    with pytest.raises(InvalidArgument):
        await store.artifacts.list(**at(talk), name_prefix="")


# Versions


async def test_versions_are_1_2_3_and_never_change(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    for number in range(1, 6):
        added = await store.artifacts.add_version(
            **place(artifact), expected_latest=number, text=str(number + 1)
        )
        assert (added.version, added.outcome) == (number + 1, "inserted")
    kept = [
        (await store.artifacts.get_version(**place(artifact), version=number)).text
        for number in range(1, 7)
    ]
    assert kept == ["a.md", "2", "3", "4", "5", "6"]
    assert (await store.artifacts.get_version(**place(artifact))).version == 6
    current = await store.artifacts.get(**place(artifact))
    assert (current.latest_version, current.version) == (6, 1)
    assert current.updated_at > artifact.updated_at
    for absent in (7, 2**31 - 1):
        with pytest.raises(NotFound):
            await store.artifacts.get_version(**place(artifact), version=absent)
    heads = (await store.artifacts.list_versions(**place(artifact))).items
    assert [head.version for head in heads] == [1, 2, 3, 4, 5, 6]
    assert not {"text", "value", "content"} & set(type(heads[0]).model_fields)


async def test_a_version_on_top_of_an_old_one_is_refused(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    await store.artifacts.add_version(**place(artifact), expected_latest=1, text="two")
    for stale in (1, 3, 99):
        with pytest.raises(VersionConflict) as caught:
            await store.artifacts.add_version(**place(artifact), expected_latest=stale, text="x")
        assert caught.value.detail["current_version"] == 2
    assert len((await store.artifacts.list_versions(**place(artifact))).items) == 2


async def test_of_versions_added_at_once_one_wins(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    for latest in range(1, 4):
        results = await asyncio.gather(
            *(
                store.artifacts.add_version(
                    **place(artifact), expected_latest=latest, text=str(writer)
                )
                for writer in range(4)
            ),
            return_exceptions=True,
        )
        won = [result for result in results if isinstance(result, AddedArtifactVersion)]
        lost = [result for result in results if isinstance(result, VersionConflict)]
        assert (len(won), len(lost)) == (1, 3)
        assert won[0].version == latest + 1
    assert [v.version for v in (await store.artifacts.list_versions(**place(artifact))).items] == [
        1,
        2,
        3,
        4,
    ]


async def test_a_repeated_version_is_known(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    source = Provenance(source_artifact_id=artifact.id, source_version=1)
    first = await store.artifacts.add_version(
        **place(artifact),
        expected_latest=1,
        version_id="v",
        value={"a": 1, "b": 2},
        provenance=source,
    )
    await store.artifacts.add_version(**place(artifact), expected_latest=2, text="three")
    again = await store.artifacts.add_version(
        **place(artifact),
        expected_latest=1,
        version_id="v",
        value={"b": 2, "a": 1},
        provenance=source,
    )
    assert again == first.replace(outcome="duplicate")
    for call in (
        store.artifacts.add_version(
            **place(artifact),
            expected_latest=3,
            version_id="v",
            value={"a": 1, "b": 3},
            provenance=source,
        ),
        store.artifacts.add_version(
            **place(artifact), expected_latest=3, version_id="v", value={"a": 1, "b": 2}
        ),
        store.artifacts.add_version(
            **place(artifact),
            expected_latest=3,
            version_id="v",
            text='{"a": 1, "b": 2}',
            provenance=source,
        ),
    ):
        with pytest.raises(AlreadyExists) as caught:
            await call
        assert caught.value.detail["path"] == "version_id"
    assert (await store.artifacts.get(**place(artifact))).latest_version == 3


async def test_provenance_is_kept_when_what_it_names_is_gone(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    source = await made(store, talk, "source.md")
    provenance = Provenance(
        run_id="a run",
        message_id="a message",
        tool_call_id="a call",
        source_artifact_id=source.id,
        source_version=1,
    )
    derived = await store.artifacts.create(
        **at(talk), name="derived.md", text="x", provenance=provenance
    )
    assert (await store.artifacts.purge(**place(source))).purged
    version = await store.artifacts.get_version(**place(derived))
    assert {name: getattr(version, name) for name in Provenance.model_fields} == dict(provenance)
    assert await store.artifacts.find(**place(source)) is None
    for half in (
        Provenance(source_artifact_id=source.id),
        Provenance(source_version=1),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await store.artifacts.create(**at(talk), name="b", text="x", provenance=half)
        assert caught.value.detail["path"] == "provenance.source_version"
