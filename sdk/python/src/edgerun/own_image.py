"""Endpoints with their own image: found by name, or created."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .connection import Connection
from .data_center import country_of
from .errors import EndpointNotFoundError
from .graphql import mutate, query
from .scaling import ServerlessType
from .volume_store import ensure_volume

if TYPE_CHECKING:
    from .endpoint import Endpoint

_ENDPOINTS = "query { myself { endpoints { id name type } } }"
_SAVE_ENDPOINT = "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id templateId } }"
_SAVE_TEMPLATE = "mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }"
_DELETE_ENDPOINT = "mutation ($id: String) { deleteEndpoint(id: $id) }"

# Members of a manifest that saveEndpoint takes in another form, or not at all.
_CONVERTED = {
    *("is_load_balanced", "client_mode", "max_concurrency", "imageName", "env", "template"),
    *("locations", "networkVolumeId", "networkVolume", "networkVolumes"),
}


class OwnImage:
    """The endpoint on the service that an Endpoint(name=…, image=…) stands for."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._id: str | None = None

    def ensure(self, connection: Connection, kind: ServerlessType) -> str:
        """Its id: of the one with this name, else of a new one of this kind. Blocks."""
        with self._lock:
            if self._id is None:
                self._id = self._find(connection) or self._create(connection, kind)
            return self._id

    def update(self, connection: Connection) -> str:
        """Updates the endpoint to its declaration; returns its id. Blocks.

        Raises:
            EndpointNotFoundError: The endpoint does not exist.
        """
        with self._lock:
            id = self._existing(connection)
            saved = mutate(connection, _SAVE_ENDPOINT, {"input": {"id": id, **self._fields(connection)}})
            template_id = saved["saveEndpoint"]["templateId"]
            mutate(connection, _SAVE_TEMPLATE, {"input": {"id": template_id, **self._template()}})
            self._id = id
            return id

    def remove(self, connection: Connection) -> None:
        """Deletes the endpoint, after its workers were released. Blocks.

        Raises:
            EndpointNotFoundError: The endpoint does not exist.
        """
        with self._lock:
            id = self._existing(connection)
            none = {"id": id, "workersMin": 0, "workersMax": 0}
            mutate(connection, _SAVE_ENDPOINT, {"input": {**none, "name": self._endpoint.name}})
            mutate(connection, _DELETE_ENDPOINT, {"id": id})
            self._id = None

    def _existing(self, connection: Connection) -> str:
        id = self._endpoint.id or self._find(connection)
        if id is None:
            raise EndpointNotFoundError(f"There is no endpoint '{self._endpoint.name}'.")
        return id

    def _find(self, connection: Connection) -> str | None:
        endpoints = query(connection, _ENDPOINTS, {})["myself"]["endpoints"]
        return next((str(found["id"]) for found in endpoints if found["name"] == self._endpoint.name), None)

    def _create(self, connection: Connection, kind: ServerlessType) -> str:
        fields = {**self._fields(connection), "type": kind.value, "template": self._template()}
        if kind is ServerlessType.LB:
            fields["scalerType"] = "REQUEST_COUNT"
        return str(mutate(connection, _SAVE_ENDPOINT, {"input": fields})["saveEndpoint"]["id"])

    def _fields(self, connection: Connection) -> dict[str, Any]:
        resource = self._endpoint.resource()
        fields: dict[str, Any] = {"name": self._endpoint.name}
        fields |= {key: value for key, value in resource.items() if key not in _CONVERTED}
        if "locations" in resource:
            places = resource["locations"].split(",")
            fields["locations"] = ",".join(dict.fromkeys(country_of(place) for place in places))
        volumes = [ensure_volume(connection, volume) for volume in self._endpoint.volumes]
        if volumes:
            fields["networkVolumeIds"] = [{"networkVolumeId": id} for id in volumes]
        return fields

    def _template(self) -> dict[str, Any]:
        resource = self._endpoint.resource()
        template = dict(resource["template"])
        env = {variable["key"]: variable["value"] for variable in template.pop("env", [])}
        env |= resource.get("env", {})
        template.setdefault("name", f"{self._endpoint.name}__image")
        return {
            **template,
            "imageName": resource["imageName"],
            "env": [{"key": key, "value": value} for key, value in env.items()],
        }
