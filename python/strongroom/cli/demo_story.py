"""What ``strongroom demo`` does, step by step, and what it claims and checks on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from strongroom.cli.file_import import FileImport
from strongroom.client import Strongroom
from strongroom.connecting import connect
from strongroom.embedded import EmbeddedServer
from strongroom.errors import StrongroomError
from strongroom.importing import FileSummary, check_file, read_file
from strongroom.models.messages import Message, NewMessage
from strongroom.models.parts import TextPart

TENANT, TENANT_NAME = "kaze-travel", "Kaze Travel"
OTHER_TENANT, OTHER_NAME = "other-agency", "Another Agency"
OWNER = "ines"
STRANGER = "strongroom_demo_stranger"
PAGE = 8
RECORDED = "support.pydantic_ai.json"

_CHECKOUT = Path(__file__).resolve().parents[3]
_API_ROLES = ("anon", "authenticated", "service_role")
_COUNT = "select count(*) from strongroom.messages"


@dataclass(frozen=True)
class Claim:
    """Something that the demo says and has looked at.

    Attributes:
        text: what should hold.
        found: what was seen.
        holds: whether it holds.
    """

    text: str
    found: str
    holds: bool


@dataclass
class Story:
    """What has happened so far.

    Attributes:
        say: is told every claim as it is made.
        claims: all of them.
    """

    say: Callable[[Claim], None]
    claims: list[Claim] = field(default_factory=list)

    def claim(self, text: str, *, holds: bool, found: object) -> None:
        """State something, with what was seen."""
        made = Claim(text, str(found), holds)
        self.claims.append(made)
        self.say(made)

    @property
    def true(self) -> bool:
        """Whether everything that was claimed holds."""
        return all(claim.holds for claim in self.claims)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the claims as ``--json`` shows them."""
        return [asdict(claim) for claim in self.claims]


@asynccontextmanager
async def recorded_conversation() -> AsyncIterator[Path]:
    """Lend the recorded conversation: from the installed package, else from the checkout."""
    packaged: Traversable = files("strongroom") / "_examples" / RECORDED
    if packaged.is_file():
        with as_file(packaged) as path:
            yield path
    else:
        yield _CHECKOUT / "examples" / "data" / RECORDED


async def prepare_roles(server: EmbeddedServer) -> None:
    """Make the roles that Supabase has, and a login that nobody has given anything."""
    async with await _connection(server.admin_url) as connection:
        for role, attributes in (*((role, "nologin") for role in _API_ROLES), (STRANGER, "login")):
            cursor = await connection.execute("select to_regrole(%s)", [role])
            found = await cursor.fetchone()
            if found is None or found[0] is None:
                await connection.execute(f"create role {role} {attributes}")


async def publish_grants(server: EmbeddedServer) -> None:
    """Give the roles what the grant matrix says, also where the schema was there before them."""
    async with await _connection(server.admin_url) as connection:
        await connection.execute("select strongroom_private.apply_grants()")


async def import_recorded(
    story: Story, store: Strongroom, path: Path, on_progress: Callable[[int], None]
) -> FileSummary:
    """Create both tenants, import the conversation twice."""
    summary = check_file(path)
    await store.tenants.create(tenant_id=TENANT, name=TENANT_NAME)
    await store.tenants.create(tenant_id=OTHER_TENANT, name=OTHER_NAME)
    first = FileImport(store, tenant_id=TENANT, file=path, summary=summary, batch=5)
    await first.ensure_conversation(owner_id=OWNER)
    done = await first.run(on_progress)
    story.claim(
        f"All {summary.messages} messages of the recording are stored",
        holds=done.inserted + done.already_stored == summary.messages and not done.conflicts,
        found=f"{done.inserted} inserted"
        + (f", {done.already_stored} from an earlier demo" if done.already_stored else ""),
    )
    again = await FileImport(store, tenant_id=TENANT, file=path, summary=summary).run()
    story.claim(
        "Importing the same file again inserts nothing",
        holds=again.inserted == 0 and not again.conflicts,
        found=f"{again.inserted} inserted, {again.already_stored} there already",
    )
    return summary


async def page_through(story: Story, store: Strongroom, summary: FileSummary) -> list[Message]:
    """Read the conversation in small pages, forward by next_cursor and back by previous_cursor."""
    read = partial(
        store.messages.list, tenant_id=TENANT, conversation_id=summary.conversation_id, limit=PAGE
    )
    page = await read()
    messages, spans = list(page.items), [_span(page.items)]
    while page.next_cursor is not None:
        page = await read(after=page.next_cursor)
        messages += page.items
        spans.append(_span(page.items))
    story.claim(
        f"Pages of {PAGE} by cursor hold every message once, in order, without a gap",
        holds=[m.position for m in messages] == list(range(1, summary.messages + 1))
        and messages[-1].id == summary.last_message_id,
        found="  ".join(spans),
    )
    back = [*page.items]
    while page.previous_cursor is not None:
        page = await read(before=page.previous_cursor)
        back = [*page.items, *back]
    story.claim(
        "Paging back from the last page gives the same messages",
        holds=back == messages,
        found=f"{len(back)} messages, the same ones" if back == messages else "others",
    )
    return messages


async def repeat_append(
    story: Story, store: Strongroom, path: Path, messages: list[Message]
) -> None:
    """Append again what is there, as a worker does that did not get its answer."""
    conversation_id = messages[0].conversation_id
    append = partial(store.messages.append, tenant_id=TENANT, conversation_id=conversation_id)
    newest = list(read_file(path, conversation_id=conversation_id))[-3:]
    repeated = await append(messages=newest)
    outcomes = [item.outcome for item in repeated.items]
    count = await store.messages.count(tenant_id=TENANT, conversation_id=conversation_id)
    story.claim(
        "Appending the last three messages again doubles nothing",
        holds=outcomes == ["duplicate"] * 3 and count == len(messages),
        found=f"{', '.join(outcomes)}; still {count} messages",
    )
    forged = NewMessage(id=messages[-1].id, role="assistant", parts=(TextPart(text="Forged."),))
    answer = (await append(messages=[forged])).items[0]
    kept = await store.messages.get(tenant_id=TENANT, message_id=messages[-1].id)
    story.claim(
        "The same id with other words changes nothing, and says so",
        holds=answer.outcome == "conflict" and kept == messages[-1],
        found=f"{answer.outcome} ({answer.conflict}); the stored message is as it was",
    )


async def look_from_outside(
    story: Story, server: EmbeddedServer, store: Strongroom, conversation_id: str
) -> None:
    """Look as another tenant, and as roles that are nobody here."""
    asked = await _answer(
        store.messages.list(tenant_id=OTHER_TENANT, conversation_id=conversation_id)
    )
    story.claim(
        "Another tenant that knows the id is told what a wrong id is told",
        holds=asked.startswith("NotFound"),
        found=asked,
    )
    others = await store.conversations.list(tenant_id=OTHER_TENANT)
    story.claim(
        "Another tenant lists its own conversations, which are none",
        holds=not others.items,
        found=f"{len(others.items)} conversations",
    )
    signed_in = (
        '{"sub": "eve", "role": "authenticated",'
        f' "app_metadata": {{"tenant_id": "{OTHER_TENANT}"}}}}'
    )
    as_role = _as_role(server, "authenticated")
    rows = await _count(as_role, claims=signed_in)
    story.claim(
        "A signed-in user of another tenant, writing SQL of their own, sees no row",
        holds=rows == "0 rows",
        found=rows,
    )
    rows = await _count(as_role)
    story.claim(
        "The role `authenticated` without a valid JWT sees no row",
        holds=rows == "0 rows",
        found=rows,
    )
    for who, url in (
        ("The role `anon`", _as_role(server, "anon")),
        ("A database login that is no host", make_conninfo(server.admin_url, user=STRANGER)),
    ):
        rows = await _count(url)
        story.claim(f"{who} is refused by the database", holds=_is_refusal(rows), found=rows)
        async with connect(url, pool_max=1) as as_nobody:
            asked = await _answer(as_nobody.conversations.list(tenant_id=TENANT))
        story.claim(
            f"{who} gets the typed error from strongroom",
            holds=asked.startswith("PermissionDenied"),
            found=asked,
        )


def _span(items: tuple[Message, ...]) -> str:
    first, last = items[0].position, items[-1].position
    return f"{first}-{last}" if first < last else str(first)


def _as_role(server: EmbeddedServer, role: str) -> str:
    return make_conninfo(server.admin_url, options=f"-c role={role}")


async def _answer(call: Any) -> str:
    try:
        found = await call
    except StrongroomError as error:
        return f"{type(error).__name__} [{error.code}]: {error.message}"
    return f"{len(found.items)} rows"


async def _count(url: str, claims: str | None = None) -> str:
    async with await _connection(url) as connection:
        try:
            if claims is not None:
                await connection.execute(
                    "select set_config('request.jwt.claims', %s, false)", [claims]
                )
            cursor = await connection.execute(_COUNT)
            row = await cursor.fetchone()
        except psycopg.errors.InsufficientPrivilege as error:
            return f"refused: {error.diag.message_primary}"
    return f"{row[0] if row else 0} rows"


def _is_refusal(found: str) -> bool:
    return found.startswith("refused")


async def _connection(url: str) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(url, autocommit=True)
