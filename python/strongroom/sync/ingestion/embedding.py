# Written by scripts/generate_sync.py from strongroom/ingestion/embedding.py: change that, and run `make generate`.
"""Embedders: models that packages ship, and any callable of the user's."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from strongroom import blocking
from strongroom.errors import InvalidArgument, MissingCapability
from strongroom.ingestion.calling import Embed
from strongroom.ingestion.embedding import _BATCH, _PROBE, BUILT_IN, _checked, _loaded, _refused
from strongroom.models.knowledge import EmbeddingModel
from strongroom.sync.ingestion.calling import call_embedder


@dataclass(frozen=True)
class Embedder:
    """A model that embeds, and what it is called.

    Attributes:
        model: what its embeddings are stored under; others are never compared with them.
        call: the callable. One thread at a time calls it.
    """

    model: EmbeddingModel
    call: Embed
    _turn: blocking.Lock = field(default_factory=blocking.Lock, repr=False, compare=False)

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return one embedding for each text, in order.

        Raises:
            InvalidArgument: SR001, the callable returned something else.
        """
        found: list[tuple[float, ...]] = []
        for start in range(0, len(texts), _BATCH):
            batch = [*texts[start : start + _BATCH]]
            made = call_embedder(self.call, batch, self._turn)
            found.extend(_checked(made, self.model.name, len(batch), self.model.dimensions))
        return found


def make_embedder(call: Embed, *, name: str, version: str = "1") -> Embedder:
    """Make an embedder of a callable; how many dimensions it has is found by asking it.

    Args:
        call: the callable.
        name: what the model is called.
        version: whatever changes when its embeddings do.

    Raises:
        InvalidArgument: SR001, it does not return embeddings.

    Example:
        >>> import strongroom.sync
        >>> from strongroom.sync.ingestion.embedding import make_embedder
        >>> def vowels(texts: list[str]) -> list[list[float]]:
        ...     return [[text.count(vowel) + 1.0 for vowel in "aeiou"] for text in texts]
        >>> make_embedder(vowels, name="vowels").model.dimensions
        5
    """
    try:
        made = call_embedder(call, [_PROBE], blocking.Lock())
    except InvalidArgument:
        raise
    except Exception as error:
        raise _refused(name, f"failed on one word: {type(error).__name__}: {error}") from error
    probe = _checked(made, name, 1, None)
    return Embedder(EmbeddingModel(name=name, version=version, dimensions=len(probe[0])), call)


def load_embedder(spec: str, *, version: str | None = None) -> Embedder:
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
        return _built_in(spec)
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
    return make_embedder(call, name=spec, version=version or "1")


def _built_in(spec: str) -> Embedder:
    name, package, extra, load = BUILT_IN[spec]
    try:
        if spec not in _loaded:
            _loaded[spec] = blocking.to_thread(load)
        version = importlib.metadata.version(package)
    except ImportError as error:  # PackageNotFoundError is one, too
        raise MissingCapability(
            f"the embedder {spec} needs the extra {extra!r}",
            detail={"extra": extra},
            hint=f"Install it: pip install 'strongroom[{extra}]'.",
        ) from error
    return make_embedder(_loaded[spec], name=name, version=version)
