"""Files and pictures inside messages: by address, or with their bytes in a data URL."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from pydantic import JsonValue

from strongroom.importing.place import Place, metadata_of
from strongroom.models.parts import FilePart, ImagePart

MAX_URL = 8192
_BY_SUFFIX = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "mp4": "video/mp4",
}


def media_type_of(url: str, fallback: str) -> str:
    """Return the media type that a URL tells: its own, its suffix's, or the fallback."""
    if url.startswith("data:"):
        return url[5:].partition(",")[0].partition(";")[0] or "text/plain"
    try:
        name = urlsplit(url).path
    except ValueError:
        return fallback
    return _BY_SUFFIX.get(name.rpartition(".")[2].lower(), fallback)


def data_url(data: str, media_type: str) -> str:
    """Return the data URL of base64 text in either alphabet."""
    return f"data:{media_type};base64,{data.translate(str.maketrans('-_', '+/'))}"


def located_part(
    place: Place,
    path: str,
    namespace: str,
    *,
    url: str,
    media_type: str,
    extras: dict[str, JsonValue],
    name: str | None = None,
) -> FilePart | ImagePart:
    """Return the part for a file that a message carries or points to.

    A part's url has room for an address, not for a photograph. Where a data URL is longer than
    that, the part is addressed by the bytes' hash (``urn:sha256:...``) and the whole data URL is
    kept in the part's provider metadata, so nothing is lost.

    Args:
        place: the file and line.
        path: the field.
        namespace: the name for provider metadata.
        url: an address or a data URL.
        media_type: such as ``image/png``; images become image parts.
        extras: what else is to be kept.
        name: the file's name, where it has one.
    """
    kept = dict(extras)
    if len(url) > MAX_URL and url.startswith("data:"):
        kept["data_url"] = url
        url = f"urn:sha256:{hashlib.sha256(_bytes_of(place, path, url)).hexdigest()}"
    common: dict[str, Any] = {
        "url": url,
        "media_type": media_type,
        "provider_metadata": metadata_of(namespace, kept),
    }
    if media_type.startswith("image/"):
        return place.make(ImagePart, path, **common)
    return place.make(FilePart, path, name=name, **common)


def _bytes_of(place: Place, path: str, url: str) -> bytes:
    header, _, payload = url[5:].partition(",")
    if not header.endswith(";base64"):
        return unquote_to_bytes(payload)
    try:
        return base64.b64decode(payload, validate=True)
    except binascii.Error as error:
        raise place.fault(path, f"is not base64: {error}") from error
