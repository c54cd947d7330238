"""The chat-completions form: any valid list of messages survives, and nothing is dropped."""

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.importing import read_chat_completions


def read(*messages):
    lines = [json.dumps(message, ensure_ascii=False) for message in messages]
    return list(read_chat_completions(lines, conversation_id="c"))


def assistant(**fields):
    return read({"role": "assistant", **fields})[0]


def call(arguments, **more):
    return {
        "id": "k",
        "type": "function",
        "function": {"name": "f", "arguments": arguments},
        **more,
    }


# ---- any valid conversation --------------------

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(text, values, max_size=4)
said = text | st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": text}), min_size=1, max_size=3
)
spoken = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user"]), "content": said}, optional={"name": names}
)
calls = st.lists(st.tuples(names, objects), min_size=1, max_size=3)


@st.composite
def conversations(draw):
    messages = []
    for number in range(draw(st.integers(1, 4))):
        messages.append(draw(spoken))
        if draw(st.booleans()):
            made = draw(calls)
            prefix = f"call-{number}"
            messages.append(
                {
                    "role": "assistant",
                    "content": draw(st.none() | text),
                    "reasoning_content": draw(st.none() | text),
                    "tool_calls": [
                        {
                            "id": f"{prefix}-{i}",
                            "type": "function",
                            "function": {"name": name, "arguments": json.dumps(arguments)},
                        }
                        for i, (name, arguments) in enumerate(made)
                    ],
                }
            )
            messages.extend(
                {"role": "tool", "tool_call_id": f"{prefix}-{i}", "content": draw(said)}
                for i in range(len(made))
            )
        messages.append({"role": "assistant", "content": draw(said)})
    return messages


def words(content):
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content)


@given(conversations(), st.booleans())
def test_every_valid_conversation_survives(messages, ascii_only):
    lines = [json.dumps(message, ensure_ascii=ascii_only).encode() for message in messages]
    made = list(read_chat_completions(lines, conversation_id="c"))
    assert [m.role for m in made] == [m["role"] for m in messages]
    assert len({m.id for m in made}) == len(made)
    tools = {}
    for ours, theirs in zip(made, messages, strict=True):
        found = {kind: [p for p in ours.parts if p.type == kind] for kind in KINDS}
        assert sum(map(len, found.values())) == len(ours.parts) > 0
        if theirs["role"] == "tool":
            (result,) = found["tool-result"]
            assert result.output == theirs["content"]
            assert result.tool_call_id == theirs["tool_call_id"]
            assert result.tool_name == tools[theirs["tool_call_id"]]
            continue
        assert "".join(p.text for p in found["text"]) == words(theirs["content"])
        assert "".join(p.text for p in found["reasoning"]) == (
            theirs.get("reasoning_content") or ""
        )
        wanted = theirs.get("tool_calls", [])
        assert [(p.tool_call_id, p.tool_name, p.input) for p in found["tool-call"]] == [
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in wanted
        ]
        tools.update({c["id"]: c["function"]["name"] for c in wanted})
        if "name" in theirs:
            assert ours.metadata["chat_completions"]["name"] == theirs["name"]


KINDS = ("text", "reasoning", "tool-call", "tool-result")


@given(text)
def test_arguments_are_the_value_or_the_text_itself(arguments):
    (part,) = assistant(tool_calls=[call(arguments)]).parts
    marks = (part.provider_metadata or {}).get("chat_completions", {})
    try:
        value = json.loads(arguments)
    except ValueError:
        assert part.input == arguments
        assert marks["arguments_error"]
    else:
        assert part.input == value or marks


# ---- arguments that models really write --------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        '{"city": "Tok',
        "{'city': 'Tokyo'}",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": 1e400}',
        "[" * 3000,
        "[" * 200 + "]" * 200,
        "9" * 5000,
    ],
    ids=lambda text: repr(text[:16]),
)
def test_arguments_that_are_not_json_are_kept_as_text_and_marked(arguments):
    (part,) = assistant(tool_calls=[call(arguments)]).parts
    assert part.input == arguments
    assert part.provider_metadata["chat_completions"]["arguments_error"]


def test_a_number_that_a_double_cannot_hold_keeps_the_text_beside_the_value():
    arguments = '{"rate": 0.12345678901234567890123}'
    (part,) = assistant(tool_calls=[call(arguments)]).parts
    assert part.input == {"rate": pytest.approx(0.123456789)}
    assert part.provider_metadata == {"chat_completions": {"arguments": arguments}}
    (part,) = assistant(tool_calls=[call('{"rate": 0.1, "big": 123456789012345678901}')]).parts
    assert part.input == {"rate": 0.1, "big": 123456789012345678901}
    assert part.provider_metadata is None


def test_arguments_that_are_a_json_string_are_not_taken_for_broken_ones():
    (part,) = assistant(tool_calls=[call('"{"')]).parts
    assert (part.input, part.provider_metadata) == ("{", None)


def test_arguments_may_be_an_object_already():
    (part,) = assistant(tool_calls=[call({"city": "Tokyo"})]).parts
    assert part.input == {"city": "Tokyo"}
    assert part.provider_metadata == {"chat_completions": {"arguments_form": "object"}}


def test_a_custom_tool_call_keeps_its_text():
    custom = {"id": "k", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    (part,) = assistant(tool_calls=[custom]).parts
    assert (part.tool_name, part.input) == ("sql", "select 1")
    assert part.provider_metadata == {"chat_completions": {"type": "custom"}}


# ---- what has no place of its own is kept --------------------


def test_unknown_fields_are_kept_where_they_stood():
    (message,) = read(
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Hi", "annotations": [{"url": "https://a.example"}]}
            ],
            "tool_calls": [
                {
                    "id": "k",
                    "index": 0,
                    "function": {"name": "f", "arguments": "{}", "strict": True},
                }
            ],
            "usage": {"total_tokens": 12},
            "finish_reason": "tool_calls",
            "audio": None,
            "annotations": [],
        }
    )
    said, called = message.parts
    assert message.metadata == {
        "chat_completions": {"usage": {"total_tokens": 12}, "finish_reason": "tool_calls"}
    }
    assert said.provider_metadata == {
        "chat_completions": {"annotations": [{"url": "https://a.example"}]}
    }
    assert called.provider_metadata == {
        "chat_completions": {"index": 0, "function": {"strict": True}}
    }


def test_metadata_that_is_too_large_moves_into_the_first_part():
    logprobs = [{"token": "x" * 50, "logprob": -0.5}] * 400
    message = assistant(content="Hi", logprobs=logprobs)
    assert message.parts[0].text == "Hi"
    assert message.parts[0].provider_metadata["chat_completions"]["message"] == {
        "logprobs": logprobs
    }
    assert len(json.dumps(message.metadata)) < 200
    assert message.id == assistant(content="Hi").id


def test_developer_is_system_and_remembers_it():
    (message,) = read({"role": "developer", "content": "Be brief."})
    assert message.role == "system"
    assert message.metadata == {"chat_completions": {"role": "developer"}}


def test_the_name_in_a_message_is_never_taken_for_a_principal():
    (message,) = read({"role": "user", "content": "Hi", "name": "root"})
    assert message.author_id is None
    assert message.metadata == {"chat_completions": {"name": "root"}}


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_comes_before_the_text(key):
    message = assistant(content="42", **{key: "Let me think."})
    assert [(p.type, p.text) for p in message.parts] == [
        ("reasoning", "Let me think."),
        ("text", "42"),
    ]
    assert message.parts[0].provider_metadata == {"chat_completions": {"field": key}}


def test_reasoning_in_both_fields_is_one_part_and_nothing_is_dropped():
    message = assistant(
        content="42", reasoning_content="A", reasoning="B", reasoning_details=[{"x": 1}]
    )
    assert [p.text for p in message.parts] == ["A", "42"]
    assert message.metadata == {
        "chat_completions": {"reasoning": "B", "reasoning_details": [{"x": 1}]}
    }


def test_a_refusal_is_text_that_says_so():
    message = assistant(content=None, refusal="I cannot help with that.")
    (part,) = message.parts
    assert part.text == "I cannot help with that."
    assert part.provider_metadata == {"chat_completions": {"type": "refusal"}}


@pytest.mark.parametrize("content", [None, "", []])
def test_an_empty_message_has_one_empty_text(content):
    (part,) = assistant(content=content).parts
    assert (part.type, part.text) == ("text", "")
    parts = assistant(content=content, tool_calls=[call("{}")]).parts
    assert [p.type for p in parts] == ["tool-call"]


def test_a_tool_message_is_text_even_when_it_looks_like_json():
    _, result = read(
        {"role": "assistant", "tool_calls": [call("{}")]},
        {"role": "tool", "tool_call_id": "k", "content": '{ "a" : 1.0 }'},
    )
    assert result.parts[0].output == '{ "a" : 1.0 }'


def test_a_tool_message_may_name_its_tool_itself():
    (message,) = read({"role": "tool", "tool_call_id": "k", "name": "f", "content": None})
    assert (message.parts[0].tool_name, message.parts[0].output) == ("f", None)


# ---- files and pictures --------------------


def user_part(**part):
    return read({"role": "user", "content": [part]})[0].parts[0]


def test_a_picture_by_address():
    part = user_part(
        type="image_url", image_url={"url": "https://a.example/p.PNG?x=1", "detail": "low"}
    )
    assert (part.type, part.url, part.media_type) == (
        "image",
        "https://a.example/p.PNG?x=1",
        "image/png",
    )
    assert part.provider_metadata["chat_completions"]["image_url"] == {"detail": "low"}


def test_a_small_picture_in_a_data_url_stays_there():
    url = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
    part = user_part(type="image_url", image_url={"url": url})
    assert (part.type, part.url, part.media_type) == ("image", url, "image/gif")


def test_a_large_picture_is_addressed_by_its_hash_and_kept():
    raw = bytes(range(256)) * 100
    url = "data:image/png;base64," + base64.b64encode(raw).decode()
    part = user_part(type="image_url", image_url={"url": url})
    assert part.url == f"urn:sha256:{hashlib.sha256(raw).hexdigest()}"
    assert part.provider_metadata["chat_completions"]["data_url"] == url


def test_audio_and_files_become_file_parts():
    audio = user_part(type="input_audio", input_audio={"data": "AAAA", "format": "wav"})
    assert (audio.type, audio.url, audio.media_type) == (
        "file",
        "data:audio/wav;base64,AAAA",
        "audio/wav",
    )
    file = user_part(type="file", file={"filename": "a.pdf", "file_data": "AAAA"})
    assert (file.type, file.name, file.media_type) == ("file", "a.pdf", "application/pdf")
    assert file.url == "data:application/pdf;base64,AAAA"


def test_a_file_id_of_the_provider_is_never_taken_for_one_of_ours():
    part = user_part(type="file", file={"file_id": "file-abc"})
    assert part.file_id is None
    assert part.url == "urn:chat_completions:file:file-abc"
    assert part.provider_metadata["chat_completions"]["file"] == {"file_id": "file-abc"}
