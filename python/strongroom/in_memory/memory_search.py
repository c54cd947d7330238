"""Searching a principal's memory, as ``strongroom.search_memories`` does it in SQL."""

from __future__ import annotations

import datetime as dt
import math
from decimal import ROUND_HALF_UP, Decimal

from strongroom.in_memory.database import StoredFact, Tables
from strongroom.in_memory.memory_functions import (
    living_facts,
    rounded_embedding,
    settings_of,
)
from strongroom.in_memory.memory_words import terms_of
from strongroom.in_memory.values import cosine
from strongroom.models.principal_memory import FoundBy, FoundMemoryFact, MemorySearch

_DIGITS = Decimal("0.0001")


def estimate_tokens(text: str) -> int:
    """Return a third of a text's bytes, rounded up."""
    return (len(text.encode()) + 2) // 3


def search_memories(
    tables: Tables,
    *,
    principal_id: str,
    text: str | None,
    embedding: list[float] | None,
    embedding_model: str | None,
    namespace_prefix: str,
    sensitivities: list[str] | None,
    max_items: int,
    max_tokens: int,
    viewer_id: str | None,
) -> MemorySearch:
    """Return what a text and an embedding find, within a budget."""
    is_seen = viewer_id in {None, principal_id}
    is_enabled = not is_seen or settings_of(tables, principal_id).disabled_at is None
    facts = [
        stored
        for stored in living_facts(tables, principal_id, namespace_prefix)
        if is_seen
        and is_enabled
        and (sensitivities is None or stored.record.sensitivity in sensitivities)
    ]
    by_text = _scores_by_text(facts, text or "")
    by_vector = _scores_by_vector(facts, rounded_embedding(embedding), embedding_model)
    found = _ranked(facts, by_text, by_vector)
    items: list[FoundMemoryFact] = []
    tokens = 0
    for fact in found:
        if len(items) < max_items and tokens + fact.tokens <= max_tokens:
            items.append(fact)
            tokens += fact.tokens
    return MemorySearch(items=tuple(items), is_enabled=is_enabled, found=len(found), tokens=tokens)


def _scores_by_text(facts: list[StoredFact], text: str) -> dict[str, float]:
    """Return how much of the text's units each fact has, rare ones counting more."""
    units = {unit: terms for unit, terms in terms_of(text).items() if unit[1] > 0}
    hits: dict[str, dict[tuple[str, float], float]] = {}
    for stored in facts:
        factors = {
            unit: max((factor for term, factor in terms.items() if term in stored.terms), default=0)
            for unit, terms in units.items()
        }
        if found := {unit: factor for unit, factor in factors.items() if factor}:
            hits[stored.record.id] = found
    counts = {unit: sum(unit in found for found in hits.values()) for unit in units}
    known = sorted(unit for unit, count in counts.items() if count)
    total = sum(share for _, share in units) - _sum(
        [unit[1] - unit[1] / counts[unit] for unit in known]
    )
    return {
        memory_id: _sum([found[unit] * unit[1] / counts[unit] for unit in sorted(found)]) / total
        for memory_id, found in hits.items()
    }


def _sum(numbers: list[float]) -> float:
    """Add one after the other, as PostgreSQL does; sum() would be more exact, and differ."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def _scores_by_vector(
    facts: list[StoredFact], embedding: tuple[float, ...] | None, model: str | None
) -> dict[str, float]:
    """Return the positive cosine similarities with the facts of the same model and length."""
    scores = {
        stored.record.id: _similarity(stored.embedding, embedding)
        for stored in facts
        if embedding is not None
        and stored.embedding is not None
        and stored.record.embedding_model == model
        and len(stored.embedding) == len(embedding)
    }
    return {memory_id: score for memory_id, score in scores.items() if score > 0}


def _similarity(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the cosine of the angle between two embeddings of one length."""
    product = length = other_length = 0.0
    for a, b in zip(one, other, strict=True):
        product += a * b
        length += a * a
        other_length += b * b
    return cosine(product, math.sqrt(length * other_length))


def _ranked(
    facts: list[StoredFact], by_text: dict[str, float], by_vector: dict[str, float]
) -> list[FoundMemoryFact]:
    found = []
    for stored in facts:
        fact = stored.record
        a, b = by_text.get(fact.id, 0.0), by_vector.get(fact.id, 0.0)
        score = Decimal(repr(a + b - a * b)).quantize(_DIGITS, ROUND_HALF_UP)
        ways: list[FoundBy] = []
        if fact.id in by_text:
            ways.append("text")
        if fact.id in by_vector:
            ways.append("vector")
        if score > 0:
            found.append(
                FoundMemoryFact(
                    **dict(fact),
                    score=float(score),
                    found_by=tuple(ways),
                    tokens=estimate_tokens(fact.text),
                )
            )
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    found.sort(key=lambda fact: (-fact.score, -fact.confidence, epoch - fact.updated_at, fact.id))
    return found
