"""Which addresses never leave this computer."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_LOOPBACK_HOST = re.compile(r"localhost|.+\.localhost|127(\.\d{1,3}){3}|::1")


def is_here(url: str) -> bool:
    """Whether a URL leads to this computer, which proxies cannot reach."""
    return _LOOPBACK_HOST.fullmatch((urlsplit(url).hostname or "").lower()) is not None
