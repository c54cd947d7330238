"""What every record is made of: frozen models, and the types for text, JSON, ids and times.

Bad input never escapes as a pydantic error: a model that is built wrongly raises
:class:`strongroom.InvalidArgument` (or its subclass ``LimitExceeded``), which names the field.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, LiteralString, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic import JsonValue as JsonValue
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from strongroom.models.json_values import check_json, check_json_object, check_text
from strongroom.models.validation import argument_error


class _TextSchema:
    """Any Python str, lone surrogates included: the text policy decides about those at the call."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.json_or_python_schema(
            json_schema=core_schema.str_schema(strict=True),
            python_schema=core_schema.no_info_plain_validator_function(check_text),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {"type": "string"}


_INDEXED_BYTES = 765
_COMPRESSIBLE = 60  # different characters, of which a database's compression makes two thirds


class BoundedText:
    """Text with a least and a largest number of characters, lone surrogates included, as in _TextSchema.

    A plain constraint on str would refuse a lone surrogate as malformed, before the text policy could
    say what to do about it.
    """

    def __init__(self, least: int, most: int, *, is_indexed: bool = False) -> None:
        """Allow this many characters, and of a key only what fits into an index."""
        self._least = least
        self._most = most
        self._is_indexed = is_indexed

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        """Read JSON at full speed, and check what Python gives by hand."""
        return core_schema.json_or_python_schema(
            json_schema=core_schema.str_schema(
                strict=True, min_length=self._least, max_length=self._most
            ),
            python_schema=core_schema.no_info_plain_validator_function(self._check),
        )

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        """Say the limits to readers of the JSON schema."""
        return {"type": "string", "minLength": self._least, "maxLength": self._most}

    def _check(self, value: Any) -> str:
        text = check_text(value)
        if len(text) < self._least:
            raise PydanticKnownError("string_too_short", {"min_length": self._least})
        if len(text) > self._most:
            raise PydanticKnownError("string_too_long", {"max_length": self._most})
        if self._is_indexed and not text.isascii():
            size = len(text.encode(errors="surrogatepass"))
            if size > _INDEXED_BYTES and len(set(text)) > _COMPRESSIBLE:
                raise PydanticCustomError(
                    "limit_exceeded",
                    "has {actual} bytes; with more than 60 different characters at most {limit} are"
                    " allowed",
                    {"limit": _INDEXED_BYTES, "actual": size},
                )
        return text


class _JsonSchema:
    """Any JSON value, checked with the path of the first thing that is not JSON."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.json_or_python_schema(
            json_schema=core_schema.any_schema(),
            python_schema=core_schema.no_info_plain_validator_function(check_json),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {}


class _JsonObjectSchema:
    """A JSON object, checked as :class:`_JsonSchema` does."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.json_or_python_schema(
            json_schema=core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()),
            python_schema=core_schema.no_info_plain_validator_function(check_json_object),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {"type": "object"}


FIRST_MOMENT = dt.datetime(1, 1, 2, tzinfo=dt.UTC)
LAST_MOMENT = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)


def _to_utc(value: dt.datetime) -> dt.datetime:
    try:
        return value.astimezone(dt.UTC)
    except OverflowError:
        raise PydanticCustomError("no_moment", _NO_MOMENT) from None


def _check_moment(value: dt.datetime) -> dt.datetime:
    if not FIRST_MOMENT <= value <= LAST_MOMENT:
        raise PydanticCustomError("no_moment", _NO_MOMENT)
    return value


_NO_MOMENT: LiteralString = "must be a moment from 0001-01-02 to 9999-12-31 00:00 UTC"


Text = Annotated[str, _TextSchema]
"""Text of any length that its record allows."""

Json = Annotated[JsonValue, _JsonSchema]
"""Any JSON value: dict with str keys, list, str, int, finite float, bool or None."""

JsonObject = Annotated[dict[str, JsonValue], _JsonObjectSchema]
"""A JSON object."""

Id = Annotated[str, BoundedText(1, 255, is_indexed=True)]
"""An id or key: 1 to 255 characters, three of which fit into an index: at most 765 bytes in UTF-8 when
there are more than 60 different characters."""

Name = Annotated[str, BoundedText(1, 255)]
"""A name that people read: 1 to 255 characters."""

Timestamp = Annotated[AwareDatetime, AfterValidator(_to_utc)]
"""A moment in UTC, to the microsecond."""

Moment = Annotated[Timestamp, AfterValidator(_check_moment)]
"""A moment that a caller gives, with its distance from UTC: one that every time zone's calendar has."""

Version = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
"""The version of a mutable record; 1 when it was made, one more at every change."""

Position = Annotated[int, Field(strict=True, ge=1, le=2**63 - 1)]
"""A message's place in its conversation: 1, 2, 3, ... without gaps, in commit order."""


class Record(BaseModel):
    """The base of every model: frozen, and with no room for unknown fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=False,
        validate_default=False,
        revalidate_instances="never",
    )

    def __init__(self, **data: Any) -> None:
        """Build the record from keyword arguments; raise InvalidArgument naming the field."""
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise argument_error(error, type(self).__name__) from error

    # Tell pydantic that this is still its own constructor, so that nested models and pages are
    # validated without calling back into Python.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated like a new record."""
        return type(self)(**{**dict(self), **changes})
