"""Container settings of an endpoint's workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .keywords import NamesKeywords
from .whole_number import read_whole_number

DEFAULT_DISK_GB = 64


class PodTemplate(NamesKeywords):
    """Container settings of an endpoint's workers; the names are those of the management API.

    Args:
        advancedStart: Whether `startScript` replaces the image's own start.
        config: Settings that are kept with the template; `flash deploy` leaves them out and reports that.
        containerDiskInGb: GB of the container's own disk. Without it: 64, or less where a CPU instance has less.
        containerRegistryAuthId: Id of saved credentials, for a private image.
        dockerArgs: Arguments of the container.
        env: Variables, as a list of {"key": …, "value": …} or as a dictionary.
        imageName: An image instead of the one that the endpoint would have.
        name: Name of the template; `flash deploy` leaves it out and reports that.
        ports: Such as "8000/http,22/tcp".
        startScript: Script that is run at the start.

    Raises:
        ValueError: A parameter is not what it should be; the message names it.
    """

    def __init__(
        self,
        *,
        advancedStart: bool = False,
        config: Mapping[str, Any] | None = None,
        containerDiskInGb: int | None = None,
        containerRegistryAuthId: str = "",
        dockerArgs: str = "",
        env: Sequence[Mapping[str, str]] | Mapping[str, str] = (),
        imageName: str = "",
        name: str = "",
        ports: str = "",
        startScript: str = "",
    ) -> None:
        self.advancedStart = advancedStart
        self.config = dict(config or {})
        self.has_disk = containerDiskInGb is not None
        self.containerDiskInGb = read_whole_number(
            "PodTemplate containerDiskInGb", containerDiskInGb if self.has_disk else DEFAULT_DISK_GB, 1
        )
        self.containerRegistryAuthId = containerRegistryAuthId
        self.dockerArgs = dockerArgs
        self.env = _read_variables(env)
        self.imageName = imageName
        self.name = name
        self.ports = ports
        self.startScript = startScript

    def resource(self, disk_limit_gb: int | None) -> dict[str, Any]:
        """The template as the manifest has it: the disk, and whatever differs from nothing.

        Raises:
            ValueError: The disk that was asked for is above the limit of the CPU instance.
        """
        shown: dict[str, Any] = {"containerDiskInGb": self._disk(disk_limit_gb)}
        texts = ("containerRegistryAuthId", "dockerArgs", "imageName", "name", "ports", "startScript")
        for key in (*texts, "advancedStart", "config", "env"):
            if value := getattr(self, key):
                shown[key] = value
        return shown

    def _disk(self, limit_gb: int | None) -> int:
        if limit_gb is None or self.containerDiskInGb <= limit_gb:
            return self.containerDiskInGb
        if self.has_disk:
            raise ValueError(
                f"template containerDiskInGb={self.containerDiskInGb} is above the limit of the CPU instance: "
                f"it must be from 1 to {limit_gb}."
            )
        return limit_gb

    def __repr__(self) -> str:
        return f"PodTemplate(containerDiskInGb={self.containerDiskInGb})"


def refuse_own_name(key: object, parameter: str) -> None:
    """Variables of the service itself cannot be set.

    Raises:
        ValueError: The name is one of these.
    """
    if isinstance(key, str) and key.startswith("_FLASH_"):
        raise ValueError(f"{parameter} has {key!r}: names that begin with _FLASH_ belong to the service.")


def _read_variables(env: Sequence[Mapping[str, str]] | Mapping[str, str]) -> list[dict[str, str]]:
    if isinstance(env, Mapping):
        env = [{"key": key, "value": value} for key, value in env.items()]
    for variable in env:
        if not isinstance(variable, Mapping) or set(variable) != {"key", "value"}:
            raise ValueError(f'PodTemplate env={env!r} must be a list of {{"key": …, "value": …}}.')
        refuse_own_name(variable["key"], "PodTemplate env")
    return [dict(variable) for variable in env]
