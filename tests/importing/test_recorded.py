"""The recorded conversation, in both forms: every text byte-exact, every part where it belongs."""

import json
import subprocess
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from strongroom.importing import check_file, detect_form, read_file, read_pydantic_ai

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHAT = EXAMPLES / "data" / "support.chat.jsonl"
NATIVE = EXAMPLES / "data" / "support.pydantic_ai.json"

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def chat_records():
    return [json.loads(line) for line in CHAT.read_text(encoding="utf-8").splitlines()]


def native_records():
    return json.loads(NATIVE.read_bytes())


def texts(messages, *types):
    return [part.text for m in messages for part in m.parts if part.type in types]


def parts(messages, kind):
    return [part for m in messages for part in m.parts if part.type == kind]


def test_both_forms_are_recognised_by_their_content(tmp_path):
    renamed = tmp_path / "anything.txt"
    for file, form in ((CHAT, "chat-completions"), (NATIVE, "pydantic-ai")):
        renamed.write_bytes(file.read_bytes())
        assert detect_form(renamed) == form


def test_counts_of_parts_by_type():
    chat, native = check_file(CHAT), check_file(NATIVE)
    same = {"text": 14, "reasoning": 4, "tool-call": 8, "tool-result": 8}
    assert chat.parts == same
    assert native.parts == same
    assert chat.messages == len(chat_records()) == 27
    # The framework answers parallel calls in one request; over the wire each answer is a message.
    assert native.messages == 25
    assert chat.title == native.title
    assert chat.title is not None
    assert chat.title.startswith("Olá! Sou a Inês Gonçalves.")
    assert len(chat.title) <= 80


def test_chat_form_keeps_every_text_byte_exact():
    messages = list(read_file(CHAT))
    records = chat_records()
    assert [m.role for m in messages] == [r["role"] for r in records]
    for message, record in zip(messages, records, strict=True):
        said = [p.text for p in message.parts if p.type == "text"]
        if record["role"] == "tool":
            (result,) = message.parts
            assert (result.tool_call_id, result.output) == (
                record["tool_call_id"],
                record["content"],
            )
        else:
            assert said == ([record["content"]] if record["content"] is not None else [])
        thought = [p.text for p in message.parts if p.type == "reasoning"]
        assert thought == ([record["reasoning_content"]] if record.get("reasoning_content") else [])
        calls = [p for p in message.parts if p.type == "tool-call"]
        for part, call in zip(calls, record.get("tool_calls", []), strict=True):
            assert part.tool_call_id == call["id"]
            assert part.tool_name == call["function"]["name"]
            assert part.input == json.loads(call["function"]["arguments"])


def test_native_form_keeps_every_text_and_tool_value():
    messages = list(read_file(NATIVE))
    recorded = [part for record in native_records() for part in record["parts"]]

    def contents(*kinds):
        return [p["content"] for p in recorded if p["part_kind"] in kinds]

    assert texts(messages, "text") == contents("system-prompt", "user-prompt", "text")
    assert texts(messages, "reasoning") == contents("thinking")
    assert [p.output for p in parts(messages, "tool-result")] == contents("tool-return")
    assert [(p.tool_call_id, p.tool_name, p.input) for p in parts(messages, "tool-call")] == [
        (p["tool_call_id"], p["tool_name"], json.loads(p["args"]))
        for p in recorded
        if p["part_kind"] == "tool-call"
    ]
    outputs = Counter(type(p.output).__name__ for p in parts(messages, "tool-result"))
    assert set(outputs) == {"dict", "list", "str"}


def test_native_form_says_which_results_were_errors():
    failed = [p for p in parts(read_file(NATIVE), "tool-result") if p.is_error]
    assert [(p.tool_name, p.provider_metadata["pydantic_ai"]["outcome"]) for p in failed] == [
        ("change_seat", "retried"),
        ("get_exchange_rate", "failed"),
    ]


def test_both_forms_tell_the_same_conversation():
    chat, native = list(read_file(CHAT)), list(read_file(NATIVE))
    for kinds in (("text",), ("reasoning",)):
        assert texts(chat, *kinds) == texts(native, *kinds)
    assert [(p.tool_call_id, p.tool_name, p.input) for p in parts(chat, "tool-call")] == [
        (p.tool_call_id, p.tool_name, p.input) for p in parts(native, "tool-call")
    ]
    assert [(p.tool_call_id, p.tool_name) for p in parts(chat, "tool-result")] == [
        (p.tool_call_id, p.tool_name) for p in parts(native, "tool-result")
    ]


def test_the_recording_holds_what_it_is_there_to_show():
    messages = list(read_file(NATIVE))
    said = "".join(texts(messages, "text"))
    for sample in (
        FAMILY,
        "cafe\u0301",
        "\U00020bb7",
        "السَّلامُ",
        "वीज़ा",
        "新宿",
        "reserva",
        "谢谢",
    ):
        assert sample in said
    calls = [sum(p.type == "tool-call" for p in m.parts) for m in messages]
    assert calls.count(2) == 2
    assert sum(m.role == "user" for m in messages) == 6


def leaves(value):
    """Every text, number and boolean of a JSON value."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [(type(value).__name__, value)]


def test_nothing_of_the_native_form_is_dropped():
    """Whatever the framework wrote is somewhere: usage, models, times, ids, states, outcomes."""
    messages = list(read_file(NATIVE))
    kept = Counter(
        leaf
        for m in messages
        for held in (m.metadata, *(p.model_dump(mode="json") for p in m.parts))
        for leaf in leaves(held)
    )
    records = native_records()
    for record in records:
        for part in record["parts"]:
            if part["part_kind"] == "tool-call":
                part["args"] = json.loads(part["args"])
            del part["part_kind"]  # it became the type of the part
    kinds = {"request", "response"}
    wanted = Counter(leaf for leaf in leaves(records) if leaf[1] not in kinds)
    missing = wanted - kept
    assert not missing


def test_the_framework_need_not_be_installed():
    program = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "import strongroom.importing as i; print(i.check_file(sys.argv[1]).messages)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(NATIVE)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "25", done.stderr


def installed_framework():
    try:
        return version("pydantic-ai-slim")
    except PackageNotFoundError:
        return None


@pytest.mark.skipif(
    installed_framework() is None,
    reason="recording needs pydantic-ai: pip install 'strongroom[examples]'",
)
def test_recording_again_gives_the_same_files(tmp_path):
    recorder = EXAMPLES / "record" / "record_conversation.py"
    subprocess.run(
        [sys.executable, str(recorder), "--into", str(tmp_path)], check=True, capture_output=True
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == [CHAT.name, NATIVE.name]
    recorded_with = next(
        line.split('"')[1]
        for line in recorder.read_text(encoding="utf-8").splitlines()
        if line.startswith("RECORDED_WITH")
    )
    for file in (CHAT, NATIVE):
        again = tmp_path / file.name
        if installed_framework() == recorded_with:
            assert again.read_bytes() == file.read_bytes()
        # Another version may write other fields, but never another conversation.
        assert [m.id for m in read_file(again)] == [m.id for m in read_file(file)]


def test_the_installed_framework_reads_its_form_as_we_do():
    pytest.importorskip(
        "pydantic_ai", reason="needs pydantic-ai: pip install 'strongroom[examples]'"
    )
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    loaded = ModelMessagesTypeAdapter.validate_json(NATIVE.read_bytes())
    again = ModelMessagesTypeAdapter.dump_json(loaded)
    ours = [m.id for m in read_pydantic_ai(again, conversation_id="c")]
    assert ours == [m.id for m in read_pydantic_ai(NATIVE.read_bytes(), conversation_id="c")]
