"""The database and the models have one opinion of every message part.

What the database takes and a model refuses would be a row that no client can read; what a model
takes and the database refuses would be an error after validation.
"""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter, ValidationError

from strongroom.models.parts import PART_TYPES, MessagePart
from tests.servers import Database

PARTS: TypeAdapter[MessagePart] = TypeAdapter(MessagePart)

# Every field of every type, with a sound value.
WHOLE: dict[str, dict[str, object]] = {
    "text": {"text": "x"},
    "reasoning": {"text": "x"},
    "tool-call": {"tool_call_id": "c", "tool_name": "n", "input": {}},
    "tool-result": {"tool_call_id": "c", "tool_name": "n", "output": 1, "is_error": True},
    "question": {"question_id": "q", "text": "t", "options": ["a"]},
    "approval": {
        "approval_id": "a",
        "tool_call_id": "c",
        "tool_name": "n",
        "input": 1,
        "decision": "deny",
    },
    "file": {"media_type": "m", "file_id": "f", "url": "u", "name": "n", "size_bytes": 1},
    "image": {
        "media_type": "m",
        "file_id": "f",
        "url": "u",
        "alt": "a",
        "width": 1,
        "height": 2,
    },
    "citation": {"source_id": "s", "quote": "q", "locator": "l", "start": 1, "end": 2},
    "source": {"source_id": "s", "source_type": "t", "title": "x", "url": "u"},
    "artifact": {"artifact_id": "a", "version": 1, "title": "t", "media_type": "m"},
    "status": {"status": "s", "text": "t"},
    "error": {"code": "c", "message": "m", "retryable": True, "detail": {}},
}

VALUES = [
    *("null", "true", "0", "1", "-1", "1.0", "7.0", "1.5", "1e2", "1e40", "1e-3"),
    *("9007199254740991", "9007199254740992", "123456789012345678901234567890"),
    *('""', '" "', '"x"', '"\\n"', '"pending"', '"allow-once"', '"maybe"'),
    *(json.dumps(letter * count) for letter in "xé🦆" for count in (255, 256, 8192, 8193)),
    *("[]", '["a"]', '["a", null]', '["a", 1]', "[[]]", "{}"),
    *('{"a": {}}', '{"a": 1}', '{"a": null}', '{"a": []}', '{"": {}}', '{"a": {"b": {"c": []}}}'),
    *(json.dumps({"k" * count: {}}) for count in (255, 256)),
]


def cases() -> list[str]:
    found = []
    for kind, fields in WHOLE.items():
        whole = {"type": kind, "schema_version": 1, **fields}
        found.append(json.dumps(whole))
        for field in (*fields, "schema_version", "provider_metadata", "type", "unheard_of"):
            rest = {name: value for name, value in whole.items() if name != field}
            found.append(json.dumps(rest))
            found += [json.dumps(rest)[:-1] + f', "{field}": {value}}}' for value in VALUES]
    return found


def problems(database: Database, parts: list[str]) -> list[tuple[str, list[str] | None]]:
    """Return each part as the database would give it back, and what it finds wrong with it."""
    with database.connect() as connection:
        return connection.execute(
            """
            select c.part::jsonb::text, strongroom_private.find_part_problem(c.part::jsonb)
            from unnest(%s::text[]) with ordinality as c (part, place)
            order by c.place
            """,
            [parts],
        ).fetchall()


def model(text: str) -> MessagePart | None:
    try:
        return PARTS.validate_json(text)
    except ValidationError:
        return None


def test_every_type_is_here() -> None:
    assert set(WHOLE) == set(PART_TYPES)
    assert all(
        set(type(part).model_fields) == {*fields, "type", "schema_version", "provider_metadata"}
        for kind, fields in WHOLE.items()
        if (part := model(json.dumps({"type": kind, **fields})))
    )


def test_what_the_database_takes_every_client_can_read(database: Database) -> None:
    judged = problems(database, cases())
    taken = [stored for stored, problem in judged if problem is None]
    assert len(taken) > 500
    assert len(taken) < len(judged) / 2
    assert [stored for stored in taken if model(stored) is None] == []


@pytest.mark.parametrize("kind", PART_TYPES)
def test_what_the_models_write_the_database_takes(database: Database, kind: str) -> None:
    parts = [part for text in cases() if (part := model(text)) and part.type == kind]
    assert len(parts) > 20
    written = [part.model_dump_json(exclude_none=False) for part in parts]
    assert [problem for _, problem in problems(database, written) if problem is not None] == []
