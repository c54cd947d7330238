"""Bad files: the error names the file, the line and the field, before anything is written."""

import json

import pytest

from strongroom.errors import InvalidArgument, InvalidText, LimitExceeded
from strongroom.importing import check_file, detect_form, read_chat_completions, read_file

GOOD = '{"role": "user", "content": "hello"}'
CALL = {"id": "k1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def message(**fields):
    return json.dumps(fields)


FAULTS = [
    # (line, error, path, part of the reason)
    ('{"role": "user", "content": ', InvalidArgument, "", "is not JSON"),
    ('{"role": "user", "content": NaN}', InvalidArgument, "", "NaN is not JSON"),
    (
        '{"role": "user", "role": "tool", "content": "x"}',
        InvalidArgument,
        "",
        "'role' stands twice",
    ),
    ('{"role": "user", "content": "x", "score": 1e999}', InvalidArgument, "score", "inf"),
    ('{"role": "user", "content": "x"} {}', InvalidArgument, "", "is not JSON"),
    ("[1, 2]", InvalidArgument, "", "must be a JSON object, not a list"),
    ("null", InvalidArgument, "", "must be a JSON object, not null"),
    ("[" * 5000 + "]" * 5000, InvalidArgument, "", "nested"),
    (message(content="x"), InvalidArgument, "role", "is required"),
    (message(role="robot", content="x"), InvalidArgument, "role", "'robot' is not one of"),
    (message(role="function", name="f", content="x"), InvalidArgument, "role", "'function'"),
    (message(role=3, content="x"), InvalidArgument, "role", "must be a string, not a number"),
    (message(role="user", content=3), InvalidArgument, "content", "must be a list, not a number"),
    (message(role="user", content=["x"]), InvalidArgument, "content[0]", "must be a JSON object"),
    (
        message(role="user", content=[{"type": "text", "text": "a"}, {"type": "hologram"}]),
        InvalidArgument,
        "content[1].type",
        "'hologram' is not one of",
    ),
    (
        message(role="user", content=[{"type": "text"}]),
        InvalidArgument,
        "content[0].text",
        "required",
    ),
    (
        message(role="user", content=[{"type": "image_url", "image_url": {}}]),
        InvalidArgument,
        "content[0].image_url.url",
        "is required",
    ),
    (
        message(role="user", content=[{"type": "file", "file": {"filename": "a.pdf"}}]),
        InvalidArgument,
        "content[0].file",
        "file_data or file_id",
    ),
    (
        message(
            role="user",
            content=[
                {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "!" * 9000}}
            ],
        ),
        InvalidArgument,
        "content[0].image_url.url",
        "is not base64",
    ),
    (
        message(
            role="user",
            content=[
                {"type": "image_url", "image_url": {"url": "https://a.example/" + "x" * 9000}}
            ],
        ),
        LimitExceeded,
        "content[0].image_url.url",
        "url",
    ),
    (message(role="tool", content="x"), InvalidArgument, "tool_call_id", "is required"),
    (message(role="tool", tool_call_id="k9", content="x"), InvalidArgument, "tool_call_id", "'k9'"),
    (message(role="tool", tool_call_id="k9", name="f"), InvalidArgument, "content", "is required"),
    (
        message(role="tool", tool_call_id="", name="f", content="x"),
        InvalidArgument,
        "",
        "tool_call_id",
    ),
    (message(role="assistant", tool_calls={}), InvalidArgument, "tool_calls", "must be a list"),
    (
        message(role="assistant", tool_calls=[{**CALL, "id": None}]),
        InvalidArgument,
        "tool_calls[0].id",
        "is required",
    ),
    (
        message(role="assistant", tool_calls=[CALL, {"id": "k2", "function": {"arguments": "{}"}}]),
        InvalidArgument,
        "tool_calls[1].function.name",
        "is required",
    ),
    (
        message(role="assistant", tool_calls=[{"id": "k2", "function": {"name": "f"}}]),
        InvalidArgument,
        "tool_calls[0].function.arguments",
        "is required",
    ),
    (
        message(role="assistant", tool_calls=[{"id": "k2", "type": "spell"}]),
        InvalidArgument,
        "tool_calls[0].type",
        "'spell' is not one of",
    ),
    (
        message(role="assistant", tool_calls=[{**CALL, "id": "k" * 256}]),
        LimitExceeded,
        "tool_calls[0]",
        "tool_call_id",
    ),
    (
        message(role="assistant", function_call={"name": "f", "arguments": "{}"}),
        InvalidArgument,
        "function_call",
        "older form",
    ),
    ('{"role": "user", "content": "a\\u0000b"}', InvalidText, "content", "U+0000"),
    ('{"role": "user", "content": "a\\ud83d"}', InvalidText, "content", "U+D83D"),
    ('{"role": "user", "content": "\\ude00\\ud83d"}', InvalidText, "content", "U+DE00"),
    ('{"role": "user", "content": "x", "k\\u0000": 1}', InvalidText, " (a key)", "U+0000"),
    (
        '{"role": "user", "content": "x", "meta": {"a": ["\\udfff"]}}',
        InvalidText,
        "meta.a[0]",
        "U+DFFF",
    ),
    ('{"role": "user", "content": "a\0b"}', InvalidText, "", "U+0000"),
    (
        message(
            role="assistant",
            tool_calls=[{"id": "k", "function": {"name": "f", "arguments": '{"a": "\\u0000"}'}}],
        ),
        InvalidText,
        "tool_calls[0].function.arguments.a",
        "U+0000",
    ),
    (message(role="user", content="x" * 1024 * 1024), LimitExceeded, "", "1048576"),
    (message(role="user", content="é" * 600_000), LimitExceeded, "", "1048576"),
    (" " * (8 * 1024 * 1024 + 1), LimitExceeded, "", "8388608"),
]


@pytest.mark.parametrize(
    ("line", "error", "path", "reason"),
    FAULTS,
    ids=[f"{i:02}-{f[3][:24]}" for i, f in enumerate(FAULTS)],
)
def test_faults_name_file_line_and_field(tmp_path, line, error, path, reason):
    file = tmp_path / "talk.jsonl"
    file.write_text(f"{GOOD}\n\n{line}\n{GOOD}\n", encoding="utf-8")
    with pytest.raises(InvalidArgument) as caught:
        check_file(file)
    assert type(caught.value) is error
    detail = caught.value.detail
    assert (detail["file"], detail["line"], detail["path"]) == (str(file), 3, path)
    assert reason in detail["reason"]
    assert f"{file}: line 3: " in caught.value.message
    assert len(caught.value.message) < 600 + len(str(file))


def test_bytes_that_are_not_utf8_are_refused_by_line(tmp_path):
    file = tmp_path / "latin.jsonl"
    file.write_bytes(GOOD.encode() + b"\n" + '{"role": "user", "content": "é"}'.encode("latin-1"))
    with pytest.raises(InvalidArgument, match="line 2: byte 30 is not UTF-8"):
        check_file(file)


def test_a_byte_order_mark_is_no_fault(tmp_path):
    file = tmp_path / "bom.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert check_file(file).messages == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "holds no message"),
        ("\n \n", "holds no message"),
        ("[]", "holds no message"),
        ("hello", "is not JSON"),
        ('{"messages": []}', "neither"),
        (f"[{GOOD}]", "is a list of chat messages"),
        ("[1]", "is not a request or response"),
    ],
)
def test_files_of_no_known_form_are_refused(tmp_path, content, reason):
    file = tmp_path / "file"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=reason) as caught:
        detect_form(file)
    assert caught.value.detail["file"] == str(file)


def test_a_file_that_is_not_there_is_a_typed_error(tmp_path):
    for path in (tmp_path / "absent.jsonl", tmp_path):
        with pytest.raises(InvalidArgument, match="cannot be read"):
            check_file(path)
        for form in ("chat-completions", "pydantic-ai"):
            with pytest.raises(InvalidArgument, match="cannot be read"):
                list(read_file(path, form=form, conversation_id="c"))


def test_the_replace_policy_puts_u_fffd_and_nothing_else_changes():
    lines = [
        '{"role": "user", "content": "a\\u0000b \\ud83d \\ud83d\\ude00", "k\\u0000": "\\ude00"}',
        message(
            role="assistant",
            tool_calls=[{"id": "k", "function": {"name": "f", "arguments": '{"a": "\\ud83d"}'}}],
        ),
    ]
    user, assistant = read_chat_completions(lines, conversation_id="c", text_policy="replace")
    assert user.parts[0].text == "a\ufffdb \ufffd \U0001f600"
    assert user.metadata == {"chat_completions": {"k\ufffd": "\ufffd"}}
    assert assistant.parts[0].input == {"a": "\ufffd"}


def test_lines_are_streamed_and_not_collected():
    taken = []

    def endless():
        number = 0
        while True:
            number += 1
            taken.append(number)
            yield message(role="user", content=str(number))

    reader = read_chat_completions(endless(), conversation_id="c")
    assert [next(reader).parts[0].text for _ in range(3)] == ["1", "2", "3"]
    assert taken == [1, 2, 3]
