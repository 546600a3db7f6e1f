"""
One connection of a client.

C1  Requests are answered one after the other, in the order in which they came.
C2  Whatever a client sends, at most its own connection ends.
C3  When a client goes, the work for its request is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from .. import log
from ..json_text import encode
from .answer import Answer, detail_answer
from .message import RequestError, Request, encode_head, read_request

# Seconds for which an idle connection stays open, and within which a request must arrive completely.
KEEP_ALIVE_S = 600.0
# Seconds that a client has to read the error when its request was rejected before it was read completely.
_LINGER_S = 2.0

# Seconds between two looks whether the client of a request is still there.
_LOOK_S = 1.0

# Statuses whose answers have no body.
_BARE = (204, 304)

Respond = Callable[[Request], Awaitable[Answer]]
Note = Callable[[BaseException, Request], None]


class Connection:
    """Serves a client until it goes, or is not understood."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, respond: Respond, note: Note
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._respond = respond
        self._note = note
        self._is_idle = False
        self._is_ending = False

    async def serve(self) -> None:
        """Never raises."""
        try:
            while not self._is_ending:
                request = await self._next_request()
                if request is None or not await self._answer(request):
                    break
        except RequestError as error:
            await self._refuse(error)
        except (ConnectionError, asyncio.IncompleteReadError, OSError):
            pass  # the client has disconnected
        except asyncio.CancelledError as error:
            if not is_client_gone(error):
                raise
        except Exception as error:
            log.say(f"A connection has failed: {error!r}", level="ERROR")
        finally:
            self._writer.close()

    def end(self) -> None:
        """Ends at once between two requests, otherwise after the current one."""
        self._is_ending = True
        if self._is_idle:
            self._writer.transport.abort()

    async def _next_request(self) -> Request | None:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(KEEP_ALIVE_S, self._writer.transport.abort)
        self._is_idle = True
        try:
            return await read_request(self._reader, self._writer)
        finally:
            self._is_idle = False
            timer.cancel()

    async def _answer(self, request: Request) -> bool:
        """False when the connection can no longer be used."""
        watch = _Watch(self._reader, self._writer)
        try:
            return await self._answer_watched(request)
        finally:
            watch.stop()

    async def _answer_watched(self, request: Request) -> bool:
        answer = await self._respond(request)
        keeps = request.keeps_connection and not self._is_ending
        try:
            head = self._head(request, answer, keeps)
        except ValueError as error:
            self._note(error, request)
            answer = detail_answer(500, "Internal Server Error")
            head = self._head(request, answer, keeps)
        if isinstance(answer.body, bytes):
            self._writer.write(head if _is_bare(request, answer) else head + answer.body)
            await self._writer.drain()
            return keeps
        return await self._stream(request, head, answer.body) and keeps

    def _head(self, request: Request, answer: Answer, keeps: bool) -> bytes:
        framing = [] if keeps else [("connection", "close")]
        if not isinstance(answer.body, bytes):
            framing += [] if request.is_http_1_0 else [("transfer-encoding", "chunked")]
        elif answer.status not in _BARE:
            framing.append(("content-length", str(len(answer.body))))
        return encode_head(answer.status, [*answer.headers, *framing])

    async def _stream(self, request: Request, head: bytes, pieces: AsyncIterator[bytes]) -> bool:
        try:
            await self._send_pieces(request, head, pieces)
            return True
        except (ConnectionError, OSError):
            raise
        except Exception as error:
            self._note(error, request)
            return False  # without its last chunk it does not look complete

    async def _send_pieces(self, request: Request, head: bytes, pieces: AsyncIterator[bytes]) -> None:
        is_chunked = not request.is_http_1_0
        try:
            self._writer.write(head)
            if request.method == "HEAD":
                return
            async for piece in pieces:
                if piece:
                    self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
                    await self._writer.drain()
            if is_chunked:
                self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()
        finally:
            await _close(pieces)

    async def _refuse(self, error: RequestError) -> None:
        """A client that still sends would be reset before it has read the answer, so the rest is read for a moment."""
        body = encode({"detail": error.detail}, "the answer")
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        timer = asyncio.get_running_loop().call_later(_LINGER_S, self._writer.transport.abort)
        try:
            self._writer.write(encode_head(error.status, headers) + body)
            self._writer.write_eof()
            while await self._reader.read(65_536):
                pass
        except (ConnectionError, OSError):
            pass
        finally:
            timer.cancel()


_CLIENT_GONE = "the client of the request has disconnected"


def is_client_gone(error: BaseException) -> bool:
    """Whether work was cancelled because the client has disconnected."""
    return isinstance(error, asyncio.CancelledError) and error.args == (_CLIENT_GONE,)


class _Watch:
    """Cancels the task that has made it when the client goes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_LOOK_S, self._look)

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        if self._is_gone():
            assert self._task is not None
            self._task.cancel(_CLIENT_GONE)
        else:
            self._timer = self._loop.call_later(_LOOK_S, self._look)

    def _is_gone(self) -> bool:
        return (
            self._reader.at_eof()
            or self._reader.exception() is not None
            or self._writer.transport.is_closing()
        )


def _is_bare(request: Request, answer: Answer) -> bool:
    return request.method == "HEAD" or answer.status in _BARE


async def _close(pieces: AsyncIterator[bytes]) -> None:
    close = getattr(pieces, "aclose", None)
    if close is not None:
        await close()
