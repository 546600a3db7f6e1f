"""Where the service is, and the key for it."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from .dotenv import read_dotenv
from .errors import APIKeyError
from .loopback import is_here
from .worker import is_worker

if sys.version_info >= (3, 11):
    import tomllib

DEFAULT_URL = "http://127.0.0.1:8787"


@dataclass(frozen=True)
class Connection:
    """The service's URL, without a trailing slash, and an API key."""

    url: str
    api_key: str

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"


def find_connection() -> Connection:
    """URL and key of the environment, else of `.env`, else of `flash login`.

    Raises:
        APIKeyError: There is no key, or it must not be sent to that address.
        ValueError: The address is invalid, or others could read what is sent to it.
    """
    stored = read_config(config_file())
    project = read_dotenv()
    trusted_url = _read_url(os.environ.get("EDGERUN_URL") or stored.get("url") or DEFAULT_URL)
    project_url = None if os.environ.get("EDGERUN_URL") else project.get("EDGERUN_URL")
    url = _read_url(project_url) if project_url else trusted_url
    key = os.environ.get("SVC_API_KEY")
    if not key and not (key := project.get("SVC_API_KEY")):
        key = stored.get("api_key")
        _refuse_elsewhere(url, stored.get("url"))
    if not key:
        raise APIKeyError(
            "There is no API key. Log in with `flash login`, export SVC_API_KEY, or put SVC_API_KEY=… into a .env file."
        )
    if key != project.get("SVC_API_KEY") and url != trusted_url:
        raise APIKeyError(
            f"The API key is not sent to {url}: only the project's .env file names it. "
            f"If you trust this URL, set it yourself: export EDGERUN_URL={url}. "
            "If the key is for this project alone, put it into the same .env file, and unset it elsewhere."
        )
    _refuse_plain_http(url, stored)
    return Connection(url, key.strip())


def _refuse_elsewhere(url: str, stored_url: str | None) -> None:
    # A project could name its own URL in its .env and receive the key of the user's account.
    if stored_url is not None and url != _read_url(stored_url):
        raise APIKeyError(
            f"The stored API key is for {stored_url}, not for {url}. "
            f"Log in there with `flash login --url {url}`, or set SVC_API_KEY for it."
        )


def _refuse_plain_http(url: str, stored: dict[str, str]) -> None:
    # What a worker calls is between its container and its host, or was chosen by the host's owner.
    if url.startswith("https:") or is_here(url) or is_worker():
        return
    if os.environ.get("EDGERUN_ALLOW_PLAIN_HTTP") == "true":
        return
    if stored.get("insecure") == "true" and url == _read_url(stored.get("url") or DEFAULT_URL):
        return
    raise ValueError(
        f"{url} is not safe: without https the API key could be read on the way. "
        "Use an https URL, or export EDGERUN_ALLOW_PLAIN_HTTP=true if you trust the network."
    )


def config_file() -> Path:
    """The file where `flash login` stores URL and key."""
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(folder).expanduser() / "edgerun" / "config.toml"


def read_config(file: Path) -> dict[str, str]:
    """The strings and booleans at the top of the file; empty where it does not exist."""
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
        texts = {True: "true", False: "false"}
        return {
            key: texts[value] if isinstance(value, bool) else value
            for key, value in values.items()
            if isinstance(value, (str, bool))
        }
    return parse_top_texts(text)


_TOP_TEXT = re.compile(r"""^\s*(?P<key>[\w-]+)\s*=\s*(?:"(?P<basic>(?:[^"\\]|\\.)*)"|'(?P<literal>[^']*)'|(?P<truth>true|false)\b)""")


def parse_top_texts(text: str) -> dict[str, str]:
    """Parses the strings and booleans before the first table of TOML; for Python without tomllib."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            break
        if match := _TOP_TEXT.match(line):
            plain = match["truth"] if match["literal"] is None else match["literal"]
            found[match["key"]] = plain if match["basic"] is None else _unescape(match["basic"])
    return found


def _unescape(basic: str) -> str:
    return re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), basic)


def _read_url(url: str) -> str:
    if not re.match(r"https?://[^/]", url):
        raise ValueError(f"EDGERUN_URL={url!r} must be a URL such as https://edge.example.")
    return url.strip().rstrip("/")
