"""LangGraph's ``BaseStore``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)

from strongroom.errors import InvalidArgument
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.models.base import JsonValue
from strongroom.models.frameworks import (
    FrameworkCondition,
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
)

FRAMEWORK = "langgraph_store"
MOST = 500
OPERATORS = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


class StrongroomStore(BaseStore):
    """Keyed values in namespaces: ``graph.compile(store=StrongroomStore(store, tenant_id="acme"))``.

    A namespace is matched label by label, so that ``user_1`` never means ``user_10``. With ``index`` a search
    compares every embedding exactly. A value with a time to live is seen by nobody once it has passed.

    Args:
        store: an open store. The blocking methods need one from ``connect_in_thread``.
        tenant_id: whose data it is. No namespace leads out of it.
        principal_id: the person whose namespaces they are; erasing them deletes those. Another
            person's namespace is refused (AlreadyExists), and left out of searches and lists; so is one
            that was made for nobody.
        index: LangGraph's own: how texts become embeddings, and which fields are embedded.
        ttl: LangGraph's own: how long values last, in minutes, and whether reading prolongs it.
    """

    supports_ttl = True

    def __init__(
        self,
        store: AnyStore,
        *,
        tenant_id: str,
        principal_id: str | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """See the class."""
        super().__init__()
        self.ttl_config = ttl
        self._bridge = Bridge(store)
        self._frameworks = self._bridge.store.frameworks
        self._tenant_id = tenant_id
        self._principal_id = principal_id
        self._embeddings = ensure_embeddings(index["embed"]) if index else None
        self._fields = list((index or {}).get("fields") or ["$"])

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """See ``abatch``; for threads other than that of the store's loop."""
        return self._bridge.block(self.abatch(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several things: first what reads, then what writes, which is all or none.

        Raises:
            AlreadyExists: SR011, a namespace is another person's.
            InvalidText: SR003, a value holds text that PostgreSQL cannot store.
            InvalidArgument: SR001, a value is not JSON.
            LimitExceeded: SR004, more than 500 rows are asked for, or a value of more than 16 MiB.
        """
        given = list(ops)
        results: list[Result] = [None] * len(given)
        gets = [(place, op) for place, op in enumerate(given) if isinstance(op, GetOp)]
        for refresh in (True, False):
            await self._get([g for g in gets if g[1].refresh_ttl is refresh], refresh, results)
        for place, op in enumerate(given):
            if isinstance(op, SearchOp):
                results[place] = cast("Result", await self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results[place] = cast("Result", await self._namespaces(op))
        # The last write of a key counts, as if they came one after the other.
        await self._put({(op.namespace, op.key): op for op in given if isinstance(op, PutOp)})
        return results

    async def _get(
        self, gets: list[tuple[int, GetOp]], refresh: bool, results: list[Result]
    ) -> None:
        for start in range(0, len(gets), MOST):
            some = gets[start : start + MOST]
            found = await self._bridge.run(
                self._frameworks.find(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    wanted=[
                        FrameworkRecordReference(path=[*op.namespace], key=op.key) for _, op in some
                    ],
                    refresh=refresh,
                    principal_id=self._principal_id,
                )
            )
            by_place = {(record.path, record.key): record for record in found}
            for place, op in some:
                record = by_place.get((tuple(op.namespace), op.key))
                results[place] = None if record is None else Item(**_fields(record))

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        embedding = None
        if op.query and self._embeddings is not None:
            embedding = [float(n) for n in await self._embeddings.aembed_query(op.query)]
        found = await self._bridge.run(
            self._frameworks.search(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=[*op.namespace_prefix],
                filter=_conditions(op.filter or {}),
                embedding=embedding,
                limit=op.limit,
                skip=op.offset,
                refresh=op.refresh_ttl,
                principal_id=self._principal_id,
            )
        )
        return [SearchItem(**_fields(record), score=record.score) for record in found]

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found: dict[tuple[str, ...], None] = {}
        cursor = None
        while True:
            page = await self._bridge.run(
                self._frameworks.list_sessions(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    limit=MOST,
                    after=cursor,
                    collection="values",
                    principal_id=self._principal_id,
                )
            )
            for session in page.items:
                if all(_matches(session.path, wanted) for wanted in op.match_conditions or ()):
                    found[session.path[: op.max_depth]] = None
            cursor = page.next_cursor
            if cursor is None:
                return list(found)[op.offset : op.offset + op.limit]

    async def _put(self, puts: dict[tuple[tuple[str, ...], str], PutOp]) -> None:
        changes = [await self._change(op) for op in puts.values()]
        if len(changes) > MOST:
            async with self._bridge.store.unit_of_work(tenant_id=self._tenant_id) as uow:
                for start in range(0, len(changes), MOST):
                    await uow.frameworks.put(
                        tenant_id=self._tenant_id,
                        framework=FRAMEWORK,
                        records=changes[start : start + MOST],
                        principal_id=self._principal_id,
                    )
        elif changes:
            await self._bridge.run(
                self._frameworks.put(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    records=changes,
                    principal_id=self._principal_id,
                )
            )

    async def _change(self, op: PutOp) -> FrameworkRecordChange:
        path = [*op.namespace]
        if op.value is None:
            return FrameworkRecordChange(path=path, key=op.key, mode="delete")
        if not isinstance(op.value, Mapping):
            raise InvalidArgument(
                f"value is of type {type(op.value).__name__}, and no dict",
                detail={"path": "value", "key": op.key},
                hint="Give a dict: what is searched and filtered by are its fields.",
            )
        return FrameworkRecordChange(
            path=path,
            key=op.key,
            content=cast("JsonValue", dict(op.value)),
            embeddings=await self._embedded(op),
            ttl_seconds=None if op.ttl is None else op.ttl * 60,
        )

    async def _embedded(self, op: PutOp) -> list[list[float]] | None:
        if self._embeddings is None or op.index is False:
            return None
        fields = self._fields if op.index is None else op.index
        texts = [
            text for field in fields for text in get_text_at_path(op.value, tokenize_path(field))
        ]
        if not texts:
            return None
        made = await self._embeddings.aembed_documents(texts)
        return [[float(number) for number in one] for one in made]


def _fields(record: FrameworkRecord) -> dict[str, Any]:
    return {
        "namespace": record.path,
        "key": record.key,
        "value": record.content,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }


def _conditions(wanted: dict[str, Any]) -> list[FrameworkCondition]:
    found = []
    for field, value in wanted.items():
        if isinstance(value, dict) and any(key.startswith("$") for key in value):
            for operator, operand in value.items():
                if operator not in OPERATORS:
                    raise InvalidArgument(
                        f"filter.{field} has the operator {operator}",
                        detail={"path": f"filter.{field}", "choices": [*OPERATORS]},
                        hint="Use one of the listed operators.",
                    )
                found.append(
                    FrameworkCondition(field=field, operator=OPERATORS[operator], value=operand)  # type: ignore[arg-type]
                )
        else:
            found.append(FrameworkCondition(field=field, value=value))
    return found


def _matches(path: tuple[str, ...], condition: MatchCondition) -> bool:
    wanted = condition.path
    if len(path) < len(wanted):
        return False
    part = path[: len(wanted)] if condition.match_type == "prefix" else path[-len(wanted) :]
    return all(label in {"*", there} for label, there in zip(wanted, part, strict=True))
