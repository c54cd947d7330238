"""Write the blocking API, ``strongroom.sync``, from the asynchronous source.

    python scripts/generate_sync.py [--check]

It follows every name from the roots, takes the definitions that have to do with ``async`` (directly, or
through what they use), and writes them again as blocking ones, at the same place under
``strongroom/sync``. Everything else is imported from where it is: models, errors and the functions of the
in-memory adapter exist once. Modules that are listed in BY_HAND are written by people.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "python" / "strongroom"
TARGET = SOURCE / "sync"
PACKAGE = "strongroom"

ROOTS = [
    ("strongroom.connecting", "connect"),
    ("strongroom.supabase", "connect_supabase"),
    ("strongroom.following", "follow_messages"),
    ("strongroom.following", "follow_run_events"),
    ("strongroom.ingestion.embedding", "load_embedder"),
    ("strongroom.ingestion.embedding", "make_embedder"),
    ("strongroom.blob_upkeep", "sweep_removals"),
    ("strongroom.blob_upkeep", "run_blob_job"),
    ("strongroom.file_transfer", "upload"),
    ("strongroom.file_transfer", "upload_version"),
    ("strongroom.file_transfer", "download"),
    ("strongroom.file_transfer", "stream"),
    ("strongroom.memory_sessions", "MemorySession"),
    ("strongroom.infrastructure.memory_blobs", "MemoryBlobStore"),
    ("strongroom.infrastructure.filesystem_blobs", "FilesystemBlobStore"),
]
BY_HAND = {
    "strongroom.embedded": {"EmbeddedServer"},
    "strongroom.infrastructure.at_once": {"ask_each"},
    "strongroom.infrastructure.bullmq_jobs": {"brought_by_bullmq", "bullmq_server"},
    "strongroom.infrastructure.listening": {
        "Connection",
        "ConnectToListen",
        "Listener",
        "listening_connection",
    },
    "strongroom.infrastructure.redis_listening": {"RedisListener"},
    "strongroom.infrastructure.s3_uploads": {"upload"},
    "strongroom.infrastructure.supabase_realtime": {
        "RealtimeListener",
        "SupabaseRealtimePublisher",
        "listen_to",
    },
    "strongroom.infrastructure.turns": {"Turns"},
    "strongroom.infrastructure.upkeep": {"upkeep"},
    "strongroom.ingestion.calling": {"call_embedder"},
    "strongroom.transports.access_tokens": {"AccessToken", "present"},
    "strongroom.transports.http": {"http_client"},
}
"""Names that have a blocking form which is no translation, in ``strongroom/sync`` at the same place."""

NAMES = {
    "AbstractAsyncContextManager": "AbstractContextManager",
    "AsyncClient": "Client",
    "AsyncClientOptions": "ClientOptions",
    "AsyncConnection": "Connection",
    "AsyncConnectionPool": "ConnectionPool",
    "AsyncCursor": "Cursor",
    "AsyncExitStack": "ExitStack",
    "AsyncIterable": "Iterator",
    "AsyncIterator": "Iterator",
    "AsyncSupabaseException": "SyncSupabaseException",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
    "anext": "next",
    "asynccontextmanager": "contextmanager",
    "asyncio": "blocking",
    "create_async_client": "create_client",
    "delete_async": "delete",
    "enter_async_context": "enter_context",
    "get_async": "get",
    "push_async_callback": "callback",
    "put_async": "put",
    "sign_async": "sign",
}
"""What is called otherwise where nothing is awaited."""

RESULTS = {"Awaitable": 0, "Coroutine": 2}
"""Types that become one of their arguments."""

IN_TEXTS = {
    '"__aiter__"': '"__next__"',
    '"redis.asyncio"': '"redis"',
    '"redis.asyncio.retry"': '"redis.retry"',
    '"must be bytes or an async iterable of bytes, not {kind}"': (
        '"must be bytes or an iterator of bytes, not {kind}"'
    ),
}
"""Texts that say something else there."""

IN_ALL_TEXTS = [
    (r"\bstrongroom\.ports\.BlobStore\b", "strongroom.sync.ports.blobs.BlobStore"),
    (
        r"how jobs come to workers: ``bullmq\+redis://host:port/database``\. None: workers ask",
        "None: BullMQ's package is asynchronous, and refused here; workers ask",
    ),
    (r"\bstrongroom\.connect(_supabase)?\(", r"strongroom.sync.connect\1("),
    (r"\bsupabase\.AsyncClient\b", "supabase.Client"),
    (
        r"Subscriptions are woken by Supabase Realtime, and poll where it is silent\.",
        "Subscriptions look once a second: Realtime's client is asynchronous.",
    ),
    (r"; over Supabase's API it is woken by Realtime\.", "."),
    (r"a function \(async or not\) that", "a function that"),
    (
        r"(retries included\.)(?=\n\n    Raises:\n        InvalidArgument: SR001, neither)",
        r"\1 A request on a\n            client of yours takes as long as that client lets it.",
    ),
    (r"an async iterable of chunks", "an iterator of chunks"),
    (
        r"One that is not async is called in a thread, one call at a time\.",
        "One thread at a time calls it.",
    ),
    (
        r"Close it with ``aclose\(\)`` \(``contextlib\.aclosing``\)\.",
        "Close it with ``close()`` (``contextlib.closing``).",
    ),
]
"""What any text says otherwise there."""

IN_EXAMPLES = [
    (
        r"(?m)^( *>>> )from strongroom import MemoryContext, MemorySession$",
        r"\1from strongroom import MemoryContext\n\1from strongroom.sync import MemorySession",
    ),
    (r"import asyncio, strongroom\b", "import strongroom.sync"),
    (r"(?m)^( *>>> )import strongroom$", r"\1import strongroom.sync"),
    (r"\bimport aclosing\b", "import closing"),
    (r"\baclosing\(", "closing("),
    (r"\bfrom strongroom import file_transfer\b", "from strongroom.sync import file_transfer"),
    (r"\banext\(", "next("),
    (r"import asyncio\b", "import strongroom.sync"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"asyncio\.run\((\w+\([^()]*\))\)", r"\1"),
]
HEADER = (
    "# Written by scripts/generate_sync.py from {source}: change that, and run `make generate`.\n"
)

Name = tuple[str, str]
"""A module, and a name that it defines."""


@dataclass
class Definition:
    """A statement at the top of a module, and the names that it uses."""

    node: ast.stmt
    text: str
    uses: set[str]
    is_async: bool


@dataclass
class Module:
    """What a module defines and imports: at its top, for types alone, or within functions."""

    name: str
    docstring: str = ""
    defined: dict[str, Definition] = field(default_factory=dict)
    imported: dict[str, Name] = field(default_factory=dict)
    at_the_top: set[str] = field(default_factory=set)
    for_types: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)


@cache
def load(name: str) -> Module | None:
    """Read a module of the package; None for those of others, and for packages that only contain."""
    place = SOURCE.joinpath(*name.split(".")[1:])
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not f"{name}.".startswith(f"{PACKAGE}.") or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    module = Module(name, ast.get_docstring(tree, clean=False) or "")
    before: Definition | None = None
    for node in tree.body:
        module.at_the_top |= _import(module, node)
        for imported in node.body if isinstance(node, ast.If) else []:
            module.for_types |= _import(module, imported)
        if isinstance(node, ast.Expr) and before is not None:
            before.text += segment(node, lines)  # what a string says of the name before it
            continue
        names = names_of(node)
        before = _defined(module, node, segment(node, lines)) if names else None
        module.defined |= {name: before for name in names if before is not None}
    return module


def _defined(module: Module, node: ast.stmt, text: str) -> Definition:
    """Return a definition, with what it uses; imports inside of it are the module's."""
    uses: set[str] = set()
    marks: set[str] = set()
    is_async = False
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            uses.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            marks.add(inner.attr)
        elif isinstance(inner, ast.ImportFrom) and inner.module:
            for alias in inner.names:
                module.imported.setdefault(alias.name, (inner.module, alias.name))
                uses.add(alias.name)
        kinds = ast.AsyncFunctionDef | ast.Await | ast.AsyncWith | ast.AsyncFor
        is_async = is_async or isinstance(inner, kinds)
    is_async = is_async or bool({*NAMES, *RESULTS} & (uses | marks))
    is_async = is_async or any(said in text for said in IN_TEXTS)
    return Definition(node, text, uses, is_async)


def _import(module: Module, node: ast.stmt) -> set[str]:
    """Remember what a statement imports; return the names of it."""
    if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
        for alias in node.names:
            module.imported[alias.asname or alias.name] = (node.module, alias.name)
        return {alias.asname or alias.name for alias in node.names}
    if isinstance(node, ast.Import):
        for alias in node.names:
            module.modules[alias.asname or alias.name.split(".")[0]] = alias.name
    return set()


def names_of(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def segment(node: ast.stmt, lines: list[str]) -> str:
    """Return the source of a statement, with its decorators and the comments above it."""
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(d.lineno for d in decorators)]) - 1
    while start and lines[start - 1].startswith("#"):
        start -= 1
    return "".join(lines[start : node.end_lineno])


@cache
def origin(module: str, name: str) -> Name:
    """Follow re-exports to where a name is defined."""
    loaded = load(module)
    if loaded is None or name in loaded.defined or name not in loaded.imported:
        return module, name
    return origin(*loaded.imported[name])


def resolve(module: Module, name: str) -> Name | None:
    """Return where a name that a module uses is defined; None for builtins and locals."""
    if name in module.defined:
        return module.name, name
    if name in module.imported:
        return origin(*module.imported[name])
    return None


def reachable() -> set[Name]:
    """Return every definition of the package that the roots lead to."""
    found: set[Name] = set()
    waiting = list(ROOTS)
    while waiting:
        place = waiting.pop()
        module = load(place[0])
        if place in found or module is None or place[1] not in module.defined:
            continue
        found.add(place)
        if place[1] in BY_HAND.get(place[0], ()):
            continue
        for used in module.defined[place[1]].uses:
            there = resolve(module, used)
            if there is not None:
                waiting.append(there)
    return found


def blocking_ones() -> set[Name]:
    """Return those of them that have to be written again."""
    found = reachable()
    chosen = {
        place
        for place in found
        if place[1] in BY_HAND.get(place[0], ()) or _definition(place).is_async
    }
    while True:
        more = {
            place
            for place in found - chosen
            if any(resolve(_module(place), used) in chosen for used in _definition(place).uses)
        }
        if not more:
            return chosen
        chosen |= more


def _module(place: Name) -> Module:
    module = load(place[0])
    if module is None:
        sys.exit(f"{place[0]} is no module of the package")
    return module


def _definition(place: Name) -> Definition:
    return _module(place).defined[place[1]]


def rewritten(text: str, chosen: set[Name]) -> str:
    """Return a definition as a blocking one."""
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type != tokenize.ENDMARKER
    ]
    out, position = "", (1, 0)
    drop_blank = False
    lines = text.splitlines(keepends=True)

    def between(start: tuple[int, int], end: tuple[int, int]) -> str:
        if start[0] == end[0]:
            return lines[start[0] - 1][start[1] : end[1]] if start[0] <= len(lines) else ""
        middle = "".join(lines[start[0] : end[0] - 1])
        last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
        return lines[start[0] - 1][start[1] :] + middle + last

    index = 0
    while index < len(tokens):
        token = tokens[index]
        gap = between(position, token.start)
        out += "" if drop_blank else gap
        drop_blank = False
        position = token.end
        if token.type == tokenize.NAME and token.string in {"async", "await"}:
            drop_blank = True
        elif (
            token.type == tokenize.NAME
            and token.string in RESULTS
            and tokens[index + 1].string == "["
        ):
            inner, index, position = _argument(tokens, index + 1, RESULTS[token.string], between)
            out += rewritten(inner, chosen).rstrip("\n")
        elif token.type == tokenize.NAME:
            out += NAMES.get(token.string, token.string)
        elif token.type == tokenize.STRING:
            out += _in_string(token.string)
        else:
            out += token.string
        index += 1
    return _local_imports(out, chosen)


def _argument(
    tokens: list[tokenize.TokenInfo],
    opening: int,
    wanted: int,
    between: Callable[[tuple[int, int], tuple[int, int]], str],
) -> tuple[str, int, tuple[int, int]]:
    """Return the text of one argument in brackets, and where the brackets end."""
    depth, start, place, found = 0, tokens[opening].end, 0, ""
    for index in range(opening, len(tokens)):
        text = tokens[index].string
        depth += text in {"(", "[", "{"}
        closes = text in {")", "]", "}"}
        if depth == 1 and (closes or text == ","):
            if place == wanted:
                found = between(start, tokens[index].start).strip()
            place, start = place + 1, tokens[index].end
        depth -= closes
        if depth == 0:
            return found, index, tokens[index].end
    sys.exit(f"brackets do not close: {tokens[opening].line}")


def _in_string(text: str) -> str:
    if text in IN_TEXTS:
        return IN_TEXTS[text]
    for pattern, replacement in IN_ALL_TEXTS:
        text = re.sub(pattern, replacement, text)
    if ">>>" not in text:
        # A type in a string, as ``cast`` has it.
        return re.sub(r"\bCoroutine\[Any, Any, (\w+)\]|\bAwaitable\[(\w+)\]", _either, text)
    for pattern, replacement in IN_EXAMPLES:
        text = re.sub(pattern, replacement, text)
    return text


def _either(found: re.Match[str]) -> str:
    return found[1] or found[2]


def _local_imports(text: str, chosen: set[Name]) -> str:
    """Let imports inside of functions lead to what is written here."""

    def replaced(found: re.Match[str]) -> str:
        place = origin(found[1], found[3])
        where = place[0].replace(PACKAGE, f"{PACKAGE}.sync", 1) if place in chosen else place[0]
        return f"from {where} import {found[2]}{found[3]}"

    opening = r"(\((?:[ ]*#[^\n]*)?\s*|)"
    return re.sub(rf"from (strongroom[\w.]*) import {opening}(\w+)", replaced, text)


def written(name: str, chosen: set[Name]) -> str | None:
    """Return a module of the blocking API; None where nothing of it is written again."""
    module = _module((name, ""))
    emitted: list[Definition] = []
    by_hand = BY_HAND.get(name, set())
    for defined, definition in module.defined.items():
        if (name, defined) in chosen and defined not in by_hand and definition not in emitted:
            emitted.append(definition)
    if not emitted:
        return None
    quotes = '"""'
    emitted.sort(key=lambda definition: definition.node.lineno)
    imports: set[str] = set()
    for_types: set[str] = set()
    for used in sorted({used for definition in emitted for used in definition.uses}):
        place = for_types if used in module.for_types else imports
        place |= _imports_of(module, used, chosen)
    if for_types:
        imports.add("from typing import TYPE_CHECKING")
    bodies = [rewritten(definition.text, chosen) for definition in emitted]
    parts = [
        HEADER.format(source=f"{name.replace('.', '/')}.py"),
        f"{_in_string(f'''{quotes}{module.docstring}{quotes}''')}\n\n",
        "from __future__ import annotations\n\n",
        "\n".join(sorted(imports)),
        "\n\n",
        "\n    ".join(["if TYPE_CHECKING:", *sorted(for_types)]) if for_types else "",
        "\n\n\n",
        "\n\n".join(bodies),
        "\n",
    ]
    return "".join(parts)


def _imports_of(module: Module, used: str, chosen: set[Name]) -> set[str]:
    """Return the import that a name needs; none for builtins, locals and what is written here."""
    if used == "asyncio":
        return {"from strongroom import blocking"}
    if used in module.modules:
        full = module.modules[used]
        plain = used == full.split(".", maxsplit=1)[0]
        return {f"import {full}" if plain else f"import {full} as {used}"}
    place = resolve(module, used)
    if place is None or used in RESULTS:
        return set()
    if used in module.imported and used not in {*module.at_the_top, *module.for_types}:
        return set()  # a function imports it for itself
    there, name = place
    if place in chosen:
        is_here = there == module.name and name not in BY_HAND.get(there, ())
        there = there.replace(PACKAGE, f"{PACKAGE}.sync", 1)
        return set() if is_here else {f"from {there} import {_as(name, used)}"}
    if load(there) is None:
        there, name = module.imported[used]
    return {f"from {there} import {_as(NAMES.get(name, name), NAMES.get(used, used))}"}


def _as(name: str, used: str) -> str:
    return name if name == used else f"{name} as {used}"


def tidy(texts: dict[Path, str]) -> dict[Path, str]:
    """Return the files as the project's formatter leaves them."""
    with tempfile.TemporaryDirectory() as folder:
        places = {path: Path(folder) / path.relative_to(SOURCE.parent) for path in texts}
        for path, place in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(texts[path], encoding="utf-8")
        config = ["--config", str(ROOT / "pyproject.toml"), "--quiet", "--no-cache", folder]
        chosen = ["--select", "F401,F811,I001", "--fix", "--exit-zero"]
        known = ["--config", f'lint.isort.known-first-party=["{PACKAGE}"]']
        for command in (["check", *chosen, *known], ["format"]):
            subprocess.run([sys.executable, "-m", "ruff", *command, *config], check=True)
        return {path: place.read_text(encoding="utf-8") for path, place in places.items()}


def generated() -> dict[Path, str]:
    """Return every file of the blocking API that is generated, by its path."""
    chosen = blocking_ones()
    texts: dict[Path, str] = {}
    for name in sorted({place[0] for place in chosen}):
        text = written(name, chosen)
        if text is not None:
            place = TARGET.joinpath(*name.split(".")[1:])
            package = SOURCE.joinpath(*name.split(".")[1:]).is_dir()
            texts[place / "__init__.py" if package else place.with_suffix(".py")] = text
    return tidy(texts)


def main() -> None:
    """Write the files, or with ``--check`` say which differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    texts = generated()
    marked = HEADER.split("{", maxsplit=1)[0]
    old = {
        path
        for path in TARGET.rglob("*.py")
        if path.read_text(encoding="utf-8").startswith(marked) and path not in texts
    }
    stale = [
        path
        for path, text in texts.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if check:
        for path in sorted([*stale, *old]):
            print(f"{path.relative_to(ROOT)} is stale: run `make generate`")
        sys.exit(bool(stale or old))
    for path in old:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
    for folder in {path.parent for path in texts} - {TARGET}:
        marker = folder / "__init__.py"
        if not marker.is_file():
            marker.write_text('"""Blocking, at the same place as its asynchronous form."""\n')


if __name__ == "__main__":
    main()
