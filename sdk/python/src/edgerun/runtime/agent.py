"""The worker protocol: requests of a worker to the agent on its host."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from ..json_value import JsonLimitError, parse_json
from . import log
from .failures import StartError

# Long polls last 60 s at most.
_POLL_TIMEOUT_S = 90.0
_POST_TIMEOUT_S = 60.0
# A result is offered again for so long: the agent may be restarting.
_POST_PATIENCE_S = 300.0
_PAUSES_S = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_GONE = (ConnectionError, http.client.HTTPException, OSError)


@dataclass(frozen=True)
class Job:
    """A job as it came: its id, and everything else that the agent sends with it."""

    id: str
    payload: Mapping[str, Any]
    problem: str | None = None
    """Why the payload cannot be read; it is empty then."""


class Agent:
    """The agent of this worker. Each thread has its own persistent connection."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Reads RUNPOD_WEBHOOK_GET_JOB and its companions. Raises StartError where one is missing."""
        worker_id = environment.get("RUNPOD_POD_ID", "")

        def address(name: str) -> str:
            value = environment.get(name)
            if not value:
                raise StartError(
                    f"{name} is not set: a queue-based worker is started by the agent of a host."
                )
            return value.replace("$RUNPOD_POD_ID", worker_id)

        self._take_url = address("RUNPOD_WEBHOOK_GET_JOB").replace("$ID", worker_id)
        self._stop_url = self._take_url.replace("/job-take/", "/job-stop/")
        self._result_url = address("RUNPOD_WEBHOOK_POST_OUTPUT")
        self._chunk_url = environment.get("RUNPOD_WEBHOOK_POST_STREAM", "").replace(
            "$RUNPOD_POD_ID", worker_id
        )
        self._ping_url = environment.get("RUNPOD_WEBHOOK_PING", "").replace("$RUNPOD_POD_ID", worker_id)
        self._key = environment.get("RUNPOD_AI_API_KEY", "")
        self._local = threading.local()
        self._polls: set[_Connection] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    # Polls

    def take(self, may_be_busy: bool) -> list[Job]:
        """Polls for jobs; empty when there is none. `may_be_busy`: another job of this worker may still be running."""
        status, body = self._poll(f"{self._take_url}&job_in_progress={int(may_be_busy)}")
        if status != 200:
            return []
        try:
            found = parse_json(body)
        except JsonLimitError as error:
            return _unreadable(body, error)
        except ValueError:
            return []
        jobs = found if isinstance(found, list) else [found]
        return [
            Job(one["id"], one) for one in jobs if isinstance(one, dict) and isinstance(one.get("id"), str)
        ]

    def stops(self) -> list[str]:
        """Waits for jobs that shall be stopped; returns their ids."""
        status, body = self._poll(self._stop_url)
        try:
            ids = json.loads(body)["jobsToStop"] if status == 200 else []
        except (ValueError, KeyError, TypeError):
            return []
        return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []

    def disconnect(self) -> None:
        """Ends all polls, now and for ever."""
        self._closing.set()
        with self._lock:
            polls = list(self._polls)
        for connection in polls:
            connection.disconnect()

    # Messages

    def ping(self, job_ids: list[str]) -> None:
        """Reports that the worker is alive and which jobs it has. Failures are ignored."""
        ids = f"&job_id={quote(','.join(job_ids))}" if job_ids else ""
        if self._ping_url:
            self._connection().try_ask("GET", f"{self._ping_url}{ids}", None, _POST_TIMEOUT_S)

    def result(self, job_id: str, body: bytes, *, is_stream: bool = False) -> None:
        """Posts how a job ended; tries again for a while when the agent is away."""
        self._post(self._result_url, job_id, body, is_stream)

    def progress(self, job_id: str, value: bytes) -> None:
        """Posts an intermediate value as JSON. It is lost when the agent is unreachable."""
        url = _url_of(self._result_url, job_id, False)
        body = b'{"status":"IN_PROGRESS","output":' + value + b"}"
        self._connection().try_ask("POST", url, body, _POST_TIMEOUT_S)

    def chunk(self, job_id: str, value: bytes) -> None:
        """Posts a yielded value as JSON."""
        self._post(self._chunk_url, job_id, b'{"output":' + value + b"}", False)

    # How

    def _poll(self, url: str) -> tuple[int, bytes]:
        connection = self._connection()
        with self._lock:
            self._polls.add(connection)
        try:
            if self._closing.is_set():
                return 204, b""
            answer = connection.try_ask("GET", url, None, _POLL_TIMEOUT_S, self._closing)
        finally:
            with self._lock:
                self._polls.discard(connection)
        if answer is not None and answer[0] in (200, 204):
            self._local.misses = 0
            return answer
        self._rest()
        return 503, b""

    def _rest(self) -> None:
        """Retries with backoff while the agent is unreachable or rejects requests."""
        misses = getattr(self._local, "misses", 0)
        self._local.misses = misses + 1
        self._closing.wait(_PAUSES_S[min(misses, len(_PAUSES_S) - 1)])

    def _post(self, template: str, job_id: str, body: bytes, is_stream: bool) -> None:
        url = _url_of(template, job_id, is_stream)
        deadline = time.monotonic() + _POST_PATIENCE_S
        for attempt in range(1_000_000):
            answer = self._connection().try_ask("POST", url, body, _POST_TIMEOUT_S)
            if answer is not None and answer[0] < 500 and answer[0] != 429:
                if answer[0] >= 400:
                    log.say(
                        f"The agent refuses what the job has to say: {answer[0]}.",
                        level="ERROR",
                        job_id=job_id,
                    )
                return
            if time.monotonic() > deadline:
                break
            time.sleep(_PAUSES_S[min(attempt, len(_PAUSES_S) - 1)])
        log.say("The agent is away; what the job had to say is lost.", level="ERROR", job_id=job_id)

    def _connection(self) -> _Connection:
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _Connection(self._take_url, self._key)
        return connection


# The agent writes the id first.
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]+)"')


def _unreadable(body: bytes, error: JsonLimitError) -> list[Job]:
    """The job that came, to be failed by its id."""
    found = _ID.match(body)
    return [Job(found[1].decode(), {}, f"The input cannot be read: {error}.")] if found else []


def _url_of(template: str, job_id: str, is_stream: bool) -> str:
    return f"{template.replace('$ID', quote(job_id, safe=''))}&isStream={str(is_stream).lower()}"


class _Connection:
    """A persistent connection, which is opened again when it breaks."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = make(parts.hostname or "", parts.port)
        self._headers = {"Authorization": key, "Content-Type": "application/json"}

    def try_ask(
        self, method: str, url: str, body: bytes | None, timeout_s: float, over: threading.Event | None = None
    ) -> tuple[int, bytes] | None:
        """Status and body of the response; None without a response, or when `over` is set before it arrives."""
        was_open = self._http.sock is not None
        answer = self._ask_once(method, url, body, timeout_s, over)
        if answer is not None or not was_open or (over is not None and over.is_set()):
            return answer
        # A persistent connection may have been closed; the agent may still be reachable.
        return self._ask_once(method, url, body, timeout_s, over)

    def _ask_once(
        self, method: str, url: str, body: bytes | None, timeout_s: float, over: threading.Event | None
    ) -> tuple[int, bytes] | None:
        parts = urlsplit(url)
        try:
            self._http.timeout = timeout_s
            if self._http.sock is not None:
                self._http.sock.settimeout(timeout_s)
            self._http.request(method, f"{parts.path}?{parts.query}", body, self._headers)
            if over is not None and over.is_set():  # perhaps before there was a connection to close
                raise ConnectionAbortedError
            response = self._http.getresponse()
            return response.status, response.read()
        except _GONE:
            self._http.close()
            return None

    def disconnect(self) -> None:
        try:
            if self._http.sock is not None:
                self._http.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it had ended
