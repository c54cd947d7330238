"""What ``s3://...`` says, or a refusal in our own words: it may hold a secret."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from strongroom.errors import InvalidArgument

OPTIONS = ("endpoint", "region", "path_style")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def read_s3_url(url: str) -> tuple[str, str | None, dict[str, Any]]:
    """Return bucket, prefix and settings of ``s3://[KEY:SECRET@]bucket/prefix?option=...``.

    Raises:
        InvalidArgument: SR001, a part is missing or would be ignored.
    """
    try:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True)
        has_port = parts.port is not None
    except ValueError:
        raise _refused("blobs has not the form of an s3:// URL") from None
    options = dict(given)
    endpoint = options.get("endpoint")
    bucket = parts.netloc.rpartition("@")[2]
    if parts.scheme != "s3" or not bucket or parts.fragment:
        raise _refused("blobs names no bucket")
    if has_port or ":" in bucket:
        # The secret has a bare "/" or "?", or the server stands where the bucket belongs.
        raise _refused("blobs has a colon where the bucket's name belongs")
    if bool(parts.username) != bool(parts.password):
        raise _refused("blobs has one of key and secret, and not the other")
    if set(options) - set(OPTIONS) or len(options) < len(given) or not all(options.values()):
        raise _refused("blobs has an option that there is not, that is empty, or twice")
    if endpoint and (not endpoint.startswith(("http://", "https://")) or "@" in endpoint):
        raise _refused("the endpoint of blobs is not http://host:port or https://host")
    if options.get("path_style", "true") not in _FLAGS:
        raise _refused("path_style of blobs is neither true nor false")
    settings: dict[str, Any] = {
        "virtual_hosted_style_request": not _FLAGS[options.pop("path_style", "true")],
        **options,
    }
    if parts.username and parts.password:
        settings["access_key_id"] = unquote(parts.username)
        settings["secret_access_key"] = unquote(parts.password)
    return bucket, parts.path.strip("/") or None, settings


def _refused(problem: str) -> InvalidArgument:
    return InvalidArgument(
        problem,
        detail={"path": "blobs", "choices": list(OPTIONS)},
        hint="For example s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=us-east-1. Key and secret"
        " come from the environment, or stand before the bucket, KEY:SECRET@, percent-encoded (/ is %2F).",
    )
