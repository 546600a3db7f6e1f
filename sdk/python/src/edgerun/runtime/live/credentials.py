"""Credentials in the addresses of packages, as in https://name:password@host/simple."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_CREDENTIALS = re.compile(r"(?<=://)[^\s/]+@")
_ADDRESS = re.compile(r"(https?://)([^\s/]+@)([^\s#]+)")


def without_credentials(text: str) -> str:
    """The string without credentials."""
    return _CREDENTIALS.sub("****@", text)


def with_credentials(url: str, requirements: Iterable[str]) -> str:
    """The URL with the credentials of the most similar URL of its host in the requirements."""
    found = [match.groups() for text in requirements for match in _ADDRESS.finditer(text)]
    known = [
        (scheme + rest, user)
        for scheme, user, rest in found
        if url.startswith(scheme + rest.split("/")[0] + "/")
    ]
    if not known:
        return url
    _, user = max(known, key=lambda one: len(os.path.commonprefix([one[0], url])))
    return url.replace("://", f"://{user}", 1)
