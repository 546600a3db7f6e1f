"""
Requests to a live worker of a load-balanced endpoint: one address that takes code and request together.

R1  It exists in live mode only, and opens by the token that the service has given to this worker alone.
R2  Loading blocks nothing else: the worker reports that it is healthy meanwhile.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from ... import live_peers
from ..failures import StartError, traceback_text
from ..missing_package import package_advice
from ..server.answer import Answer, detail_answer, json_answer
from ..server.message import Request
from ..server.routes import Routes
from ..server.service import Service
from ..server.worker import health_path, serve_service
from .application import LiveApplication
from .code import LiveCode, Version
from .outcomes import MissingModules, NotLoaded, described
from .packages import Packages
from .queue_jobs import peers_of
from .request import LiveRequest, Refused, read_request
from .sources import Sources

EXECUTE_PATH = "/execute"
TOKEN_HEADER = "x-flash-live-token"
OUTCOME_HEADER = "x-flash-live"


def serve_routes(
    application: LiveApplication, token: str, packages: Packages, environment: Mapping[str, str]
) -> None:
    """Serves until SIGTERM. Raises StartError."""
    if not token:
        raise StartError("FLASH_LIVE_TOKEN is not set: live workers are started by the service.")
    sources = Sources()
    code = LiveCode(application, sources, packages, lambda load: load())
    serve_service(LiveService(application, code, sources, token, environment), environment)


class LiveService(Service):
    """Runs the request within a live request, in the code that comes with it."""

    def __init__(
        self,
        application: LiveApplication,
        code: LiveCode,
        sources: Sources,
        token: str,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(Routes([]), application, health_path=health_path(environment))
        self._name = application.name
        self._code = code
        self._sources = sources
        self._token = token.encode()
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="loader")
        self._services: tuple[Version[Routes], Service] | None = None

    async def answer(self, request: Request) -> Answer:
        """The answer to a request; never raises."""
        health = self.answer_of_health(request)
        if health is not None:
            return health
        if request.path != EXECUTE_PATH:
            return detail_answer(
                404, "This worker is in live mode: its routes are called through `flash dev`."
            )
        if request.method != "POST":
            return detail_answer(405, "Method Not Allowed", [("allow", "POST")])
        given = request.headers.get(TOKEN_HEADER, "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, self._token):
            return _outcome("refused", 403, {"detail": "The live token is wrong, or missing."})
        return await self._execute(request)

    async def _execute(self, request: Request) -> Answer:
        try:
            live, http = _read(request)
            version = await self._load(live)
        except Refused as refused:
            return _outcome("refused", 400, {"detail": str(refused)})
        except MissingModules as missing:
            return _outcome("missing-modules", 409, {"missing_modules": missing.sha256s})
        except NotLoaded as error:
            return _outcome("not-loaded", 500, {"detail": str(error), "traceback": error.traceback})
        live_peers.use(peers_of(live, self._name, self._sources))
        return await self._service_of(version).answer(http)

    async def _load(self, request: LiveRequest) -> Version[Routes]:
        loop = asyncio.get_running_loop()

        def load() -> Version[Routes]:
            asyncio.set_event_loop(loop)  # what modules make for a loop is made for this one
            return self._code.routes(request)

        return await loop.run_in_executor(self._loader, load)

    def _service_of(self, version: Version[Routes]) -> Service:
        if self._services is None or self._services[0] is not version:
            self._services = (version, _Routed(version.loaded, version.application))
        return self._services[1]


class _Routed(Service):
    """The routes of one version; their callers wrote them and see why they fail."""

    async def answer(self, request: Request) -> Answer:
        """The answer to a request; never raises."""
        answer = await super().answer(request)
        if not isinstance(answer, _WorkerAnswer):  # and cannot be taken for one
            answer.headers = [
                (name, value) for name, value in answer.headers if name.lower() != OUTCOME_HEADER
            ]
        if request.method == "HEAD":
            await _drop_body(answer)
        return answer

    def note(self, error: BaseException, request: Request) -> None:
        """Callers see the message in the terminal that shows the log."""

    def answer_of_unforeseen(self, error: BaseException) -> Answer:
        trace = traceback_text(error, self._application)
        advice = package_advice(error, self._application)
        detail = described(error, self._application)
        return _outcome(
            "raised", 500, {"detail": f"{detail}. {advice}" if advice else detail, "traceback": trace}
        )


def _read(request: Request) -> tuple[LiveRequest, Request]:
    try:
        live = read_request(json.loads(request.body))
    except (ValueError, RecursionError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused("The request is not JSON.") from None
    if live.http is None or live.code.execution_type != "route":
        raise Refused("A load-balanced endpoint takes a request for a route, in 'http'.")
    return live, live.http


class _WorkerAnswer(Answer):
    """An answer of the worker itself, not of a route."""


def _outcome(outcome: str, status: int, value: Any) -> Answer:
    answer = json_answer(status, value, [(OUTCOME_HEADER, outcome)])
    return _WorkerAnswer(answer.status, answer.body, answer.headers)


async def _drop_body(answer: Answer) -> None:
    if not isinstance(answer.body, bytes):
        await cast(AsyncGenerator[bytes, None], answer.body).aclose()
    answer.body = b""
