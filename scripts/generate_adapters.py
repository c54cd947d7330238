"""Write the README's table of adapters from what they advertise; with --check, fail when it is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from strongroom.infrastructure.advertised import table

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "README.md"
BEGIN, END = "<!-- adapters: generated -->\n", "<!-- end of adapters -->"


def main() -> int:
    text = TARGET.read_text()
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        print(f"{TARGET.name} has no place for the table of adapters", file=sys.stderr)
        return 1
    wanted = f"{before}{BEGIN}{table()}\n{END}{after}"
    if "--check" in sys.argv:
        return int(wanted != text)
    TARGET.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
