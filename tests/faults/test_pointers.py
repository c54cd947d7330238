"""The table in README.md is true: what it names exists, and no fault of the list is left out."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
ROWS = {
    row[0]: row[1]
    for row in re.findall(r"^\| (B\d\d) \| [^|]+ \| ([^|]+) \|$", TABLE, flags=re.MULTILINE)
}
# What this part of the product has to answer for.
FAULTS = {
    *("B01", "B03", "B07", "B09", "B13", "B17", "B29", "B31", "B33", "B35", "B37", "B39"),
    *("B41", "B43", "B45", "B47", "B49", "B51", "B53", "B55", "B57", "B59", "B61", "B63"),
    *("B65", "B67", "B69", "B87"),
    *(
        "B05",
        "B11",
        "B15",
        "B19",
        "B21",
        "B23",
        "B25",
        "B27",
        "B75",
        "B77",
        "B79",
        "B81",
        "B83",
        "B85",
        "B89",
    ),
}


def functions_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def test_every_fault_is_in_the_table() -> None:
    assert set(ROWS) == FAULTS


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_what_the_table_names_exists(fault: str) -> None:
    named = re.findall(r"`([^`]+)`", ROWS[fault])
    assert named
    for place in named:
        path, _, function = place.partition("::")
        if "/" not in path:
            path = f"python/strongroom/conformance/{path}"
        file = ROOT / path
        assert file.is_file(), place
        if path.endswith(".sql"):
            assert "select plan" in file.read_text(encoding="utf-8"), place
        elif function:
            assert function in functions_of(file), place
        else:
            suffix = re.compile(rf"_{fault.lower()}(_|$)")
            assert any(suffix.search(name) for name in functions_of(file)), place


def test_every_id_in_a_name_is_in_the_table() -> None:
    folders = (ROOT / "tests" / "faults", ROOT / "python" / "strongroom" / "conformance")
    for folder in folders:
        for file in folder.glob("test_*.py"):
            for name in functions_of(file):
                for number in re.findall(r"_b(\d\d)(?=_|$)", name):
                    row = ROWS[f"B{number}"]
                    assert file.name in row, f"{file.name}::{name} is not in the table"
