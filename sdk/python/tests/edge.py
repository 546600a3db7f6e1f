"""A real HTTP server that speaks the service's protocol as a test scripts it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """An answer that is not simply 200 with JSON."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Hangup:
    """Instead of an answer: the connection is closed."""


Reply = dict[str, Any] | list[Any] | Answer | Hangup | Callable[[Seen], Any]


class Edge:
    """Answers `METHOD path` with the replies given for it, the last of them again and again."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self._replies: dict[str, list[Reply]] = {}
        self._lock = threading.Lock()
        edge = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                edge._serve(self)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _serve

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, operation: str, *replies: Reply) -> None:
        self._replies[operation] = list(replies)

    def graphql(self, *answers: Callable[[str, dict[str, Any]], Any]) -> None:
        """Answers GraphQL by a function of the document and its variables: `data`, or an Answer."""

        def reply(seen: Seen) -> Any:
            said = answers[0](seen.body["query"], seen.body["variables"])
            return said if isinstance(said, (Answer, Hangup)) else {"data": said}

        self.on("POST /graphql", reply)

    def seen(self, operation: str) -> list[Seen]:
        method, path = operation.split(" ")
        return [seen for seen in self.requests if (seen.method, seen.path) == (method, path)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        address = urlsplit(handler.path)
        length = int(handler.headers.get("Content-Length") or 0)
        text = handler.rfile.read(length)
        seen = Seen(
            method=handler.command,
            path=address.path,
            query={name: values[-1] for name, values in parse_qs(address.query).items()},
            headers={name.lower(): value for name, value in handler.headers.items()},
            body=json.loads(text) if text else None,
        )
        with self._lock:
            self.requests.append(seen)
            reply = self._next(f"{seen.method} {seen.path}")
        if callable(reply):
            reply = reply(seen)
        if isinstance(reply, Hangup):
            handler.close_connection = True
            return
        answer = reply if isinstance(reply, Answer) else Answer(200, reply)
        body = b"" if answer.body is None else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _next(self, operation: str) -> Reply:
        replies = self._replies.get(operation)
        if not replies:
            return Answer(404, {"error": f"there is no {operation}", "code": "endpoint_not_found"})
        return replies.pop(0) if len(replies) > 1 else replies[0]
