"""Listing conversations, and printing one as a person would like to read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from strongroom.importing import read_file
from strongroom.models.parts import TextPart, ToolCallPart, ToolResultPart
from tests.cli.conftest import NATIVE, Cli, run_process, write_chat
from tests.servers import Database

TALK = "travel-desk-kz-4821"


@pytest.fixture
def talk(cli: Cli) -> str:
    done = cli("import", NATIVE, "--create-tenant", "--owner", "ines")
    assert done.code == 0, done.err
    return TALK


def test_the_list_is_a_page_of_records_with_cursors(cli: Cli, talk: str, tmp_path: object) -> None:
    for number in range(4):
        file = write_chat(tmp_path / f"{number}.jsonl", 2)  # type: ignore[operator]
        cli("import", file, "--conversation", f"c{number}", "--title", f"Number {number}")
    first = cli("conversations", "list", "--limit", 3, "--json").json()
    assert [item["id"] for item in first["items"]] == ["c3", "c2", "c1"]
    assert first["previous_cursor"] is None
    rest = cli("conversations", "list", "--after", first["next_cursor"], "--json").json()
    assert [item["id"] for item in rest["items"]] == ["c0", talk]
    assert rest["next_cursor"] is None
    back = cli(
        "conversations", "list", "--limit", 3, "--before", rest["previous_cursor"], "--json"
    ).json()
    assert back["items"] == first["items"]
    owned = cli("conversations", "list", "--owner", "ines", "--json").json()["items"]
    assert [(item["id"], item["last_position"]) for item in owned] == [(talk, 25)]
    assert "Next page: --after " in cli("conversations", "list", "--limit", 3).out


def test_a_cursor_of_another_filter_is_bad_input(cli: Cli, talk: str) -> None:
    done = cli("conversations", "list", "--after", "nonsense", "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == "SR002"


def test_another_tenant_sees_nothing(cli: Cli, talk: str, tmp_path: Path) -> None:
    chat = write_chat(tmp_path / "other.jsonl", 1)
    assert cli("import", chat, "--tenant", "other", "--create-tenant").code == 0
    listed = cli("conversations", "list", "--tenant", "other", "--json")
    assert listed.code == 0
    assert len(listed.json()["items"]) == 1
    assert talk not in listed.out
    shown = cli("conversations", "show", talk, "--tenant", "other", "--json")
    assert shown.code == 4
    assert shown.json()["error"]["name"] == "not_found"


def test_a_viewer_sees_only_what_they_may(cli: Cli, talk: str) -> None:
    assert cli("conversations", "list", "--viewer", "ines", "--json").json()["items"] != []
    assert cli("conversations", "list", "--viewer", "eve", "--json").json()["items"] == []
    assert cli("conversations", "show", talk, "--viewer", "eve").code == 4


@pytest.mark.parametrize("page_size", [1, 4, 500])
def test_show_gives_every_message_whatever_the_pages(cli: Cli, talk: str, page_size: int) -> None:
    shown = cli("conversations", "show", talk, "--page-size", page_size, "--json").json()
    assert shown["conversation"]["id"] == talk
    wanted = list(read_file(NATIVE))
    assert [message["position"] for message in shown["messages"]] == list(range(1, 26))
    assert [message["id"] for message in shown["messages"]] == [message.id for message in wanted]
    texts = [
        part["text"] for m in shown["messages"] for part in m["parts"] if part["type"] == "text"
    ]
    assert texts == [p.text for m in wanted for p in m.parts if isinstance(p, TextPart)]


def test_the_newest_messages_alone(cli: Cli, talk: str) -> None:
    shown = cli("conversations", "show", talk, "--last", 3, "--json").json()
    assert [message["position"] for message in shown["messages"]] == [23, 24, 25]


def test_without_a_terminal_every_text_is_intact(database: Database, cli: Cli, talk: str) -> None:
    done = run_process("conversations", "show", talk, database=database)
    assert done.code == 0
    assert "\x1b" not in done.out
    for message in read_file(NATIVE):
        for part in message.parts:
            if isinstance(part, TextPart):
                for line in part.text.split("\n"):
                    assert line in done.out
            elif isinstance(part, ToolCallPart):
                assert f"→ {part.tool_name}(" in done.out
            elif isinstance(part, ToolResultPart):
                assert f"{'✗' if part.is_error else '←'} {part.tool_name}" in done.out
    assert done.out.count("2 tools at once") == 2


@pytest.mark.parametrize("width", [60, 80, 120])
def test_nothing_is_wider_than_the_terminal_and_no_character_is_torn(
    cli: Cli, talk: str, width: int
) -> None:
    for command in (("conversations", "list"), ("conversations", "show", talk)):
        out = cli(*command, width=width).out
        for line in out.splitlines():
            assert cell_len(line.rstrip()) <= width, line
    assert "👨‍👩‍👧‍👦" in out
    assert "🏳️‍🌈" in out
    assert "🇯🇵" in out
    listed = cli("conversations", "list", width=width).out
    assert talk in "".join(listed.split()), "ids may be folded, never cut"


def test_a_terminal_gets_colours_and_no_color_takes_them_away(
    database: Database, cli: Cli, talk: str
) -> None:
    coloured = run_process(
        "conversations", "show", talk, database=database, FORCE_COLOR="1", TERM="xterm-256color"
    )
    assert "\x1b[31m✗ " in coloured.out, "errors are red"
    assert "\x1b[2;3m┊ " in coloured.out, "reasoning is dimmed"
    plain = run_process(
        "conversations",
        "show",
        talk,
        database=database,
        FORCE_COLOR="1",
        TERM="xterm-256color",
        NO_COLOR="1",
    )
    assert "\x1b[31m" not in plain.out


def test_text_cannot_steer_the_terminal(cli: Cli, database: Database) -> None:
    with database.connect(user=database.host) as connection:
        connection.execute("select strongroom.create_tenant(p_tenant_id => 'acme', p_name => 'A')")
        connection.execute(
            "select strongroom.create_conversation(p_tenant_id => 'acme', p_owner_id => 'eve',"
            " p_conversation_id => 'evil', p_title => %s)",
            ["\x1b]0;owned\x07[bold]title"],
        )
        connection.execute(
            "select strongroom.append_messages(p_tenant_id => 'acme', p_conversation_id => 'evil',"
            """ p_messages => '[{"id": "m", "role": "user", "parts": [
                {"type": "text", "schema_version": 1, "text": "\\u001b[2Jgone [red]not markup"}]}]')"""
        )
    for command in (("conversations", "list"), ("conversations", "show", "evil")):
        out = cli(*command).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "[bold]title" in out
    assert "␛[2Jgone [red]not markup" in out


def test_an_encoding_without_these_characters_ends_nothing(
    database: Database, cli: Cli, talk: str
) -> None:
    done = run_process(
        "conversations", "show", talk, "--json", database=database, PYTHONIOENCODING="ascii"
    )
    assert done.code == 0
    assert len(done.json()["messages"]) == 25
    shown = run_process("conversations", "show", talk, database=database, PYTHONIOENCODING="ascii")
    assert shown.code == 0
    assert "\\u6771" in shown.out
