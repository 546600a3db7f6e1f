"""Sources that a live worker received, by their SHA-256."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from .request import SOURCES_MAX_BYTES, Refused

# Sources of the last few versions of an app; older ones must be sent again.
_CACHE_MAX_BYTES = 4 * SOURCES_MAX_BYTES


class Sources:
    """Keeps what was used last. For any thread."""

    def __init__(self, max_bytes: int = _CACHE_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, sources: Mapping[str, str]) -> None:
        """Raises Refused and stores none where a source does not match its hash."""
        texts = {sha256: _verified(sha256, text) for sha256, text in sources.items()}
        with self._lock:
            for sha256, text in texts.items():
                if sha256 not in self._texts:
                    self._texts[sha256] = text
                    self._bytes += len(text)
                self._texts.move_to_end(sha256)
            while self._bytes > self._max_bytes:
                _, text = self._texts.popitem(last=False)
                self._bytes -= len(text)

    def missing(self, sha256s: Iterable[str]) -> list[str]:
        """Hashes of missing sources."""
        requested = dict.fromkeys(sha256s)
        with self._lock:
            return [sha256 for sha256 in requested if sha256 not in self._texts]

    def texts(self, sha256s: Iterable[str]) -> dict[str, bytes]:
        """The sources that are present."""
        found = {}
        with self._lock:
            for sha256 in sha256s:
                if sha256 in self._texts:
                    self._texts.move_to_end(sha256)
                    found[sha256] = self._texts[sha256]
        return found


def _verified(sha256: str, text: str) -> bytes:
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(f"The source {sha256} is not UTF-8.") from None
    if hashlib.sha256(encoded).hexdigest() != sha256:
        raise Refused(f"The source {sha256} has another SHA-256: it was changed on its way, or wrongly read.")
    return encoded
