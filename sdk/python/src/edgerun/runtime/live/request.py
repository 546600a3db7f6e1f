"""Requests to a live worker. The contract is `src/contract/flash/flash-live.ts`."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...version import __version__
from ..server.message import Request

PROTOCOL = 1

# Sources in one request.
SOURCES_MAX_BYTES = 8 * 1024 * 1024
# The body of a request to a route.
BODY_MAX_BYTES = 10_000_000
_MODULES_MAX = 10_000
_PATH_MAX_CHARACTERS = 1_000
_SEGMENT_MAX_BYTES = 200

_SHA256 = re.compile(r"[0-9a-f]{64}")
_KINDS = ("function", "class", "route")

Value = TypeVar("Value")


class Refused(ValueError):
    """An invalid or forbidden request; the message explains why."""


@dataclass(frozen=True)
class Code:
    """What to run, without its sources."""

    execution_type: str
    module: str
    function_name: str | None
    class_name: str | None
    modules: Mapping[str, str]
    dependencies: tuple[str, ...]
    system_dependencies: tuple[str, ...]
    accelerate_downloads: bool

    @property
    def target_name(self) -> str | None:
        return self.class_name if self.execution_type == "class" else self.function_name


@dataclass(frozen=True)
class LiveRequest:
    """A call, with the code that it needs."""

    code: Code
    method_name: str | None
    constructor_args: list[Any]
    constructor_kwargs: dict[str, Any]
    args: list[Any]
    kwargs: dict[str, Any]
    sources: Mapping[str, str]
    # As they came: they are passed on to other workers.
    peers: Mapping[str, Mapping[str, Any]]
    own_peer: Mapping[str, Any]
    routes: tuple[Mapping[str, str], ...]
    http: Request | None

    @property
    def sha256s(self) -> list[str]:
        """Hashes of all files that the call and its own calls of other endpoints need."""
        files = [self.code.modules, *(peer["modules"] for peer in self.peers.values())]
        return [sha256 for modules in files for sha256 in modules.values()]


def is_live_request(value: Any) -> bool:
    """Whether the value is intended as a live request; a plain input is not."""
    return isinstance(value, dict) and "protocol" in value and "execution_type" in value


def read_request(value: Any) -> LiveRequest:
    """Raises Refused."""
    if not is_live_request(value):
        raise Refused(
            "This worker is in live mode: it runs code that `flash dev` sends along with each call, and this call has "
            "none. Call the function through `flash dev`, or deploy it by `flash deploy`."
        )
    if value["protocol"] != PROTOCOL:
        raise Refused(
            f"The call speaks version {value['protocol']} of live mode, and this worker (edgerun {__version__}) speaks "
            f"version {PROTOCOL}: update whichever is older, the flash command or the worker's image."
        )
    code = read_code(value)
    sources = _texts_by_key(value, "sources")
    _check_sources(sources)
    peers = _member(value, "peers", dict, {})
    for peer in peers.values():
        read_code(peer)
    return LiveRequest(
        code=code,
        method_name=_text(value, "method_name"),
        constructor_args=_member(value, "constructor_args", list, []),
        constructor_kwargs=_member(value, "constructor_kwargs", dict, {}),
        args=_member(value, "args", list, []),
        kwargs=_member(value, "kwargs", dict, {}),
        sources=sources,
        peers=peers,
        own_peer={key: value[key] for key in _CODE_KEYS if key in value},
        routes=_read_routes(value),
        http=_read_http(value.get("http")),
    )


_CODE_KEYS = (
    *(
        "execution_type",
        "module",
        "function_name",
        "class_name",
        "max_concurrency",
        "modules",
        "dependencies",
    ),
    *("system_dependencies", "accelerate_downloads"),
)


def read_code(value: Any) -> Code:
    """The code that a request, or a peer in it, describes. Raises Refused."""
    if not isinstance(value, dict):
        raise Refused("The description of code must be an object.")
    kind = value.get("execution_type")
    if kind not in _KINDS:
        raise Refused(f"'execution_type' is {kind!r}; it must be one of {', '.join(_KINDS)}.")
    code = Code(
        execution_type=kind,
        module=_required(value, "module"),
        function_name=_text(value, "function_name"),
        class_name=_text(value, "class_name"),
        modules=_read_modules(value),
        dependencies=_texts(value, "dependencies"),
        system_dependencies=_texts(value, "system_dependencies"),
        accelerate_downloads=_member(value, "accelerate_downloads", bool, True),
    )
    if kind != "route" and not code.target_name:
        raise Refused(f"A call of a {kind} needs '{kind}_name'.")
    return code


# Modules


def _read_modules(value: Mapping[str, Any]) -> Mapping[str, str]:
    modules = _texts_by_key(value, "modules")
    if len(modules) > _MODULES_MAX:
        raise Refused(f"The code has {len(modules)} files; it may have {_MODULES_MAX}.")
    for path, sha256 in modules.items():
        check_path(path)
        if not _SHA256.fullmatch(sha256):
            raise Refused(f"The SHA-256 of {path} is {sha256!r:.100}, which is not valid.")
    directories = {path[: match.start()] for path in modules for match in re.finditer("/", path)}
    both = directories & modules.keys()
    if both:
        raise Refused(f"{min(both)} is a file and a directory at once.")
    return modules


def check_path(path: str) -> None:
    """Files stay within their directory."""
    segments = path.split("/")
    is_plain = not re.search(r"[\x00-\x1f\x7f\\]", path) and all(_is_plain(segment) for segment in segments)
    if not is_plain or len(path) > _PATH_MAX_CHARACTERS:
        raise Refused(f"{path!r:.200} is no path of a file in the project: such as workers/resize.py.")


def _is_plain(segment: str) -> bool:
    if segment in ("", ".", ".."):
        return False
    try:
        return len(segment.encode("utf-8")) <= _SEGMENT_MAX_BYTES
    except UnicodeEncodeError:  # half a character
        return False


def _check_sources(sources: Mapping[str, str]) -> None:
    size = 0
    for sha256, text in sources.items():
        if not _SHA256.fullmatch(sha256):
            raise Refused(f"{sha256!r:.100} is no SHA-256 of a source.")
        size += len(text.encode("utf-8", "surrogatepass"))
    if size > SOURCES_MAX_BYTES:
        raise Refused(f"The local files of a call have {size} bytes; they may have {SOURCES_MAX_BYTES}.")


# Routes


def _read_routes(value: Mapping[str, Any]) -> tuple[Mapping[str, str], ...]:
    routes = _member(value, "routes", list, [])
    for route in routes:
        if not isinstance(route, dict):
            raise Refused("Each of 'routes' must be an object.")
        for key in ("method", "path", "module", "function_name"):
            _required(route, key)
    return tuple(routes)


def _read_http(value: Any) -> Request | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Refused("'http' must be an object.")
    try:
        body = base64.b64decode(_member(value, "body_base64", str, ""), validate=True)
    except binascii.Error:
        raise Refused("'http.body_base64' is no base64.") from None
    if len(body) > BODY_MAX_BYTES:
        raise Refused(
            f"The body of a request to a live worker may have {BODY_MAX_BYTES} bytes; it has {len(body)}."
        )
    headers: dict[str, str] = {}
    for pair in _member(value, "headers", list, []):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
            raise Refused("Each of 'http.headers' must be a name and a value.")
        name = pair[0].lower()
        headers[name] = f"{headers[name]}, {pair[1]}" if name in headers else pair[1]
    return Request(
        method=_required(value, "method").upper(),
        path=_required(value, "path"),
        query=_member(value, "query", str, ""),
        headers=headers,
        is_http_1_0=False,
        body=body,
    )


# Members


def _member(value: Mapping[str, Any], key: str, kind: type[Value], default: Value) -> Value:
    found = value.get(key)
    if found is None:
        return default
    if not isinstance(found, kind):
        raise Refused(f"{key!r} must be {_TYPE_NAMES[kind]}.")
    return found


_TYPE_NAMES: Mapping[type, str] = {str: "a string", dict: "an object", list: "a list", bool: "true or false"}


def _text(value: Mapping[str, Any], key: str) -> str | None:
    return _member(value, key, str, "") or None


def _required(value: Mapping[str, Any], key: str) -> str:
    found = _text(value, key)
    if found is None:
        raise Refused(f"{key!r} is missing.")
    return found


def _texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = _member(value, key, list, [])
    if not all(isinstance(one, str) for one in found):
        raise Refused(f"{key!r} must be a list of texts.")
    return tuple(found)


def _texts_by_key(value: Mapping[str, Any], key: str) -> dict[str, str]:
    found = _member(value, key, dict, {})
    if not all(isinstance(one, str) for one in found.values()):
        raise Refused(f"{key!r} must hold texts.")
    return found
