"""An agent's side of the worker protocol over real HTTP, driven by a test."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

WAIT_S = 30.0


class ScriptedAgent:
    """Hands out jobs to one worker and keeps what it posts."""

    def __init__(self, port: int = 0) -> None:
        self.changed = threading.Condition()
        self.waiting: list[bytes] = []
        self.stop_orders: list[str] = []
        self.bodies: dict[str, list[bytes]] = defaultdict(list)
        self.chunks: dict[str, list[Any]] = defaultdict(list)
        self.is_stream: dict[str, bool] = {}
        self.progress: dict[str, list[Any]] = defaultdict(list)
        self.pings: list[set[str]] = []
        self.takes: list[dict[str, list[str]]] = []
        self.open_takes = 0
        self.open_stops = 0
        self.error_statuses: dict[str, list[int]] = defaultdict(list)
        self.releases = 0
        self._count = 0
        self._server = _Server(("127.0.0.1", port), _Request)
        self._server.agent = self
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    @property
    def environment(self) -> dict[str, str]:
        """What an agent puts into the environment of its worker."""
        base = f"http://127.0.0.1:{self._server.server_port}/T"
        return {
            "RUNPOD_WEBHOOK_GET_JOB": f"{base}/job-take/w1?x=1",
            "RUNPOD_WEBHOOK_POST_OUTPUT": f"{base}/job-done/w1/$ID?x=1",
            "RUNPOD_WEBHOOK_POST_STREAM": f"{base}/job-stream/w1/$ID?x=1",
            "RUNPOD_WEBHOOK_PING": f"{base}/ping/w1?x=1",
            "RUNPOD_PING_INTERVAL": "1000",
            "RUNPOD_AI_API_KEY": "T",
            "RUNPOD_POD_ID": "w1",
            "RUNPOD_POD_HOSTNAME": "w1",
            "RUNPOD_ENDPOINT_ID": "endpoint-1",
        }

    def close(self) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._server.disconnect()

    # What a test does

    def submit(self, value: Any, job_id: str | None = None) -> str:
        """Queues a job; answers its id."""
        return self.submit_text(json.dumps(value), job_id)

    def submit_text(self, text: str, job_id: str | None = None) -> str:
        """The same with an input that is JSON text."""
        with self.changed:
            self._count += 1
            job_id = job_id or f"job-{self._count}"
            self.waiting.append(f'{{"id":{json.dumps(job_id)},"input":{text}}}'.encode())
            self.changed.notify_all()
        return job_id

    def run(self, value: Any) -> dict[str, Any]:
        """Queues a job; answers the result that is posted."""
        return self.result(self.submit(value))

    def result(self, job_id: str) -> dict[str, Any]:
        self.until(lambda: self.bodies[job_id], f"a result of {job_id}")
        result: dict[str, Any] = json.loads(self.bodies[job_id][0])
        return result

    def stop(self, job_id: str) -> None:
        with self.changed:
            self.stop_orders.append(job_id)
            self.changed.notify_all()

    def release(self) -> None:
        """Answers all polls with nothing, as an agent does before it ends a worker."""
        with self.changed:
            self.releases += 1
            self.changed.notify_all()

    def until(self, holds: Any, what: str = "it") -> Any:
        """Waits for something to hold; answers what it gave."""
        with self.changed:
            if not self.changed.wait_for(holds, WAIT_S):
                raise AssertionError(f"{what} did not come")
            return holds()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    agent: ScriptedAgent

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._peers: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._peers.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._peers.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Workers of tests are killed in the middle of whatever they do."""

    def disconnect(self) -> None:
        for peer in list(self._peers):
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self) -> None:
        agent = self.server.agent
        url = urlsplit(self.path)
        _, token, route, worker, *rest = url.path.split("/")
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        assert (token, worker, self.headers["authorization"]) == ("T", "w1", "T")
        if agent.error_statuses[route]:
            return self._send(agent.error_statuses[route].pop(0), None)
        getattr(self, "_" + route.replace("-", "_"))(agent, parse_qs(url.query), body, *rest)

    def _job_take(self, agent: ScriptedAgent, query: dict[str, list[str]], _: bytes) -> None:
        with agent.changed:
            agent.takes.append(query)
        self._hold("open_takes", lambda: agent.waiting, lambda: agent.waiting.pop(0))

    def _job_stop(self, agent: ScriptedAgent, *_: Any) -> None:
        def orders() -> dict[str, Any]:
            found, agent.stop_orders = agent.stop_orders, []
            return {"jobsToStop": found}

        self._hold("open_stops", lambda: agent.stop_orders, orders)

    def _hold(self, counter: str, is_there: Callable[[], Any], take: Callable[[], Any]) -> None:
        """Answers once there is something, or with nothing; sees when its peer hangs up."""
        agent, answer = self.server.agent, None
        with agent.changed:
            before = agent.releases
            self._count(counter, 1)
            while agent.releases == before and not is_there() and not self._is_gone():
                agent.changed.wait(0.05)
            self._count(counter, -1)
            if agent.releases == before and not self._is_gone():
                answer = take()
        try:
            self._send(204 if answer is None else 200, answer)
        except OSError:
            self.close_connection = True

    def _count(self, counter: str, by: int) -> None:
        agent = self.server.agent
        setattr(agent, counter, getattr(agent, counter) + by)
        agent.changed.notify_all()

    def _is_gone(self) -> bool:
        return bool(select.select([self.connection], [], [], 0)[0])

    def _ping(self, agent: ScriptedAgent, query: dict[str, list[str]], _: bytes) -> None:
        with agent.changed:
            agent.pings.append({one for ids in query.get("job_id", []) for one in ids.split(",")})
            agent.changed.notify_all()
        self._send(200, {})

    def _job_done(self, agent: ScriptedAgent, query: dict[str, list[str]], body: bytes, job_id: str) -> None:
        with agent.changed:
            posted = json.loads(body)
            if posted.get("status") == "IN_PROGRESS":
                agent.progress[job_id].append(posted["output"])
            else:
                agent.bodies[job_id].append(body)
                agent.is_stream[job_id] = query["isStream"] == ["true"]
            agent.changed.notify_all()
        self._send(200, {})

    def _job_stream(self, agent: ScriptedAgent, _: dict[str, list[str]], body: bytes, job_id: str) -> None:
        with agent.changed:
            agent.chunks[job_id].append(json.loads(body)["output"])
            agent.changed.notify_all()
        self._send(200, {})

    def _send(self, status: int, value: Any) -> None:
        if not isinstance(value, bytes):
            value = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        if status != 204:
            self.send_header("content-length", str(len(value)))
        self.end_headers()
        self.wfile.write(value)
