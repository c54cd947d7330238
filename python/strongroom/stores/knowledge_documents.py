"""How the database takes models and chunks."""

from __future__ import annotations

from typing import Any

from strongroom.models.base import JsonValue
from strongroom.models.knowledge import (
    EmbeddingModel,
    NewChunk,
)


def of_model(model: EmbeddingModel | None) -> dict[str, Any]:
    """Return the three arguments that name a model."""
    return {
        "embedding_model": model.name if model else None,
        "embedding_version": model.version if model else None,
        "embedding_dimensions": model.dimensions if model else None,
    }


def chunk_document(chunk: NewChunk) -> dict[str, JsonValue]:
    """Return a chunk as the database takes it."""
    document: dict[str, JsonValue] = {
        "content": chunk.content,
        "locator": chunk.locator,
        "token_count": chunk.token_count,
        "auth_subjects": None if chunk.auth_subjects is None else [*chunk.auth_subjects],
        "metadata": chunk.metadata,
        "embedding": None if chunk.embedding is None else [*chunk.embedding],
    }
    return {key: value for key, value in document.items() if value is not None}
