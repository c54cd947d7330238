"""Importing: everything checked first, nothing twice, never beside what is stored."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from strongroom.importing import check_file
from tests.cli.conftest import CHAT, NATIVE, Cli, command_line, environment, run_process, write_chat
from tests.servers import Database, eventually


def stored(database: Database, conversation_id: str) -> list[tuple[int, str, str]]:
    with database.connect() as connection:
        return connection.execute(
            "select position, id, parts -> 0 ->> 'text' from strongroom.messages"
            " where conversation_id = %s order by position",
            [conversation_id],
        ).fetchall()


@pytest.mark.parametrize(
    ("file", "form", "count"), [(CHAT, "chat-completions", 27), (NATIVE, "pydantic-ai", 25)]
)
def test_a_second_import_inserts_nothing_and_says_so(
    cli: Cli, database: Database, file: Path, form: str, count: int
) -> None:
    first = cli("import", file, "--create-tenant", "--json")
    assert first.code == 0, first.err
    assert first.err == ""
    report = first.json()
    assert report == {
        "file": str(file),
        "form": form,
        "tenant_id": "acme",
        "conversation_id": check_file(file).conversation_id,
        "messages": count,
        "tenant_created": True,
        "conversation_created": True,
        "already_stored": 0,
        "newer": 0,
        "inserted": count,
        "duplicates": 0,
        "conflicts": [],
    }
    before = stored(database, report["conversation_id"])
    assert [position for position, _, _ in before] == list(range(1, count + 1))
    again = cli("import", file, "--json").json()
    assert (again["inserted"], again["already_stored"]) == (0, count)
    assert (again["tenant_created"], again["conversation_created"]) == (False, False)
    told = cli("import", file)
    assert told.code == 0
    assert f"Nothing to insert: all {count} messages are there already." in told.out
    assert stored(database, report["conversation_id"]) == before


def test_a_file_that_grew_inserts_the_rest(cli: Cli, database: Database, tmp_path: Path) -> None:
    file = write_chat(tmp_path / "talk.jsonl", 7)
    first = cli("import", file, "--create-tenant", "--json").json()
    write_chat(file, 5, start=7)
    more = cli("import", file, "--batch", 2, "--json").json()
    assert more["conversation_id"] == first["conversation_id"]
    assert (more["already_stored"], more["inserted"]) == (7, 5)
    texts = [text for _, _, text in stored(database, first["conversation_id"])]
    assert texts == [f"Message {number}" for number in range(12)]


def test_a_shorter_copy_of_the_file_finds_all_of_it_and_names_the_newer_ones(
    cli: Cli, tmp_path: Path
) -> None:
    file = write_chat(tmp_path / "talk.jsonl", 9)
    cli("import", file, "--create-tenant")
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:4]))
    told = cli("import", file)
    assert told.code == 0
    assert "all 4 messages are there already, and 5 newer ones" in told.out


@pytest.mark.parametrize("position", [1, 3, 5])
def test_a_conversation_that_differs_anywhere_is_refused_before_writing(
    cli: Cli, database: Database, tmp_path: Path, position: int
) -> None:
    file = write_chat(tmp_path / "talk.jsonl", 5)
    talk = cli("import", file, "--create-tenant", "--conversation", "talk", "--json").json()
    before = stored(database, talk["conversation_id"])
    lines = file.read_text().splitlines(keepends=True)
    lines[position - 1] = lines[position - 1].replace("Message", "Edited message")
    file.write_text("".join(lines) + json.dumps({"role": "user", "content": "More"}) + "\n")
    refused = cli("import", file, "--conversation", "talk", "--json")
    assert refused.code == 1
    error = refused.json()["error"]
    assert error["code"] == "SR011"
    assert error["detail"]["position"] == 5
    assert "--conversation ID" in error["hint"]
    assert "holds other messages" in refused.err
    assert stored(database, talk["conversation_id"]) == before
    elsewhere = cli("import", file, "--conversation", "another", "--json").json()
    assert elsewhere["inserted"] == 6


def test_a_message_that_someone_appended_meanwhile_is_reported(
    cli: Cli, database: Database, tmp_path: Path
) -> None:
    file = write_chat(tmp_path / "talk.jsonl", 6)
    cli("import", file, "--create-tenant", "--conversation", "talk")
    write_chat(file, 40, start=6)
    part = {"type": "text", "schema_version": 1, "text": "Between"}
    between = [{"id": "x", "role": "user", "parts": [part]}]
    with database.connect(user=database.host) as writer:
        with writer.transaction():
            # Its append is done, but not committed: the import waits behind it for the same row.
            writer.execute(
                "select * from strongroom.append_messages(p_tenant_id => 'acme',"
                " p_conversation_id => 'talk', p_messages => %s)",
                [json.dumps(between)],
            )
            importing = start_import(database, file, "--batch", 10, "--json")
            wait_until_blocked(database, 1)
        out, err = importing.communicate(timeout=60)
    assert importing.returncode == 1, err
    conflicts = json.loads(out)["conflicts"]
    assert [(c["number"], c["conflict"]) for c in conflicts] == [
        (number, "other-position") for number in range(7, 17)
    ]
    assert len(stored(database, "talk")) == 6 + 1 + 10, "it stopped at that batch"


def start_import(database: Database, file: Path, *options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command_line("import", file, "--conversation", "talk", *options),
        env=environment(database),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_blocked(database: Database, count: int) -> None:
    with database.connect() as connection:
        eventually(
            lambda: (
                connection.execute(
                    "select count(*) from pg_stat_activity"
                    " where datname = current_database() and wait_event_type = 'Lock'"
                ).fetchone()
                == (count,)
            ),
            f"{count} sessions wait for a lock",
        )


def test_after_kill_9_in_the_middle_the_next_import_completes(
    cli: Cli, database: Database, tmp_path: Path
) -> None:
    file = write_chat(tmp_path / "talk.jsonl", 5000)
    summary = check_file(file, conversation_id="talk")
    cli("import", write_chat(tmp_path / "other.jsonl", 1), "--create-tenant")
    with start_import(database, file, "--batch", 5) as importing, database.connect() as holder:
        # Let it write a while, then hold the conversation, so that it is caught inside an append.
        eventually(lambda: len(stored(database, "talk")) >= 20, "the import has begun")
        with holder.transaction():
            holder.execute("select from strongroom.conversations where id = 'talk' for update")
            wait_until_blocked(database, 1)
            importing.kill()
            importing.wait(timeout=30)
    assert importing.returncode == -signal.SIGKILL
    # The append that was under way may still end, wholly; then nobody writes any more.
    with database.connect() as connection:
        eventually(
            lambda: (
                connection.execute(
                    "select count(*) from pg_stat_activity where datname = current_database()"
                    " and usename = %s",
                    [database.host],
                ).fetchone()
                == (0,)
            ),
            "the killed import's sessions are gone",
        )
    left = len(stored(database, "talk"))
    assert 20 <= left < 5000
    assert left % 5 == 0, "every append is whole or absent"
    report = cli("import", file, "--conversation", "talk", "--json").json()
    assert (report["already_stored"], report["inserted"]) == (left, 5000 - left)
    rows = stored(database, "talk")
    assert [position for position, _, _ in rows] == list(range(1, 5001))
    assert [text for _, _, text in rows] == [f"Message {number}" for number in range(5000)]
    assert rows[-1][1] == summary.last_message_id


@pytest.mark.parametrize(
    ("content", "where", "code"),
    [
        (
            '{"role": "user", "content": "fine"}\n{"role": "user", "content": 7}\n',
            "line 2",
            "SR001",
        ),
        ('{"role": "user", "content": "fine"}\n{"role": "wizard"}\n', "line 2", "SR001"),
        ('{"role": "user", "content": "fine"}\nnonsense\n', "line 2", "SR001"),
        (
            '{"role": "user", "content": "fine"}\n{"role": "user", "content": "a\\u0000b"}',
            "line 2",
            "SR003",
        ),
        ("", "holds no message", "SR001"),
    ],
)
def test_a_fault_anywhere_in_the_file_is_named_before_anything_is_written(
    cli: Cli, database: Database, tmp_path: Path, content: str, where: str, code: str
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(content)
    done = cli("import", file, "--create-tenant", "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == code
    assert where in done.err
    assert "bad.jsonl" in done.err
    assert "Traceback" not in done.err
    with database.connect() as connection:
        assert connection.execute("select count(*) from strongroom.tenants").fetchone() == (0,)


def test_text_that_cannot_be_stored_is_replaced_when_one_says_so(
    cli: Cli, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text('{"role": "user", "content": "a\\u0000b"}\n')
    report = cli("import", file, "--create-tenant", "--text-policy", "replace", "--json").json()
    assert [text for _, _, text in stored(database, report["conversation_id"])] == ["a\ufffdb"]


def test_a_tenant_is_only_created_when_one_says_so(cli: Cli) -> None:
    refused = cli("import", CHAT)
    assert refused.code == 4
    assert "--create-tenant" in refused.err


def test_a_deleted_conversation_is_not_brought_back(cli: Cli, database: Database) -> None:
    talk = cli("import", CHAT, "--create-tenant", "--json").json()["conversation_id"]
    with database.connect(user=database.host) as connection:
        connection.execute(
            "select * from strongroom.soft_delete_conversation(p_tenant_id => 'acme',"
            " p_conversation_id => %s)",
            [talk],
        )
    refused = cli("import", CHAT)
    assert refused.code == 4
    assert "is deleted" in refused.err


def test_two_imports_of_one_file_at_once_double_nothing(database: Database, tmp_path: Path) -> None:
    file = write_chat(tmp_path / "talk.jsonl", 300)
    run_process(
        "import", write_chat(tmp_path / "other.jsonl", 1), "--create-tenant", database=database
    )
    running = [start_import(database, file, "--batch", size, "--json") for size in (3, 7)]
    reports = []
    for process in running:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        reports.append(json.loads(out))
    assert sum(report["inserted"] for report in reports) == 300
    texts = [text for _, _, text in stored(database, "talk")]
    assert texts == [f"Message {number}" for number in range(300)]


def test_a_stranger_is_refused_and_writes_nothing(database: Database) -> None:
    with database.connect() as connection:
        connection.execute("create role a_stranger login")
    try:
        done = run_process(
            "import",
            CHAT,
            "--create-tenant",
            "--json",
            "--url",
            database.url(user="a_stranger"),
            database=database,
        )
        assert done.code == 4
        assert done.json()["error"]["code"] == "SR020"
        assert "Traceback" not in done.err
    finally:
        with database.connect() as connection:
            connection.execute("drop role a_stranger")


def test_nothing_is_kept_in_a_temporary_server_so_it_is_refused(cli: Cli) -> None:
    done = cli("import", CHAT, "--url", "embedded:")
    assert done.code == 2
    assert "embedded:///some/folder" in done.err
