"""What the server does with a request: health, routes, the user's function, and what becomes of its errors."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from .. import log
from ..application import Application
from ..failures import traceback_text
from ..json_text import NotJsonError
from ..missing_package import package_advice
from .answer import Answer, answer_of_error, answer_of_result, answer_of_stream, detail_answer, json_answer
from .connection import is_client_gone
from .message import RequestError, Request
from .parameters import InvalidRequest
from .routes import Found, Routes

HEALTH_PATH = "/ping"
# Plain functions that run at a time; others wait.
THREADS_MAX = 256
_END = object()

Result = TypeVar("Result")


class Service:
    """Answers requests with the functions of an endpoint."""

    def __init__(self, routes: Routes, application: Application, *, health_path: str = HEALTH_PATH) -> None:
        self._routes = routes
        self._application = application
        self._health_paths = {HEALTH_PATH, health_path}
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="route")

    async def answer(self, request: Request) -> Answer:
        """The response to a request; raises only the cancellation of a request whose client has disconnected."""
        health = self.answer_of_health(request)
        if health is not None:
            return health
        try:
            return await self._answer_by_route(request)
        except RequestError as error:
            return detail_answer(error.status, error.detail)
        except InvalidRequest as invalid:
            return detail_answer(422, invalid.details)
        except (Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
            if is_client_gone(error):
                raise
            return self.answer_of_failure(error, request)

    def answer_of_health(self, request: Request) -> Answer | None:
        if request.path not in self._health_paths or request.method not in ("GET", "HEAD"):
            return None
        return json_answer(200, {"status": "healthy"})

    def answer_of_failure(self, error: BaseException, request: Request) -> Answer:
        """Callers learn of an unforeseen error only that a result is no JSON; its traceback is in the log."""
        try:
            foreseen = answer_of_error(error)
        except Exception:
            foreseen = None
        if foreseen is not None:
            return foreseen
        self.note(error, request)
        return self.answer_of_unforeseen(error)

    def answer_of_unforeseen(self, error: BaseException) -> Answer:
        is_no_json = isinstance(error, NotJsonError)  # Its message has a place and a type, and nothing of the code.
        return detail_answer(500, str(error) if is_no_json else "Internal Server Error")

    def note(self, error: BaseException, request: Request) -> None:
        trace = traceback_text(error, self._application)
        advice = package_advice(error, self._application) or ""
        log.say(f"{request.method} {request.path} failed.\n{trace}{advice}", level="ERROR")

    async def _answer_by_route(self, request: Request) -> Answer:
        found = self._routes.find(request.method, request.path)
        if isinstance(found, Found):
            return await self._call(found, request)
        if not found:
            return detail_answer(404, "Not Found")
        return detail_answer(405, "Method Not Allowed", [("allow", ", ".join(found))])

    async def _call(self, found: Found, request: Request) -> Answer:
        function = found.route.function
        positional, named = found.route.parameters.bind(request, found.path_values)
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            result = function(*positional, **named)
        else:
            result = await self._in_thread(lambda: function(*positional, **named))
        if inspect.isawaitable(result):
            result = await result
        if inspect.isasyncgen(result):
            return await answer_of_stream(result)
        if inspect.isgenerator(result):
            return await answer_of_stream(self._iterate(result))
        return answer_of_result(result)

    async def _iterate(self, generator: Generator[Any, Any, Any]) -> AsyncIterator[Any]:
        try:
            while (value := await self._in_thread(lambda: next(generator, _END))) is not _END:
                yield value
        finally:
            await self._in_thread(generator.close)

    def _in_thread(self, act: Callable[[], Result]) -> asyncio.Future[Result]:
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(self._threads, _within, context, act)


def _within(context: contextvars.Context, act: Callable[[], Result]) -> Result:
    try:
        return context.run(act)
    except StopIteration as error:  # a future cannot hold it
        raise RuntimeError("The function has raised StopIteration.") from error
