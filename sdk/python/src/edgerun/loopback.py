"""Which addresses never leave this computer."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_LOOPBACK_HOST = re.compile(r"localhost|.+\.localhost|127(\.\d{1,3}){3}|::1")


def is_here(url: str) -> bool:
    """Whether an address is of this computer, which no proxy of its environment can reach."""
    return _LOOPBACK_HOST.fullmatch((urlsplit(url).hostname or "").lower()) is not None
