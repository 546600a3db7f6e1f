"""In a live worker: a call of another endpoint, with the code that it needs."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import EndpointNotFoundError, LocalModulePayloadTooLargeError, PayloadTooLargeError
from .json_value import encode_json, parse_object
from .live_peers import LivePeers

if TYPE_CHECKING:
    from .route_call import RouteRequest

PROTOCOL = 1
MISSING_MODULES = "MissingModules"
SOURCES_MAX_BYTES = 8 * 1024 * 1024
ARGUMENTS_MAX_BYTES = 10_000_000

# What workers have taken is not sent again, unless they ask for it. Bounded by what a session changes.
_taken: set[tuple[str, str]] = set()


@dataclass(frozen=True)
class LiveCall:
    """A call of `function`, of a class its `method`, of the endpoint with this name."""

    endpoint_name: str
    function: str
    method: str | None
    arguments: Mapping[str, Any]
    peers: LivePeers

    def body(self, *, with_all_sources: bool = False) -> bytes:
        """The job to be submitted.

        Raises:
            SerializationError: JSON cannot carry an argument, or they are too large.
            EndpointNotFoundError: Nothing is known of the endpoint's code.
            LocalModulePayloadTooLargeError: Its files are too large.
        """
        arguments = encode_json(self.arguments, f"the input of {self.function}()")
        self._refuse_large(arguments)
        request = {
            **self._request(with_all_sources),
            **({} if self.method is None else {"method_name": self.method}),
            "args": [],
        }
        head = encode_json(request, f"the call of {self.function}()")
        return b'{"input":' + head[:-1] + b',"kwargs":' + arguments + b"}}"

    def route_body(
        self, routes: Sequence[Mapping[str, str]], request: RouteRequest, *, with_all_sources: bool
    ) -> bytes:
        """What a worker with routes is sent: a request to one of them, with the code of all. Raises as `body` does."""
        body = request.body or b""
        self._refuse_large(body)
        http = {
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "headers": [["content-type", "application/json"]] if body else [],
            "body_base64": base64.b64encode(body).decode(),
        }
        sent = {**self._request(with_all_sources), "routes": list(routes), "http": http}
        return encode_json(sent, f"the call of {self.function}()")

    def _request(self, with_all_sources: bool) -> dict[str, Any]:
        others = {name: code for name, code in self.peers.codes.items() if name != self.endpoint_name}
        sources = self._sources(with_all_sources)
        return {"protocol": PROTOCOL, **self._code(), "sources": sources, "peers": others}

    def _refuse_large(self, arguments: bytes) -> None:
        if len(arguments) > ARGUMENTS_MAX_BYTES:
            raise PayloadTooLargeError(
                f"The arguments of {self.function}() have {len(arguments)} bytes; in a live call they may have "
                f"{ARGUMENTS_MAX_BYTES}. Pass the address of large values instead."
            )

    def note_taken(self) -> None:
        """A worker has run it, so it has what came along with the call."""
        _taken.update((self.endpoint_name, sha256) for sha256 in self._sha256s())

    def _code(self) -> Mapping[str, Any]:
        code = self.peers.codes.get(self.endpoint_name)
        if code is None:
            known = ", ".join(sorted(self.peers.codes)) or "none"
            raise EndpointNotFoundError(
                f"Endpoint '{self.endpoint_name}' cannot be called from here: `flash dev` has seen no reference to it "
                f"in this code, only to: {known}. Import its function by name where it is called."
            )
        return code

    def _sha256s(self) -> list[str]:
        """Hashes of the files that it and its own calls of other endpoints need."""
        modules = [code.get("modules", {}) for code in self.peers.codes.values()]
        return list(dict.fromkeys(sha256 for files in modules for sha256 in files.values()))

    def _sources(self, with_all: bool) -> dict[str, str]:
        missing = [one for one in self._sha256s() if with_all or (self.endpoint_name, one) not in _taken]
        texts = self.peers.texts(missing)
        size = sum(map(len, texts.values()))
        if size > SOURCES_MAX_BYTES:
            raise LocalModulePayloadTooLargeError(
                f"The local files that {self.function}() needs have {size} bytes; in a live call they may have "
                f"{SOURCES_MAX_BYTES}. Keep data out of Python files, or deploy the app."
            )
        return {sha256: text.decode("utf-8") for sha256, text in texts.items()}


def lacks_modules(error: str | None) -> bool:
    """Whether a job was not run because its worker lacks sources."""
    if error is None or MISSING_MODULES not in error:
        return False
    return parse_object(error).get("error_type") == MISSING_MODULES
