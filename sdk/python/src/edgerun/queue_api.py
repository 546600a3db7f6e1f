"""The queue API of one endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from .connection import Connection
from .errors import FlashRuntimeError
from .http_exchange import Request, exchange_in_thread

QUICK_SECONDS = 60.0
"""For an answer that the service gives at once."""
WAIT_MIN_SECONDS = 1.0
WAIT_MAX_SECONDS = 300.0
"""The longest time for which the service keeps a runsync request open."""
_GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class QueueApi:
    """The queue API at `url`, which is `…/v2/<endpoint id>`; `headers` go with every request."""

    url: str
    api_key: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_endpoint(cls, connection: Connection, endpoint_id: str) -> QueueApi:
        """That of the endpoint with this id."""
        return cls(f"{connection.url}/v2/{quote(endpoint_id, safe='')}", connection.api_key)

    async def run(self, body: bytes) -> dict[str, Any]:
        """Submits a job."""
        return await self._ask("POST", "run", QUICK_SECONDS, body)

    async def runsync(self, body: bytes, wait_seconds: float) -> dict[str, Any]:
        """Submits a job and waits for it, for 1 to 300 seconds; then it is answered as it stands."""
        wait = min(max(wait_seconds, WAIT_MIN_SECONDS), WAIT_MAX_SECONDS)
        return await self._ask("POST", f"runsync?wait={round(wait * 1000)}", wait + _GRACE_SECONDS, body)

    async def status(self, job_id: str) -> dict[str, Any]:
        """How a job stands."""
        return await self._ask("GET", f"status/{quote(job_id, safe='')}", QUICK_SECONDS)

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """Stops a job."""
        return await self._ask("POST", f"cancel/{quote(job_id, safe='')}", QUICK_SECONDS, b"{}")

    async def _ask(self, method: str, path: str, timeout: float, body: bytes | None = None) -> dict[str, Any]:
        url = f"{self.url}/{path}"
        answer = await exchange_in_thread(Request(method, url, self.api_key, timeout, body, self.headers))
        if not isinstance(answer, dict):
            raise FlashRuntimeError(
                f"{method} {url} was answered with something else than a job: {answer!r:.200}"
            )
        return answer
