"""Optional packages: an adapter that lacks one says how to install it."""

from __future__ import annotations

import importlib
from typing import Any

from strongroom.errors import MissingCapability


def import_extra(module: str, extra: str, feature: str) -> Any:
    """Import a module of an optional package.

    Raises:
        MissingCapability: SR040, the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingCapability(
            f"{feature} needs the package {module.partition('.')[0]!r}, which is not installed",
            detail={"feature": feature, "extra": extra, "module": module},
            hint=f"pip install 'strongroom[{extra}]'",
        ) from error
