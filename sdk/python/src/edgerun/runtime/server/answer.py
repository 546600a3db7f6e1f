"""What a function returns, or raises, as an answer."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..json_text import encode

_JSON = "application/json"
_EVENTS = "text/event-stream"
_EVENT_STARTS = ("data:", "event:", "id:", "retry:", ":")

Headers = list[tuple[str, str]]


@dataclass
class Answer:
    """Status, headers and body; a streamed body arrives in pieces."""

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    headers: Headers = field(default_factory=list)


def json_answer(status: int, value: Any, headers: Headers | None = None) -> Answer:
    return Answer(status, encode(value, "the answer"), [("content-type", _JSON), *(headers or [])])


def detail_answer(status: int, detail: Any, headers: Headers | None = None) -> Answer:
    return json_answer(status, {"detail": detail}, headers)


def answer_of_result(value: Any) -> Answer:
    """JSON for plain values, bytes as they are. Raises NotJsonError."""
    if isinstance(value, (bytes, bytearray)):
        return Answer(200, bytes(value), [("content-type", "application/octet-stream")])
    if isinstance(getattr(value, "status_code", None), int):
        return _answer_of_response(value)
    return json_answer(200, value)


def answer_of_error(error: BaseException) -> Answer | None:
    """
    For errors that know what callers shall see: those with a `status_code` and a `detail`, such as HTTPException of
    FastAPI. None for all others.
    """
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not 400 <= status <= 599 or not hasattr(error, "detail"):
        return None
    headers = getattr(error, "headers", None)
    own = (
        [(str(name).lower(), str(value)) for name, value in headers.items()]
        if isinstance(headers, Mapping)
        else []
    )
    return detail_answer(status, error.detail, own)


def _answer_of_response(response: Any) -> Answer:
    """A response object as FastAPI and Starlette have them: status_code, headers, and body or body_iterator."""
    headers = getattr(response, "headers", None) or {}
    own = [(str(name).lower(), str(value)) for name, value in headers.items()]
    passed_on = [
        (name, value)
        for name, value in own
        if name not in ("content-length", "transfer-encoding", "connection")
    ]
    pieces = getattr(response, "body_iterator", None)
    if pieces is not None and hasattr(pieces, "__aiter__"):
        return Answer(response.status_code, _as_bytes(pieces), passed_on)
    body = getattr(response, "body", b"")
    return Answer(response.status_code, body.encode() if isinstance(body, str) else bytes(body or b""), passed_on)


async def _as_bytes(pieces: Any) -> AsyncIterator[bytes]:
    async for piece in pieces:
        yield piece.encode() if isinstance(piece, str) else bytes(piece)


# Streams


async def answer_of_stream(values: AsyncIterator[Any]) -> Answer:
    """
    Text and bytes pass as they are, and are an event stream when they look like one; other values become events with
    JSON. Waits for the first value, so that what fails before it is an ordinary failure.
    """
    try:
        first = await anext(values)
    except StopAsyncIteration:
        return Answer(200, b"", [("content-type", "text/plain; charset=utf-8")])
    is_plain = isinstance(first, (str, bytes, bytearray))
    headers = [("content-type", _type_of_stream(first)), ("cache-control", "no-cache")]
    return Answer(200, _encoded(first, values, as_events=not is_plain), headers)


def _type_of_stream(first: Any) -> str:
    if isinstance(first, (bytes, bytearray)):
        return "application/octet-stream"
    if isinstance(first, str) and not first.startswith(_EVENT_STARTS):
        return "text/plain; charset=utf-8"
    return _EVENTS


async def _encoded(first: Any, rest: AsyncIterator[Any], *, as_events: bool) -> AsyncIterator[bytes]:
    try:
        yield _piece(first, as_events)
        async for value in rest:
            yield _piece(value, as_events)
    finally:
        await _close(rest)


def _piece(value: Any, as_event: bool) -> bytes:
    if as_event:
        return b"data: " + encode(value, "a yielded value") + b"\n\n"
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return encode(value, "a yielded value")


async def _close(values: Any) -> None:
    if inspect.isasyncgen(values):
        await values.aclose()
