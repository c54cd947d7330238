"""Where a blob lies in a folder of the local filesystem, whatever its tenant and key are called.

    <root>/blobs/<tenant>/<2 digits>/<key>/data          the bytes
    <root>/blobs/<tenant>/<2 digits>/<key>/about.json    what is known of them
    <root>/unfinished/<random>/...                       puts that have not ended

A name of a folder is the text with every byte but a-z, 0-9, - and _ written as %xx, so there are no
separators, no dots, no capital letters (which some filesystems do not tell from small ones), and no two
texts with one name. One that would be longer than filesystems take is a hash instead; ``about.json``
knows the key. The two digits are of a hash of the key, so that no folder becomes too large.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST = 200
"""Filesystems take 255 bytes, encrypted ones fewer."""

DATA = "data"
ABOUT = "about.json"


def name_of(text: str) -> str:
    """Return the name of the folder that stands for a text.

    Example:
        >>> name_of("../Etc"), name_of("a" * 1000)[:9]
        ('k%2e%2e%2f%45tc', 'h41edece4')
    """
    content = text.encode()
    name = "k" + "".join(chr(byte) if byte in _SAFE else f"%{byte:02x}" for byte in content)
    return name if len(name) <= _LONGEST else "h" + hashlib.sha256(content).hexdigest()


def text_of(name: str) -> str | None:
    """Return the text that a name stands for; None when it is a hash, or no name of ours.

    Example:
        >>> text_of(name_of("../Etc")), text_of("h12"), text_of("x")
        ('../Etc', None, None)
    """
    try:
        text = unquote_to_bytes(name[1:]).decode()
    except ValueError:
        return None
    return text if name == name_of(text) and name.startswith("k") else None


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders under one root."""

    root: Path

    @property
    def unfinished(self) -> Path:
        """Where puts are prepared; on the same filesystem, so that a rename is one step."""
        return self.root / "unfinished"

    def tenant(self, tenant_id: str) -> Path:
        """Return the tenant's own folder."""
        return self.root / "blobs" / name_of(tenant_id)

    def blob(self, tenant_id: str, key: str) -> Path:
        """Return the folder of a key."""
        shard = hashlib.sha256(key.encode()).hexdigest()[:2]
        return self.tenant(tenant_id) / shard / name_of(key)
