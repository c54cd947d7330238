"""Ids: the same file gives the same ids, a grown file only new ones, no two messages one."""

import json
import shutil
from pathlib import Path

import pytest

from strongroom.errors import InvalidArgument
from strongroom.importing import (
    check_file,
    conversation_id_for,
    read_chat_completions,
    read_file,
    read_pydantic_ai,
)

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
CHAT = DATA / "support.chat.jsonl"
NATIVE = DATA / "support.pydantic_ai.json"


def line(**message):
    return json.dumps(message, ensure_ascii=False) + "\n"


def ids(lines, conversation="c1"):
    return [m.id for m in read_chat_completions(lines, conversation_id=conversation)]


@pytest.mark.parametrize("file", [CHAT, NATIVE])
def test_reading_twice_gives_the_same_ids(file):
    first = [m.id for m in read_file(file)]
    assert first == [m.id for m in read_file(file)]
    assert len(set(first)) == len(first)
    summary = check_file(file)
    assert (summary.first_message_id, summary.last_message_id) == (first[0], first[-1])


def test_ids_do_not_change_between_versions():
    """Written down, because a change here would import every file a second time."""
    assert ids([line(role="user", content="Where is my parcel?")]) == [
        "a31d0030-a35b-54cc-8d66-87c307594adc"
    ]
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
    made = read_pydantic_ai([request], conversation_id="c1")
    assert [m.id for m in made] == ["509eeaca-dd86-5d1a-a4df-5d97e63662b6"]
    assert conversation_id_for(CHAT) == "1f1def50-a8bf-51b3-819e-dc931f4a8580"


def test_a_file_that_grew_by_two_lines_gives_two_new_ids(tmp_path):
    grown = tmp_path / CHAT.name
    lines = CHAT.read_bytes().splitlines(keepends=True)
    grown.write_bytes(b"".join(lines[:-2]))
    before = [m.id for m in read_file(grown)]
    conversation = conversation_id_for(grown)
    grown.write_bytes(b"".join(lines))
    after = [m.id for m in read_file(grown)]
    assert conversation_id_for(grown) == conversation
    assert after[: len(before)] == before
    assert len(set(after) - set(before)) == 2


def test_a_native_history_that_grew_keeps_its_ids(tmp_path):
    grown = tmp_path / "history.json"
    records = json.loads(NATIVE.read_bytes())
    grown.write_text(json.dumps(records[:-2]), encoding="utf-8")
    before = [m.id for m in read_file(grown)]
    after = [m.id for m in read_file(NATIVE)]
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2


def test_equal_messages_in_a_row_have_different_ids():
    yes = line(role="user", content="yes")
    made = ids([yes, yes, yes])
    assert len(set(made)) == 3


def test_an_id_stands_for_everything_up_to_it():
    tail = line(role="user", content="the same")
    assert (
        ids([line(role="user", content="a"), tail])[1]
        != ids([line(role="user", content="b"), tail])[1]
    )
    assert ids([tail], "c1") != ids([tail], "c2")
    assert ids([tail]) != ids([line(role="system", content="the same")])


def test_key_order_whitespace_and_blank_lines_change_nothing():
    plain = ['{"role":"user","content":"é","name":"ada"}\n']
    other = ["\n", '  { "name": "ada", "content": "\\u00e9", "role": "user" }\r\n', "   \n"]
    assert ids(plain) == ids(other)


def test_what_providers_add_changes_no_id():
    """A newer exporter adds fields; the conversation is still the same."""
    bare = line(role="assistant", content="Hello")
    more = line(role="assistant", content="Hello", usage={"total_tokens": 3}, created=1)
    assert ids([bare]) == ids([more])


def test_the_conversation_follows_the_file_and_not_its_folder(tmp_path):
    moved = tmp_path / "elsewhere" / CHAT.name
    moved.parent.mkdir()
    shutil.copy(CHAT, moved)
    assert conversation_id_for(moved) == conversation_id_for(CHAT)
    renamed = tmp_path / "other.jsonl"
    shutil.copy(CHAT, renamed)
    assert conversation_id_for(renamed) != conversation_id_for(CHAT)
    assert conversation_id_for(renamed, name=CHAT.name) == conversation_id_for(CHAT)
    as_bytes = conversation_id_for(CHAT.read_bytes(), form="chat-completions", name=CHAT.name)
    assert as_bytes == conversation_id_for(CHAT)


def test_what_exporters_add_does_not_change_the_conversation():
    bare = line(role="user", content="Hi").encode()
    more = line(role="user", content="Hi", created=1).encode()
    first, second = (
        conversation_id_for(c, form="chat-completions", name="a") for c in (bare, more)
    )
    assert first == second


def test_files_with_the_same_name_and_system_prompt_are_told_apart(tmp_path):
    made = []
    for question in ("Where is my parcel?", "Where is my refund?"):
        file = tmp_path / question[9:-1] / "1.jsonl"
        file.parent.mkdir()
        text = line(role="system", content="Be kind.") + line(role="user", content=question)
        file.write_text(text, encoding="utf-8")
        made.append(conversation_id_for(file))
    assert len(set(made)) == 2


def test_a_native_history_names_its_conversation(tmp_path):
    assert conversation_id_for(NATIVE) == "travel-desk-kz-4821"
    content = NATIVE.read_bytes()
    assert conversation_id_for(content, form="pydantic-ai") == "travel-desk-kz-4821"
    nameless = tmp_path / "nameless.json"
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
    nameless.write_text(json.dumps([request]), encoding="utf-8")
    derived = conversation_id_for(nameless)
    nameless.write_text(json.dumps([request, {"kind": "response", "parts": []}]), encoding="utf-8")
    assert conversation_id_for(nameless) == derived


def test_content_needs_its_form():
    with pytest.raises(InvalidArgument, match="form"):
        conversation_id_for(b"{}")
