"""
Reading requests and writing answers of HTTP/1.1.

M1  A request that could be read in two ways is rejected and its connection closed: both lengths given, a folded
    header, anything but CRLF.
M2  Nothing is read without a limit.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus

HEAD_MAX_BYTES = 65_536
BODY_MAX_BYTES = 30_000_000
_CHUNK_LINE_MAX_BYTES = 4_096

_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ([\x21-\x7e]+) HTTP/(\d)\.(\d)")
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\x00-\x08\x0a-\x1f\x7f]*)")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?")


class RequestError(Exception):
    """A request that cannot be served, with its response."""

    def __init__(self, status: int, detail: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail or HTTPStatus(status).phrase


@dataclass
class Request:
    """A request whose head was read; header names are in lower case."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    is_http_1_0: bool
    body: bytes = b""

    @property
    def keeps_connection(self) -> bool:
        if self.is_http_1_0:
            return False
        return "close" not in _tokens(self.headers.get("connection", ""))


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request; None when the peer sends no more. Raises RequestError, or an error of the connection."""
    head = await _read_head(reader)
    if head is None:
        return None
    request = _parse_head(head)
    length = _check_length(request)
    if length == 0:
        return request
    if request.headers.get("expect", "").lower() == "100-continue" and not request.is_http_1_0:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.body = await _read_chunks(reader) if length is None else await reader.readexactly(length)
    return request


# Head


async def _read_head(reader: asyncio.StreamReader) -> bytes | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        while head == b"\r\n\r\n":  # some clients send an empty line after a body
            head = await reader.readuntil(b"\r\n\r\n")
        return head.lstrip(b"\r\n")[:-4]
    except asyncio.LimitOverrunError:
        raise RequestError(431, f"The head of a request may have {HEAD_MAX_BYTES} bytes.") from None
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise RequestError(400, "The head of the request does not end.") from None
        return None


def _parse_head(head: bytes) -> Request:
    line, *fields = head.split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise RequestError(400, "The request line is not one of HTTP/1.1.")
    method, target, major, minor = match.groups()
    if major != b"1":
        raise RequestError(505)
    path, query = _split_target(target.decode("ascii"))
    request = Request(method.decode("ascii"), path, query, _parse_fields(fields), minor == b"0")
    if not request.is_http_1_0 and "host" not in request.headers:
        raise RequestError(400, "The request has no Host header.")
    return request


def _split_target(target: str) -> tuple[str, str]:
    match = re.match(r"https?://[^/?]+", target, re.IGNORECASE)
    if match is not None:
        target = target[match.end() :] or "/"
    path, _, query = target.partition("#")[0].partition("?")
    if path == "" and match is not None:
        path = "/"
    if not path.startswith("/"):
        raise RequestError(400, "The request's target is no path.")
    return path, query


def _parse_fields(fields: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for field in fields:
        match = _HEADER.fullmatch(field)
        if match is None:
            raise RequestError(400, "A header of the request is malformed.")
        name = match[1].decode("ascii").lower()
        value = match[2].decode("latin-1").strip(" \t")
        if name in headers and name in ("host", "content-length", "transfer-encoding"):
            raise RequestError(400, f"The request has more than one {name} header.")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


# Body


def _check_length(request: Request) -> int | None:
    """Length of the body in bytes; None when it is chunked."""
    encoding, length = request.headers.get("transfer-encoding"), request.headers.get("content-length")
    if encoding is not None:
        if length is not None or request.is_http_1_0:
            raise RequestError(400, "The length of the request's body is given in two ways.")
        if encoding.lower() != "chunked":
            raise RequestError(501, "The only Transfer-Encoding that is understood is chunked.")
        return None
    if length is None:
        return 0
    if not _LENGTH.fullmatch(length):
        raise RequestError(400, "The Content-Length of the request is no number.")
    if int(length) > BODY_MAX_BYTES:
        raise _too_large()
    return int(length)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        match = _CHUNK_SIZE.fullmatch(await _read_line(reader))
        if match is None:
            raise RequestError(400, "A chunk of the request's body is malformed.")
        count = int(match[1], 16)
        if count == 0:
            break
        size += count
        if size > BODY_MAX_BYTES:
            raise _too_large()
        part = await reader.readexactly(count + 2)
        if part[-2:] != b"\r\n":
            raise RequestError(400, "A chunk of the request's body is malformed.")
        parts.append(part[:-2])
    await _skip_trailers(reader)
    return b"".join(parts)


async def _skip_trailers(reader: asyncio.StreamReader) -> None:
    left = HEAD_MAX_BYTES
    while line := await _read_line(reader):
        left -= len(line)
        if left < 0:
            raise RequestError(431)


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    try:
        line = await reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError:
        raise RequestError(400, "A line of the request is too long.") from None
    if len(line) > _CHUNK_LINE_MAX_BYTES:
        raise RequestError(400, "A line of the request is too long.")
    return line[:-2]


def _too_large() -> RequestError:
    return RequestError(413, f"The body of a request may have {BODY_MAX_BYTES} bytes.")


def _tokens(value: str) -> set[str]:
    return {token.strip().lower() for token in value.split(",")}


# Answers


def encode_head(status: int, headers: list[tuple[str, str]]) -> bytes:
    """Status line and headers. Raises ValueError where a header would break out of its line."""
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", f"date: {_date(int(time.time()))}"]
    for name, value in headers:
        if not _HEADER.fullmatch(f"{name}: {value}".encode("latin-1")):
            raise ValueError(f"The header {name!r} of an answer is malformed.")
        lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


_dated: tuple[int, str] = (0, "")


def _date(second: int) -> str:
    global _dated
    if _dated[0] != second:
        _dated = (second, formatdate(second, usegmt=True))
    return _dated[1]
