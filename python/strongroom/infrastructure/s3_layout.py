"""Where things lie in a bucket: names that keep the order of keys, of safe characters, and no way out.

    keys/<tenant>/<key>             what is known of the bytes, and the bytes themselves where they are few
    data/<tenant>/<key>/<random>    many bytes
    claims/<tenant>/<key>/<random>  puts that are being decided, on a server without conditional requests
    inbox/<tenant>/<key>            what a client has put with a signed URL, until it is first asked for

A key is written in hexadecimal digits, cut into segments that every file system takes; its last segment
ends in a hyphen. So a longer key comes after the shorter one that it begins with, a name is never another
one's folder, and prefixes are prefixes. Of a very long key the rest is its hash: those are put in order
when they are read.
"""

from __future__ import annotations

import hashlib
import re
import uuid

_SEGMENT = 200
_WRITTEN = 380
"""Bytes of a key that are in its name; S3 takes names of 1,024 bytes."""
_UNSAFE = re.compile(r"[^a-z0-9]+")


def tenant_folder(tenant_id: str) -> str:
    """Return a tenant's folder: something to recognise it by, and its hash."""
    known_by = _UNSAFE.sub("-", tenant_id.lower())[:24].strip("-")
    return f"{known_by}-{hashlib.sha256(tenant_id.encode()).hexdigest()[:40]}"


def beginning(prefix: str) -> str:
    """Return what the names of all keys begin with that begin with a prefix."""
    return _segments(prefix.encode()[:_WRITTEN])


def is_long(key: str) -> bool:
    """Whether the key's name is not all of it."""
    return len(key.encode()) > _WRITTEN


def group_of(path: str) -> str:
    """Return what the paths of long keys that begin alike have in common; '' for any other path."""
    beginning, _, last = path.rpartition("/")
    return beginning if last.startswith("x") else ""


def name_of(key: str) -> str:
    """Return a key's name."""
    content = key.encode()
    rest = f"/x{hashlib.sha256(content).hexdigest()}" if is_long(key) else ""
    return f"{_segments(content[:_WRITTEN])}{rest}-"


def key_path(tenant_id: str, key: str) -> str:
    """Return where it is said what is known of a key's bytes."""
    return f"keys/{tenant_folder(tenant_id)}/{name_of(key)}"


def inbox_path(tenant_id: str, key: str) -> str:
    """Return where clients put a key's bytes with a signed URL."""
    return f"inbox/{tenant_folder(tenant_id)}/{name_of(key)}"


def claims_folder(tenant_id: str, key: str) -> str:
    """Return where puts of a key are decided."""
    return f"claims/{tenant_folder(tenant_id)}/{name_of(key)}"


def new_data_path(tenant_id: str, key: str) -> str:
    """Return a place for a key's bytes that nobody else has."""
    return f"data/{tenant_folder(tenant_id)}/{name_of(key)}/{uuid.uuid4().hex}"


def signed_path(tenant_id: str, key: str) -> str:
    """Return where a few bytes lie once more when they were asked for with a signed URL."""
    return f"data/{tenant_folder(tenant_id)}/{name_of(key)}/signed"


def is_signed_copy(path: str) -> bool:
    """Whether it is such a copy."""
    return path.endswith("-/signed")


def key_path_of_data(data_path: str) -> str:
    """Return where it is said whether bytes at this place are a key's."""
    return "keys/" + data_path.partition("/")[2].rpartition("/")[0]


def _segments(content: bytes) -> str:
    digits = content.hex()
    return "/".join(digits[at : at + _SEGMENT] for at in range(0, len(digits), _SEGMENT))
