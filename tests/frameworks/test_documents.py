"""What the integrations' documents show is true."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

from strongroom import integrations

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(integrations.__path__, "strongroom.integrations.")
)
PAGES = Path(__file__).resolve().parents[2] / "docs/integrations"


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_every_integration_has_a_page_and_an_example() -> None:
    names = {
        module.name
        for module in pkgutil.iter_modules(integrations.__path__)
        if module.name not in {"bridge", "pages", "plain"}
    }
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == names
    for name in names:
        page = (PAGES / f"{name}.md").read_text()
        for heading in ("## How it maps", "## What replacing and deleting does", "## Errors"):
            assert heading in page, name
        program = PAGES.parents[1] / "examples" / name / "program.py"
        assert program.exists()
        assert f"examples.{name}.program" in page
