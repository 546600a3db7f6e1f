"""Where the other endpoints of a worker's environment are."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from .connection import Connection, find_connection
from .errors import FlashError, ManifestServiceUnavailableError
from .graphql import RETRY_PAUSES_SECONDS, query
from .http_exchange import in_thread
from .queue_api import QueueApi

CACHE_SECONDS = 300.0

_ADDRESS = re.compile(r"(?P<origin>https?://.+?)/(?:v2|lb)/(?P<id>[^/?#]+)")

_ACTIVE_BUILD = "query ($id: String) { flashEnvironment(flashEnvironmentId: $id) { activeBuildId } }"
_MANIFEST = "query ($id: String) { flashBuild(flashBuildId: $id) { manifest } }"


class PeerDirectory:
    """Addresses by endpoint name, as the environment's active build has them.

    They are requested at most every 300 seconds; while the service is unreachable, the last ones stay in use.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        pauses_seconds: tuple[float, ...] = RETRY_PAUSES_SECONDS,
    ) -> None:
        self._clock = clock
        self._pauses_seconds = pauses_seconds
        self._lock = threading.Lock()
        self._addresses: Mapping[str, str] | None = None
        self._refreshed_at = 0.0

    def address(self, connection: Connection, environment_id: str, name: str) -> str | None:
        """The URL of the endpoint with this name; None when the manifest does not name it. Blocks.

        Raises:
            ManifestServiceUnavailableError: The service is unreachable, and has never answered before.
        """
        with self._lock:
            if self._addresses is None or self._clock() - self._refreshed_at >= CACHE_SECONDS:
                self._addresses = self._refreshed(connection, environment_id)
                self._refreshed_at = self._clock()
            return self._addresses.get(name)

    def forget(self) -> None:
        """Makes the next question go to the service."""
        with self._lock:
            self._refreshed_at = self._clock() - CACHE_SECONDS

    def _refreshed(self, connection: Connection, environment_id: str) -> Mapping[str, str]:
        try:
            return self._ask(connection, environment_id)
        except (FlashError, TimeoutError) as error:
            if self._addresses is not None:
                return self._addresses
            raise ManifestServiceUnavailableError(
                f"The endpoints of environment {environment_id} cannot be looked up: {error}"
            ) from error

    def _ask(self, connection: Connection, environment_id: str) -> Mapping[str, str]:
        found = query(connection, _ACTIVE_BUILD, {"id": environment_id}, self._pauses_seconds)
        build_id = _member(found.get("flashEnvironment"), "activeBuildId")
        if not isinstance(build_id, str):
            return {}
        built = query(connection, _MANIFEST, {"id": build_id}, self._pauses_seconds)
        addresses = _member(_member(built.get("flashBuild"), "manifest"), "resources_endpoints")
        if not isinstance(addresses, dict):
            return {}
        return {name: url for name, url in addresses.items() if isinstance(url, str)}


_directory = PeerDirectory()


async def find_peer(name: str) -> QueueApi | None:
    """The queue of another endpoint of this worker's environment; None where the manifest does not name it.

    Raises:
        ManifestServiceUnavailableError: The service is unreachable, and has never answered before.
        APIKeyError: The worker has no key: its build saw no calls of other endpoints.
    """
    found = await in_thread(lambda: _find_address(name))
    if found is None:
        return None
    connection, id = found
    return QueueApi.of_endpoint(connection, id)


async def find_peer_id(name: str) -> str | None:
    """The id of another endpoint of this worker's environment, as `find_peer` finds it."""
    found = await in_thread(lambda: _find_address(name))
    return None if found is None else found[1]


def peer_connection(name: str) -> Connection | None:
    """Where the routes of another endpoint are, as `find_peer` finds it. Blocks."""
    found = _find_address(name)
    if found is None:
        return None
    connection, id = found
    return Connection(f"{connection.url}/lb/{quote(id, safe='')}", connection.api_key)


def _find_address(name: str) -> tuple[Connection, str] | None:
    environment_id = os.environ.get("FLASH_ENVIRONMENT_ID")
    if not environment_id:
        return None
    connection = find_connection()
    address = _directory.address(connection, environment_id, name)
    match = _ADDRESS.match(address) if address else None
    if match is None:
        return None
    # This is the public URL; workers may reach the service at another one.
    origin = os.environ.get("EDGERUN_URL") or match["origin"]
    return Connection(origin.rstrip("/"), connection.api_key), match["id"]


def forget_peers() -> None:
    """Makes the next call ask where the peers are."""
    _directory.forget()


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
