"""What the documents show is true: examples run, links lead somewhere, counts are right."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import strongroom
from strongroom.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), ROOT / "sql/README.md", ROOT / "examples/README.md"]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(strongroom.__path__, "strongroom.")
    if not module.name.startswith("strongroom.conformance")
    and "__main__" not in module.name
    # They need their frameworks: `make test-frameworks` runs theirs.
    and not module.name.startswith("strongroom.integrations.")
)


@pytest.mark.parametrize("name", ["strongroom", *MODULES])
def test_examples_in_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_the_ports_have_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = sum(
        len(found.examples)
        for name in MODULES
        for found in finder.find(importlib.import_module(name))
    )
    assert examples >= 10


def test_the_program_in_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert program is not None
    file = tmp_path / "program.py"
    file.write_text(program[1])
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["inserted 1", "duplicate 1", "[1, 2] None", "SR012 1"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", document.read_text())
    missing = [
        link
        for link in links
        if not link.startswith(("http:", "https:")) and not (document.parent / link).exists()
    ]
    assert missing == []


def test_security_counts_the_definer_functions_right() -> None:
    definers = sum(
        len(re.findall(r"^security definer$", file.read_text(), re.MULTILINE))
        for file in (ROOT / "sql/migrations").glob("*.up.sql")
    )
    words = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    words += ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"]
    words += ["eighteen", "nineteen"]
    for tens in ("twenty", "thirty", "forty"):
        words += [tens, *(f"{tens}-{ones}" for ones in words[1:10])]
    assert f"{words[definers]} of them" in (ROOT / "SECURITY.md").read_text()


def test_the_readme_names_every_command() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## The command line")[1]
    named = set()
    for words in re.findall(r"`([^`]+)`", section.split("\n## ")[0]):
        group, *rest = words.split()
        verbs = [verb for verb in rest if re.fullmatch(r"[a-z-]+", verb)]
        named |= {f"{group} {verb}" for verb in verbs} or {group}
    there = set()
    for name, found in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        there |= {f"{name} {verb}" for verb in getattr(found, "commands", {})} or {name}
    assert there - named == set(), "the README does not name these"
    assert named & {"demo", "worker", "migrate down"} == {"demo", "worker", "migrate down"}
