"""Where the service is, and the key for it."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from .dotenv import setting
from .errors import APIKeyError

if sys.version_info >= (3, 11):
    import tomllib

DEFAULT_URL = "http://127.0.0.1:8787"


@dataclass(frozen=True)
class Connection:
    """The service's address, without a slash at its end, and an API key."""

    url: str
    api_key: str

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"


def find_connection() -> Connection:
    """The address and key of the environment, else of `.env`, else of `flash login`.

    Raises:
        APIKeyError: There is no key.
        ValueError: The address is none.
    """
    stored = read_config(config_file())
    url = _read_url(setting("EDGERUN_URL") or stored.get("url") or DEFAULT_URL)
    key = setting("SVC_API_KEY")
    if not key:
        key = stored.get("api_key")
        _refuse_elsewhere(url, stored.get("url"))
    if not key:
        raise APIKeyError(
            "There is no API key. Log in with `flash login`, export SVC_API_KEY, or put SVC_API_KEY=… into a .env file."
        )
    return Connection(url, key.strip())


def _refuse_elsewhere(url: str, stored_url: str | None) -> None:
    # A project could name an address of its own in its .env, and be sent the key of the person's account.
    if stored_url is not None and url != _read_url(stored_url):
        raise APIKeyError(
            f"The stored API key is for {stored_url}, not for {url}. "
            f"Log in there with `flash login --url {url}`, or set SVC_API_KEY for it."
        )


def config_file() -> Path:
    """The file in which `flash login` keeps the address and key."""
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(folder).expanduser() / "edgerun" / "config.toml"


def read_config(file: Path) -> dict[str, str]:
    """The texts at the top of the file; none where there is no such file."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return {}
    return _parse_toml(text)


def _parse_toml(text: str) -> dict[str, str]:
    if sys.version_info >= (3, 11):
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            return {}
        return {key: value for key, value in values.items() if isinstance(value, str)}
    return parse_top_texts(text)


_TOP_TEXT = re.compile(r"""^\s*(?P<key>[\w-]+)\s*=\s*(?:"(?P<basic>(?:[^"\\]|\\.)*)"|'(?P<literal>[^']*)')""")


def parse_top_texts(text: str) -> dict[str, str]:
    """Reads the texts that stand in TOML before its first table; for Python without tomllib."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            break
        if match := _TOP_TEXT.match(line):
            found[match["key"]] = match["literal"] if match["basic"] is None else _unescape(match["basic"])
    return found


def _unescape(basic: str) -> str:
    return re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), basic)


def _read_url(url: str) -> str:
    if not re.match(r"https?://[^/]", url):
        raise ValueError(f"EDGERUN_URL={url!r} must be an address such as https://edge.example.")
    return url.strip().rstrip("/")
