"""LangChain: its ``BaseStore`` of bytes, kept in strongroom. Extra: ``langchain``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from langchain_core.stores import BaseStore

from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.models.frameworks import FrameworkRecordChange, FrameworkRecordReference

FRAMEWORK = "langchain"
MOST = 500


class StrongroomByteStore(BaseStore[str, bytes]):
    """Bytes by key, such as cached embeddings: ``CacheBackedEmbeddings.from_bytes_store(...)``.

    Args:
        store: an open store. The blocking methods need one from ``connect_in_thread``.
        tenant_id: whose data it is.
        namespace: where the keys are; another one is another store.
        principal_id: the person whose it is; erasing them deletes it. Another person's namespace is
            refused (AlreadyExists).
        ttl_seconds: how long a value lasts after it was set; None: until it is deleted.
    """

    def __init__(
        self,
        store: AnyStore,
        *,
        tenant_id: str,
        namespace: str = "bytes",
        principal_id: str | None = None,
        ttl_seconds: float | None = None,
    ) -> None:
        """See the class."""
        self._bridge = Bridge(store)
        self._frameworks = self._bridge.store.frameworks
        self._tenant_id = tenant_id
        self._path = [namespace]
        self._principal_id = principal_id
        self._ttl_seconds = ttl_seconds

    async def amget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of the keys, None where there is none."""
        found: dict[str, bytes | None] = {}
        for start in range(0, len(keys), MOST):
            records = await self._bridge.run(
                self._frameworks.find(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    wanted=[
                        FrameworkRecordReference(path=self._path, key=key)
                        for key in keys[start : start + MOST]
                    ],
                    principal_id=self._principal_id,
                )
            )
            found.update({record.key: record.data for record in records})
        return [found.get(key) for key in keys]

    async def amset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Set the values of keys, all or none; the last value of a key counts.

        Raises:
            LimitExceeded: SR004, a value of more than 16 MiB.
        """
        await self._put(
            [
                FrameworkRecordChange(
                    path=self._path, key=key, data=value, ttl_seconds=self._ttl_seconds
                )
                for key, value in dict(key_value_pairs).items()
            ]
        )

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Delete keys; those that are not there are no error."""
        await self._put(
            [
                FrameworkRecordChange(path=self._path, key=key, mode="delete")
                for key in dict.fromkeys(keys)
            ]
        )

    async def _put(self, changes: list[FrameworkRecordChange]) -> None:
        if len(changes) <= MOST:
            if changes:
                await self._bridge.run(
                    self._frameworks.put(
                        tenant_id=self._tenant_id,
                        framework=FRAMEWORK,
                        records=changes,
                        principal_id=self._principal_id,
                    )
                )
            return
        await self._bridge.run(self._put_many(changes))

    async def _put_many(self, changes: list[FrameworkRecordChange]) -> None:
        async with self._bridge.store.unit_of_work(tenant_id=self._tenant_id) as uow:
            for start in range(0, len(changes), MOST):
                await uow.frameworks.put(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    records=changes[start : start + MOST],
                    principal_id=self._principal_id,
                )

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """Yield the keys that begin with a prefix, in order; all of them without one."""
        if self._principal_id is not None:
            # A search would leave out what is another's.
            await self._bridge.run(
                self._frameworks.find_session(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    path=self._path,
                    principal_id=self._principal_id,
                )
            )
        after: str | None = None
        while True:
            found = await self._bridge.run(
                self._frameworks.search(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    path=self._path,
                    key_prefix=prefix or "",
                    after_key=after,
                    limit=100,
                    principal_id=self._principal_id,
                )
            )
            for record in found:
                yield record.key
            if len(found) < 100:  # noqa: PLR2004 (the limit above)
                return
            after = found[-1].key

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """See ``amget``."""
        return self._bridge.block(self.amget(keys))

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """See ``amset``."""
        self._bridge.block(self.amset(key_value_pairs))

    def mdelete(self, keys: Sequence[str]) -> None:
        """See ``amdelete``."""
        self._bridge.block(self.amdelete(keys))

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """See ``ayield_keys``; all of them are read before the first is yielded."""

        async def collected() -> list[str]:
            return [key async for key in self.ayield_keys(prefix=prefix)]

        yield from self._bridge.block(collected())
