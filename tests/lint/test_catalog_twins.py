"""Agents and skills are the same but for their names: what is mended in one half is mended in both."""

from __future__ import annotations

import re

import pytest

from tests.servers.databases import ROOT

CATALOG = next((ROOT / "sql" / "migrations").glob("*_catalog.up.sql"))
PYTHON = ROOT / "python" / "strongroom"
ONLY_AGENTS = {"resolve"}
ONLY_SKILLS = {"resolve", "list_catalog"}


def skills_of(agents: str) -> str:
    """What the text on agents says of skills."""
    for old, new in (("an agent", "a skill"), ("an_agent", "a_skill"), ("An agent", "A skill")):
        agents = agents.replace(old, new)
    return agents.replace("agent", "skill").replace("Agent", "Skill")


def section(name: str) -> str:
    _, _, rest = CATALOG.read_text(encoding="utf-8").partition(f"-- {name}\n")
    return rest.partition("\n\n\n-- ----")[0]


def test_the_halves_of_the_migration_are_the_same() -> None:
    agents, skills = section("Agents"), section("Skills")
    assert len(agents.splitlines()) > 500
    assert skills_of(agents).splitlines() == skills.splitlines()


def methods(path: str, left_out: set[str]) -> str:
    """The methods of a port's class, without their examples."""
    text = (PYTHON / path).read_text(encoding="utf-8").partition("\nclass ")[2]
    parts = re.split(r"\n(?=    async def )", text.replace("    @port_method\n", ""))[1:]
    kept = [part for part in parts if not re.search(rf"def ({'|'.join(left_out)})\(", part)]
    return re.sub(r"Example:.*?(?=\"\"\")", "", "\n".join(kept), flags=re.DOTALL)


def words(text: str) -> list[str]:
    """The text without its lines, which break elsewhere where words are longer."""
    return re.split(r"[\s,()]+", text)


@pytest.mark.parametrize("layer", ["ports", "stores", "in_memory"])
def test_the_ports_are_the_same(layer: str) -> None:
    agents = methods(f"{layer}/agents.py", ONLY_AGENTS)
    assert "publish_version" in agents
    assert words(skills_of(agents)) == words(methods(f"{layer}/skills.py", ONLY_SKILLS))
