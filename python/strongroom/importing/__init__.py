"""Reading recorded conversations into messages: no database, no agent framework."""

from strongroom.importing.chat_completions import read_chat_completions
from strongroom.importing.forms import (
    FileSummary,
    Form,
    check_file,
    conversation_id_for,
    detect_form,
    read_file,
)
from strongroom.importing.place import TextPolicy
from strongroom.importing.pydantic_ai import read_pydantic_ai

__all__ = [
    "FileSummary",
    "Form",
    "TextPolicy",
    "check_file",
    "conversation_id_for",
    "detect_form",
    "read_chat_completions",
    "read_file",
    "read_pydantic_ai",
]
