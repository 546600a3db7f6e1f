"""Network volumes on the service: found by name and data center, or made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .connection import Connection
from .errors import FlashRuntimeError
from .http_exchange import Request, exchange
from .json_value import encode_json

if TYPE_CHECKING:
    from .volume import NetworkVolume

CALL_SECONDS = 60.0


def ensure_volume(connection: Connection, volume: NetworkVolume) -> str:
    """The id of `volume`, which is created if its data center has no volume with its name. Blocks."""
    if volume.id is not None:
        return volume.id
    for found in _list(connection):
        if (found.get("name"), found.get("dataCenterId")) == (volume.name, volume.datacenter):
            return str(found["id"])
    body = encode_json(volume.resource(), "the volume")
    return str(exchange(_request(connection, "POST", body))["id"])


def _list(connection: Connection) -> list[dict[str, Any]]:
    answer = exchange(_request(connection, "GET"))
    if not isinstance(answer, list):
        raise FlashRuntimeError(
            f"The service at {connection.url} did not answer with a list of network volumes."
        )
    return answer


def _request(connection: Connection, method: str, body: bytes | None = None) -> Request:
    return Request(method, f"{connection.url}/v1/networkvolumes", connection.api_key, CALL_SECONDS, body)
