"""The framework's own form: each kind of part has a place, an unknown one is refused by name."""

import json

import pytest

from strongroom.errors import InvalidArgument, InvalidText, LimitExceeded
from strongroom.importing import check_file, read_pydantic_ai


def request(*parts, **more):
    return {"kind": "request", "parts": list(parts), **more}


def response(*parts, **more):
    return {"kind": "response", "parts": list(parts), **more}


def part(kind, /, **fields):
    return {"part_kind": kind, **fields}


def read(*messages):
    return list(read_pydantic_ai(list(messages), conversation_id="c"))


def one_part(message):
    (made,) = read(message)
    (only,) = made.parts
    return made.role, only


def held(made):
    return (made.provider_metadata or {}).get("pydantic_ai", {})


def test_a_request_with_several_roles_becomes_several_messages_in_order():
    made = read(
        request(
            part("tool-return", tool_name="f", tool_call_id="k1", content=1),
            part("tool-return", tool_name="g", tool_call_id="k2", content=[2]),
            part("user-prompt", content="and now?"),
            instructions="Be kind.",
            run_id="r1",
        )
    )
    assert [(m.role, [p.type for p in m.parts]) for m in made] == [
        ("tool", ["tool-result", "tool-result"]),
        ("user", ["text"]),
    ]
    assert made[0].metadata == {
        "pydantic_ai": {"message": 0, "instructions": "Be kind.", "run_id": "r1"}
    }
    assert made[1].metadata == {"pydantic_ai": {"message": 0}}
    # A run of another program is no run of ours.
    assert {m.run_id for m in made} == {None}


@pytest.mark.parametrize("outcome", ["failed", "denied", "interrupted", "retried"])
def test_an_outcome_other_than_success_is_an_error(outcome):
    kinds = part("tool-return", tool_name="f", tool_call_id="k", content="no", outcome=outcome)
    role, made = one_part(request(kinds))
    assert (role, made.is_error, held(made)["outcome"]) == ("tool", True, outcome)


def test_retry_prompts_of_older_histories():
    role, made = one_part(
        request(part("retry-prompt", tool_name="f", tool_call_id="k", content=[{"msg": "bad"}]))
    )
    assert (role, made.type, made.is_error, made.output) == (
        "tool",
        "tool-result",
        True,
        [{"msg": "bad"}],
    )
    for kind in ("retry-prompt", "retry-feedback"):
        role, made = one_part(request(part(kind, content="Return JSON.", tool_name=None)))
        assert (role, made.type, made.code, made.message) == (
            "system",
            "error",
            kind,
            "Return JSON.",
        )
    _, made = one_part(
        request(part("retry-feedback", content=[{"msg": "é"}], retry={"cause": "x"}))
    )
    assert (made.detail, made.message) == ([{"msg": "é"}], '[{"msg": "é"}]')
    assert held(made) == {"retry": {"cause": "x"}}


def test_a_prompt_of_many_kinds_of_content():
    items = [
        "Look:",
        {"kind": "text-content", "content": "tagged", "metadata": {"a": 1}},
        {"kind": "structured-content", "content": "<x>1</x>", "value": {"x": 1}},
        {
            "kind": "image-url",
            "url": "https://a.example/p.jpg",
            "vendor_metadata": {"detail": "low"},
        },
        {"kind": "audio-url", "url": "https://a.example/x", "media_type": "audio/ogg"},
        {"kind": "document-url", "url": "https://a.example/d.pdf"},
        {"kind": "binary", "data": "_-8=", "media_type": "image/png"},
        {"kind": "uploaded-file", "file_id": "f1", "provider_name": "openai"},
        {"kind": "cache-point", "ttl": "5m"},
    ]
    (message,) = read(request(part("user-prompt", content=items, timestamp="2026-01-01T00:00:00Z")))
    assert message.role == "user"
    assert [p.type for p in message.parts] == [
        "text",
        "text",
        "text",
        "image",
        "file",
        "file",
        "image",
        "file",
        "status",
    ]
    assert held(message.parts[0]) == {"timestamp": "2026-01-01T00:00:00Z"}
    assert held(message.parts[1]) == {"metadata": {"a": 1}}
    assert held(message.parts[2]) == {"kind": "structured-content", "value": {"x": 1}}
    assert held(message.parts[3])["vendor_metadata"] == {"detail": "low"}
    assert [p.media_type for p in message.parts[3:8]] == [
        "image/jpeg",
        "audio/ogg",
        "application/pdf",
        "image/png",
        "application/octet-stream",
    ]
    assert message.parts[6].url == "data:image/png;base64,/+8="
    assert (message.parts[7].file_id, message.parts[7].url) == (None, "urn:openai:file:f1")
    assert (message.parts[8].status, held(message.parts[8])) == ("cache-point", {"ttl": "5m"})


def test_an_empty_prompt_keeps_its_time():
    _, made = one_part(request(part("user-prompt", content=[], timestamp="t")))
    assert (made.text, held(made)) == ("", {"timestamp": "t"})


def test_thinking_keeps_its_signature():
    role, made = one_part(response(part("thinking", content="Hm", signature="c2ln", id=None)))
    assert (role, made.type, made.text, held(made)) == (
        "assistant",
        "reasoning",
        "Hm",
        {"signature": "c2ln"},
    )


@pytest.mark.parametrize(
    ("args", "value", "marks"),
    [
        ('{"a": 1}', {"a": 1}, set()),
        ({"a": 1}, {"a": 1}, set()),
        (None, None, set()),
        ('{"a": ', '{"a": ', {"arguments_error"}),
    ],
)
def test_arguments_in_every_form(args, value, marks):
    _, made = one_part(response(part("tool-call", tool_name="f", tool_call_id="k", args=args)))
    assert made.input == value
    assert set(held(made)) == marks


def test_tools_of_the_provider_stay_with_the_assistant():
    (message,) = read(
        response(
            part("builtin-tool-call", tool_name="web_search", tool_call_id="k", args={"q": "x"}),
            part("builtin-tool-return", tool_name="web_search", tool_call_id="k", content=["y"]),
            part(
                "text", content="Found it.", citations=[{"sources": [{"url": "https://a.example"}]}]
            ),
            usage={"input_tokens": 3},
            model_name="m",
        )
    )
    assert (message.role, [p.type for p in message.parts]) == (
        "assistant",
        ["tool-call", "tool-result", "text"],
    )
    assert held(message.parts[0]) == {"part_kind": "builtin-tool-call"}
    assert held(message.parts[1]) == {"part_kind": "builtin-tool-return"}
    assert held(message.parts[2]) == {"citations": [{"sources": [{"url": "https://a.example"}]}]}
    assert message.metadata == {
        "pydantic_ai": {"message": 0, "usage": {"input_tokens": 3}, "model_name": "m"}
    }


def test_files_and_speech_of_the_model():
    content = {"kind": "binary", "data": "AAAA", "media_type": "image/webp", "identifier": "i"}
    _, made = one_part(response(part("file", content=content, id="x")))
    assert (made.type, made.url) == ("image", "data:image/webp;base64,AAAA")
    assert held(made) == {
        "part_kind": "file",
        "kind": "binary",
        "identifier": "i",
        "part": {"id": "x"},
    }
    audio = {"kind": "binary", "data": "AAAA", "media_type": "audio/wav"}
    (message,) = read(request(part("speech", speaker="user", transcript="Hello", audio=audio)))
    assert (message.role, [p.type for p in message.parts]) == ("user", ["text", "file"])
    assert message.parts[0].text == "Hello"
    assert held(message.parts[0]) == {"part_kind": "speech", "speaker": "user"}


@pytest.mark.parametrize(
    "mark",
    [
        part("compaction", content="so far: ...", provider_name="p"),
        part("instruction-baseline", instructions=[{"content": "Be kind."}]),
        part("instruction-delta", id="a", content="Be brief."),
        part("tool-availability-delta", tools_added=["f"]),
        part("capability-load-delta", loaded=["x"]),
        part("model-settings-delta", settings={"temperature": 0.5}),
    ],
    ids=lambda mark: mark["part_kind"],
)
def test_marks_are_kept_whole(mark):
    role, made = one_part(request(mark))
    assert (role, made.type, made.status) == ("system", "status", mark["part_kind"])
    kept = {**held(made), "part_kind": made.status}
    if made.text is not None:
        kept["content"] = made.text
    assert kept == mark


def test_a_response_without_parts_keeps_its_usage():
    (message,) = read(response(usage={"input_tokens": 3}))
    assert (message.role, message.parts[0].text) == ("assistant", "")
    assert message.metadata == {"pydantic_ai": {"message": 0, "usage": {"input_tokens": 3}}}


def test_long_instructions_move_into_the_first_part():
    instructions = "Be kind. " * 4000
    (message,) = read(request(part("user-prompt", content="Hi"), instructions=instructions))
    assert held(message.parts[0])["message"]["instructions"] == instructions


@pytest.mark.parametrize(
    ("document", "error", "path", "reason"),
    [
        ([1], InvalidArgument, "[0]", "must be a JSON object"),
        ([{"parts": []}], InvalidArgument, "[0].kind", "is required"),
        ([{"kind": "reply", "parts": []}], InvalidArgument, "[0].kind", "'reply'"),
        ([{"kind": "request"}], InvalidArgument, "[0].parts", "must be a list"),
        ([request({"content": "x"})], InvalidArgument, "[0].parts[0].part_kind", "is required"),
        (
            [request(part("dream", content="x"))],
            InvalidArgument,
            "[0].parts[0].part_kind",
            "'dream'",
        ),
        (
            [request(part("text", content="x"))],
            InvalidArgument,
            "[0].parts[0].part_kind",
            "request",
        ),
        (
            [request(part("user-prompt", content=3))],
            InvalidArgument,
            "[0].parts[0].content",
            "string",
        ),
        (
            [request(part("user-prompt", content=["a", {"kind": "smell"}]))],
            InvalidArgument,
            "[0].parts[0].content[1].kind",
            "'smell'",
        ),
        (
            [request(part("tool-return", tool_name="f", content=1))],
            InvalidArgument,
            "[0].parts[0].tool_call_id",
            "is required",
        ),
        (
            [request(part("tool-return", tool_name="f", tool_call_id="k"))],
            InvalidArgument,
            "[0].parts[0].content",
            "is required",
        ),
        (
            [response(), response(part("text", content="a\0"))],
            InvalidText,
            "[1].parts[0].content",
            "U+0000",
        ),
        (
            [response(part("tool-call", tool_name="f", tool_call_id="k", args='{"a": "\\ud800"}'))],
            InvalidText,
            "[0].parts[0].args.a",
            "U+D800",
        ),
        ([response(part("text", content="x" * 1024 * 1024))], LimitExceeded, "[0]", "1048576"),
        (
            [response(part("tool-call", tool_name="f" * 256, tool_call_id="k"))],
            LimitExceeded,
            "[0].parts[0]",
            "tool_name",
        ),
    ],
)
def test_faults_name_the_file_and_the_field(tmp_path, document, error, path, reason):
    file = tmp_path / "history.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InvalidArgument) as caught:
        list(read_pydantic_ai(file.read_bytes(), conversation_id="c", file=str(file)))
    assert type(caught.value) is error
    assert (caught.value.detail["file"], caught.value.detail["path"]) == (str(file), path)
    assert reason in caught.value.detail["reason"]
    with pytest.raises(InvalidArgument):
        check_file(file)


def test_broken_json_names_the_line(tmp_path):
    file = tmp_path / "history.json"
    file.write_text('[\n {"kind": "request",\n  "parts": [}\n]', encoding="utf-8")
    with pytest.raises(InvalidArgument, match="line 3: is not JSON") as caught:
        check_file(file)
    assert caught.value.detail["line"] == 3
    with pytest.raises(InvalidArgument, match="must be a JSON list"):
        list(read_pydantic_ai("{}", conversation_id="c"))


def test_the_replace_policy_holds_here_too():
    document = [response(part("text", content="a\ud83d"))]
    (message,) = read_pydantic_ai(document, conversation_id="c", text_policy="replace")
    assert message.parts[0].text == "a\ufffd"
