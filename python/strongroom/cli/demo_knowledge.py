"""The part of ``strongroom demo`` about knowledge: passages that are cited, and what a reader may not see."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from strongroom.cli.demo_story import TENANT, Story
from strongroom.cli.output import table
from strongroom.client import Strongroom
from strongroom.ingestion import cite
from strongroom.models import NewChunk, Viewer

_QUESTION = "When do parcels arrive? 包裹什么时候到"
_SOURCES = {
    "help/delivery.md": (
        ("tenant",),
        [("Parcels arrive on Monday, or on the day after a holiday.", 3), ("Costs: none.", 7)],
    ),
    "help/配送.md": (("tenant",), [("包裹星期一到。没有到请联系我们。", 1)]),
    "internal/delays.md": (
        ("role:staff",),
        [("Parcels that arrive late are refunded quietly.", 2)],
    ),
}


async def look_things_up(story: Story, store: Strongroom) -> Table:
    """Store three documents, search as a customer and as the staff. Return what was found."""
    made = await store.knowledge.create_collection(
        tenant_id=TENANT, collection_id="demo", name="demo"
    )
    where: dict[str, Any] = {"tenant_id": TENANT, "collection_id": made.id}
    customer = Viewer(principal_id="customer")
    staff = Viewer(principal_id="clerk", role_ids=("staff",))
    results = []
    for ref, (subjects, passages) in _SOURCES.items():
        await store.knowledge.replace_source(
            **where,
            external_ref=ref,
            auth_subjects=subjects,
            chunks=[
                NewChunk(content=text, locator={"lines": [line, line]}) for text, line in passages
            ],
        )
        results.append(await store.knowledge.search(**where, text=_QUESTION, viewer=customer))
    before, after = results[-2], results[-1]
    seen = await store.knowledge.search(**where, text=_QUESTION, viewer=staff)
    found = {cite(hit).label for hit in after.items}
    story.claim(
        "Words are found in every script, and cited by file and line",
        holds=found == {"help/delivery.md:3-3", "help/配送.md:1-1"},
        found=", ".join(sorted(found)),
    )
    story.claim(
        "What a reader may not see changes no count, score or rank of their search",
        holds=after.items == before.items and len(seen.items) == len(after.items) + 1,
        found=f"a customer finds {len(after.items)}, the staff {len(seen.items)}",
    )
    shown = table("score", "where", "what")
    for hit in after.items:
        shown.add_row(Text(f"{hit.score:.2f}"), Text(cite(hit).label), Text(hit.content))
    return shown
