"""Network volumes: disks that outlive workers and are shared by them."""

from __future__ import annotations

from typing import Any

from .connection import find_connection
from .data_center import DataCenter, read_data_center
from .http_exchange import in_thread
from .keywords import NamesKeywords
from .lifecycle import managed_by
from .volume_store import ensure_volume
from .whole_number import read_whole_number

SIZE_MIN_GB = 10
SIZE_MAX_GB = 4096
DEFAULT_SIZE_GB = 100


class NetworkVolume(NamesKeywords):
    """A volume that is mounted at `/runpod-volume` in each worker.

    It is found by its id, or by name and data center, and created when it does not exist. Nothing deletes it.

    Args:
        name: Name; required unless `id` is given.
        id: Id of a volume that exists.
        size: GB, from 10 to 4096; of a volume that has to be made.
        datacenter: Where it is.

    Raises:
        ValueError: A parameter is not what it should be; the message names it.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        id: str | None = None,
        size: int = DEFAULT_SIZE_GB,
        datacenter: DataCenter | str = DataCenter.EU_RO_1,
    ) -> None:
        for parameter, value in (("name", name), ("id", id)):
            if value is not None and (not isinstance(value, str) or value.strip() == ""):
                raise ValueError(f"NetworkVolume {parameter}={value!r} must be a string that is not empty.")
        if name is None and id is None:
            raise ValueError("NetworkVolume needs name= (found or made by it) or id= (of one that exists).")
        self.name = name
        self.id = id
        self.size = read_whole_number("NetworkVolume size", size, SIZE_MIN_GB, SIZE_MAX_GB)
        self.datacenter = read_data_center("NetworkVolume datacenter", datacenter)

    def resource(self) -> dict[str, Any]:
        """The volume as the manifest has it."""
        known = {} if self.id is None else {"id": self.id}
        named = {} if self.name is None else {"name": self.name, "size": self.size}
        return {**known, **named, "dataCenterId": self.datacenter}

    @managed_by("flash deploy")
    async def deploy(self) -> str:
        """Creates the volume if it does not exist and returns its id; `flash deploy` does that."""
        connection = find_connection()
        return await in_thread(lambda: ensure_volume(connection, self))

    def __repr__(self) -> str:
        return f"NetworkVolume({self.id or self.name!r}, datacenter={self.datacenter!r})"


def read_volumes(value: object, places: tuple[str, ...]) -> tuple[NetworkVolume, ...]:
    """Checks the `volume` parameter against the endpoint's data centers; no places mean any.

    Raises:
        ValueError: It is no volume, is somewhere else than the endpoint, or shares a data center with another.
    """
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not values:
        raise ValueError("volume=[] names no volume: give at least one NetworkVolume, or leave volume out.")
    volumes: list[NetworkVolume] = []
    for volume in values:
        if not isinstance(volume, NetworkVolume):
            raise ValueError(
                f"volume={value!r} holds {volume!r} of type {type(volume).__name__}: "
                "it must be a NetworkVolume, or a list of them."
            )
        _refuse_elsewhere(volume, places)
        _refuse_second(volume, volumes)
        volumes.append(volume)
    return tuple(volumes)


def _refuse_elsewhere(volume: NetworkVolume, places: tuple[str, ...]) -> None:
    # The data centers of a country are known to the service only.
    if not places or any(len(place) == 2 for place in places) or volume.datacenter in places:
        return
    raise ValueError(
        f"volume={volume!r} is in {volume.datacenter}, which is not among datacenter={list(places)!r}: "
        "a worker can mount a volume only where it is."
    )


def _refuse_second(volume: NetworkVolume, before: list[NetworkVolume]) -> None:
    for other in before:
        if other.datacenter == volume.datacenter:
            raise ValueError(
                f"volume={[other, volume]!r} has two volumes in {volume.datacenter}: "
                "a worker mounts one, so give at most one for each data center."
            )
