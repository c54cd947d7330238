"""A save that extends a transcript costs what it adds: rows, and bytes on their way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import strongroom
from strongroom.stores import transcripts as store_module
from tests.servers.databases import Database, Templates, dropped_after


@pytest.fixture
def database(templates: Templates) -> Iterator[Database]:
    with dropped_after(templates.copy()) as made:
        yield made


def rows_by_transaction(database: Database) -> list[int]:
    """How many messages each transaction has written that are still there, oldest first."""
    with database.connect() as connection:
        found = connection.execute(
            "select count(*) from strongroom.transcript_messages"
            " group by xmin order by min(position)"
        ).fetchall()
    return [int(count) for (count,) in found]


async def test_ten_thousand_messages_that_grew_by_two_write_two_rows(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []

    class Measured(store_module.Document):
        def __init__(self, value: Any) -> None:
            super().__init__(value)
            sent.append(len(value))

    place = {"tenant_id": "acme", "scope": "long"}
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        messages: list[Any] = [{"role": "user", "content": f"message {n}"} for n in range(10_000)]
        await store.transcripts.save(**place, messages=messages)
        assert rows_by_transaction(database) == [10_000]
        loaded = await store.transcripts.load(**place)
        grown = [*loaded, {"role": "user"}, {"role": "assistant"}]
        monkeypatch.setattr(store_module, "Document", Measured)
        saved = await store.transcripts.save(**place, messages=grown)
        assert (saved.kept, saved.inserted, saved.deleted) == (10_000, 2, 0)
        assert rows_by_transaction(database) == [10_000, 2]
        # The whole list is looked at here; to the database go two messages.
        assert sent == [10_002, 2]
        # A store that knows no digest sends it all, and still only the new row is written.
        with database.connect() as connection:
            connection.execute("update strongroom.transcripts set digest = null")
        saved = await store.transcripts.save(**place, messages=[*grown, "more"])
        assert (saved.kept, saved.inserted) == (10_002, 1)
        assert rows_by_transaction(database) == [10_000, 2, 1]
        assert sent == [10_002, 2, 10_003, 10_003]
        # Somebody else saves between the question and the answer: nothing of theirs is mixed in.
        head = await store.transcripts.find(**place)
        await store.transcripts.save(**place, messages=[*grown, "theirs"])
        sql = store.transcripts
        assert isinstance(sql, store_module.SqlTranscriptStore)

        async def old_head(*_: object) -> object:
            return head

        monkeypatch.setattr(sql, "_head", old_head)
        saved = await sql.save(**place, messages=[*grown, "more", "mine"])
        assert (saved.kept, saved.inserted, saved.deleted) == (10_002, 2, 1)
        assert sent[-2:] == [1, 10_004]
        assert (await sql.load(**place))[-2:] == ["more", "mine"]
