"""ADK's ``BaseArtifactService``."""

from __future__ import annotations

from typing import Any, cast

from google.adk.artifacts import artifact_util
from google.adk.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    ensure_part,
)
from google.genai import types

from strongroom.errors import InvalidArgument, VersionConflict
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.pages import all_values
from strongroom.models.base import JsonValue
from strongroom.models.frameworks import FrameworkRecord, FrameworkRecordChange

FRAMEWORK = "google_adk_artifacts"
COLLECTION = "versions"
USER = "user:"
TRIES = 20


class StrongroomArtifactService(BaseArtifactService):
    """Artifacts of ADK: ``Runner(..., artifact_service=StrongroomArtifactService(store, tenant_id="acme"))``.

    Versions are numbered 0, 1, 2, ... without gaps, also when two are saved at once, and never change. A
    file called ``user:...`` is the user's, any other the session's. The user is the principal whose they
    are: erasing them deletes their artifacts.

    Args:
        store: an open store, or one from ``connect_in_thread``.
        tenant_id: whose data it is.
    """

    def __init__(self, store: AnyStore, *, tenant_id: str) -> None:
        """See the class."""
        self._bridge = Bridge(store)
        self._store = self._bridge.store
        self._tenant_id = tenant_id

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Save the next version of a file; return its number.

        Raises:
            InvalidArgument: SR001, a reference to another artifact, or no session for a session's file.
            LimitExceeded: SR004, more than 16 MiB.
        """
        part = ensure_part(artifact)
        if part.file_data is not None and artifact_util.is_artifact_ref(part):
            raise InvalidArgument(
                "a reference to another artifact is not an artifact",
                detail={"path": "artifact"},
                hint="Save the content itself.",
            )
        path = _path(app_name, user_id, filename, session_id)
        blob = part.inline_data.data if part.inline_data else None
        body = part.model_dump(mode="json", exclude_none=True, exclude={"inline_data": {"data"}})
        for last in (*[False] * (TRIES - 1), True):
            number = len(await self._versions(path, filename))
            try:
                await self._bridge.run(
                    self._store.frameworks.put(
                        tenant_id=self._tenant_id,
                        framework=FRAMEWORK,
                        principal_id=user_id,
                        records=[
                            FrameworkRecordChange(
                                path=path,
                                collection=COLLECTION,
                                key=f"{filename}:{number:09}",
                                content=cast(
                                    "JsonValue",
                                    {
                                        "part": body,
                                        "mime_type": _mime_type(part),
                                        "custom_metadata": custom_metadata or {},
                                    },
                                ),
                                data=blob,
                                expected_version=0,
                            )
                        ],
                    )
                )
            except VersionConflict:
                if last:
                    raise
            else:
                return number
        return -1

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        """Return one version of a file, the newest without a number; None when there is none."""
        path = _path(app_name, user_id, filename, session_id)
        found = _one(await self._versions(path, filename), version)
        if found is None:
            return None
        body = cast("dict[str, Any]", found.content)["part"]
        part = types.Part.model_validate(body)
        if found.data is not None and part.inline_data is not None:
            part.inline_data.data = found.data
        return part

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """Return the names of the user's files, and of the session's where one is given."""
        places = [[app_name, user_id], *([[app_name, user_id, session_id]] if session_id else [])]
        names = {
            record.key.rpartition(":")[0] for path in places for record in await self._all(path)
        }
        return sorted(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete a file with all its versions, for good."""
        path = _path(app_name, user_id, filename, session_id)
        keys = [record.key for record in await self._versions(path, filename)]
        for start in range(0, len(keys), 500):
            await self._bridge.run(
                self._store.frameworks.delete(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    path=path,
                    collection=COLLECTION,
                    keys=keys[start : start + 500],
                )
            )

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """Return the numbers of a file's versions."""
        path = _path(app_name, user_id, filename, session_id)
        return [_number(record) for record in await self._versions(path, filename)]

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Return what is known of a file's versions."""
        path = _path(app_name, user_id, filename, session_id)
        return [_described(record) for record in await self._versions(path, filename)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """Return what is known of one version, the newest without a number."""
        path = _path(app_name, user_id, filename, session_id)
        found = _one(await self._versions(path, filename), version)
        return None if found is None else _described(found)

    async def _versions(self, path: list[str], filename: str) -> list[FrameworkRecord]:
        return [
            record for record in await self._all(path) if record.key.rpartition(":")[0] == filename
        ]

    async def _all(self, path: list[str]) -> list[FrameworkRecord]:
        found = await self._bridge.run(
            all_values(
                self._store,
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=path,
                collection=COLLECTION,
            )
        )
        return [*found]


def _path(app_name: str, user_id: str, filename: str, session_id: str | None) -> list[str]:
    if filename.startswith(USER):
        return [app_name, user_id]
    if session_id is None:
        raise InvalidArgument(
            "session_id is required for a session's file",
            detail={"path": "session_id"},
            hint="Name the session, or call the file 'user:...'.",
        )
    return [app_name, user_id, session_id]


def _mime_type(part: types.Part) -> str | None:
    if part.inline_data is not None:
        return part.inline_data.mime_type
    if part.text is not None:
        return "text/plain"
    return part.file_data.mime_type if part.file_data is not None else None


def _number(record: FrameworkRecord) -> int:
    return int(record.key.rpartition(":")[2])


def _one(versions: list[FrameworkRecord], version: int | None) -> FrameworkRecord | None:
    if version is None:
        return versions[-1] if versions else None
    return next((record for record in versions if _number(record) == version), None)


def _described(record: FrameworkRecord) -> ArtifactVersion:
    content = cast("dict[str, Any]", record.content)
    return ArtifactVersion(
        version=_number(record),
        canonical_uri=f"strongroom://{'/'.join(record.path)}/{record.key}",
        custom_metadata=content["custom_metadata"],
        create_time=record.created_at.timestamp(),
        mime_type=content["mime_type"],
    )
