"""A client of one endpoint, by its id or by its own image."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .app_context import find_app_context
from .connection import Connection, find_connection
from .dev_server import dev_server_api, dev_server_url, is_for_dev_server
from .http_exchange import REFUSED, Request, exchange_in_thread, in_thread, patiently
from .job import EndpointJob
from .json_value import encode_json
from .live_peers import current as live_peers_of_worker
from .own_image import OwnImage
from .peers import find_peer_id
from .query_text import query_text
from .queue_api import QUICK_SECONDS, QueueApi
from .remote_call import api_by_name, name_headers
from .route import OF_QUERY
from .scaling import ServerlessType
from .worker import is_worker

if TYPE_CHECKING:
    from .endpoint import Endpoint

RUNSYNC_SECONDS = 60.0


class EndpointClient:
    """Calls an endpoint; one of an own image is made on the first call."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._own_image = OwnImage(endpoint)

    # Jobs

    async def run(self, input: Any, *, webhook: str | None = None) -> EndpointJob:
        """Submits a job."""
        api = await self._queue()
        options = {} if webhook is None else {"webhook": webhook}
        body = encode_json({"input": input, **options}, "the input")
        deadline = time.monotonic() + QUICK_SECONDS
        return EndpointJob(api, await patiently(lambda: api.run(body), deadline, again_on=REFUSED))

    async def runsync(self, input: Any, timeout: float | None) -> EndpointJob:
        """Submits a job and waits for it, for `timeout` seconds at most."""
        api = await self._queue()
        body = encode_json({"input": input}, "the input")
        deadline = time.monotonic() + (timeout if timeout is not None else self._runsync_seconds())
        reply = await patiently(
            lambda: api.runsync(body, deadline - time.monotonic()), deadline, again_on=REFUSED
        )
        job = EndpointJob(api, reply)
        try:
            return await job.wait(max(deadline - time.monotonic(), 0.0))
        except TimeoutError:
            return job

    def job(self, job_id: str) -> _JobById:
        """The job with this id."""
        return _JobById(self, job_id)

    def _runsync_seconds(self) -> float:
        return self._endpoint.execution_timeout_ms / 1000 or RUNSYNC_SECONDS

    async def _queue(self) -> QueueApi:
        name = self._endpoint.name or ""
        if self._endpoint.id is None and is_for_dev_server():
            return dev_server_api(name)
        if self._endpoint.id is None and live_peers_of_worker() is not None:
            return api_by_name(name, find_app_context(name))
        connection = find_connection()
        return QueueApi.of_endpoint(connection, await self._id(connection, ServerlessType.QB))

    # Requests

    async def send(
        self, method: str, path: str, data: Any, timeout: float, headers: Mapping[str, str] | None
    ) -> Any:
        """Sends a request to a worker of a load-balanced endpoint and returns the parsed JSON of the answer."""
        if not path.startswith("/"):
            raise ValueError(f'path={path!r} must begin with "/", such as "/items".')
        base, key, own_headers = await self._routes()
        url = f"{base}{path}"
        body = None
        if data is not None and method in OF_QUERY:
            url = f"{url}{'&' if '?' in path else '?'}{query_text(data)}"
        elif data is not None:
            body = encode_json(data, "data")
        sent = {**own_headers, **(headers or {})}
        return await exchange_in_thread(Request(method, url, key, timeout, body, sent))

    async def _routes(self) -> tuple[str, str, Mapping[str, str]]:
        """How its routes are called: base URL, key, and headers that name the endpoint."""
        name = self._endpoint.name or ""
        if self._endpoint.id is None and is_for_dev_server():
            return f"{dev_server_url()}/{quote(name, safe='')}", "", {}
        connection = find_connection()
        if self._endpoint.id is None and live_peers_of_worker() is not None:
            return (
                f"{connection.url}/lb/flash",
                connection.api_key,
                name_headers(name, find_app_context(name)),
            )
        id = await self._id(connection, ServerlessType.LB)
        return f"{connection.url}/lb/{quote(id, safe='')}", connection.api_key, {}

    # Life

    async def _id(self, connection: Connection, kind: ServerlessType) -> str:
        if self._endpoint.id is not None:
            return self._endpoint.id
        # The key of a worker opens its environment, in which this one is, and not the list of all endpoints.
        if is_worker() and (peer_id := await find_peer_id(self._endpoint.name or "")):
            return peer_id
        return await in_thread(lambda: self._own_image.ensure(connection, kind))

    async def provision(self) -> str:
        """Creates the endpoint with its own image if it does not exist; returns its id."""
        return await self._id(find_connection(), ServerlessType.QB)

    async def update(self) -> str:
        """Updates the endpoint with its own image to its declaration; returns its id."""
        connection = find_connection()
        return await in_thread(lambda: self._own_image.update(connection))

    async def remove(self) -> None:
        """Deletes the endpoint."""
        connection = find_connection()
        await in_thread(lambda: self._own_image.remove(connection))


class _JobById:
    """A job of which only the id is known."""

    def __init__(self, client: EndpointClient, job_id: str) -> None:
        self._client = client
        self._job_id = job_id

    async def status(self) -> str:
        return await (await self._job()).status()

    async def cancel(self) -> EndpointJob:
        return await (await self._job()).cancel()

    async def _job(self) -> EndpointJob:
        return EndpointJob(await self._client._queue(), {"id": self._job_id})
