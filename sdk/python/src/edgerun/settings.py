"""The parameters of an endpoint, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .cpu import CpuInstanceType, disk_limit_gb, read_cpus
from .cuda import CudaVersion, read_cuda_version
from .data_center import read_data_centers, refuse_places_without_cpus
from .gpu import Gpu, GpuGroup, gpu_ids, read_gpus
from .model import read_model_token_secret, read_models
from .scaling import ServerlessScalerType, read_scaler_type, read_workers
from .template import PodTemplate, refuse_own_name
from .volume import NetworkVolume, read_volumes
from .whole_number import read_whole_number

NAME_MAX_CHARACTERS = 191
IDLE_TIMEOUT_MAX_SECONDS = 3600
EXECUTION_TIMEOUT_MIN_MS = 5_000
EXECUTION_TIMEOUT_MAX_MS = 7 * 24 * 3600 * 1000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_PYTHON_VERSION = re.compile(r"3\.\d{1,2}")


@dataclass(frozen=True)
class Settings:
    """Settings of an endpoint, apart from its name and its code."""

    gpus: tuple[Gpu, ...]
    cpus: tuple[CpuInstanceType, ...]
    workers: tuple[int, int]
    idle_timeout: int
    dependencies: tuple[str, ...]
    system_dependencies: tuple[str, ...]
    accelerate_downloads: bool
    volumes: tuple[NetworkVolume, ...]
    data_centers: tuple[str, ...]
    env: Mapping[str, str]
    gpu_count: int
    gpu_memory_gb: int | None
    execution_timeout_ms: int
    flashboot: bool
    image: str | None
    scaler_type: ServerlessScalerType | None
    scaler_value: int
    template: PodTemplate
    min_cuda_version: CudaVersion | None
    max_concurrency: int
    python_version: str | None
    models: tuple[str, ...]
    model_token_secret: str | None

    def __post_init__(self) -> None:
        # The template is shown with the disk that it really gets, so an excess is known here.
        self.template.resource(self.disk_limit_gb)

    @property
    def disk_limit_gb(self) -> int | None:
        """Disk limit of the CPU instances in GB; None on GPUs."""
        return disk_limit_gb(self.cpus) if self.cpus else None

    def resource(self) -> dict[str, Any]:
        """The settings as the manifest has them."""
        least, most = self.workers
        return {
            **self._hardware(),
            "workersMin": least,
            "workersMax": most,
            "idleTimeout": self.idle_timeout,
            "executionTimeoutMs": self.execution_timeout_ms,
            "scalerValue": self.scaler_value,
            "flashBootType": "FLASHBOOT" if self.flashboot else "OFF",
            "template": {**self.template.resource(self.disk_limit_gb), **self._models()},
            **({"locations": ",".join(self.data_centers)} if self.data_centers else {}),
            **({"env": dict(self.env)} if self.env else {}),
            **self._storage(),
            **({"imageName": self.image} if self.image is not None else {}),
        }

    def _hardware(self) -> dict[str, Any]:
        if self.cpus:
            return {"instanceIds": [cpu.value for cpu in self.cpus]}
        cuda = {} if self.min_cuda_version is None else {"minCudaVersion": self.min_cuda_version.value}
        memory = {} if self.gpu_memory_gb is None else {"gpuMemoryGb": self.gpu_memory_gb}
        return {"gpuIds": gpu_ids(self.gpus), "gpuCount": self.gpu_count, **memory, **cuda}

    def _models(self) -> dict[str, Any]:
        if not self.models:
            return {}
        secret = {} if self.model_token_secret is None else {"modelTokenSecret": self.model_token_secret}
        return {"models": list(self.models), **secret}

    def _storage(self) -> dict[str, Any]:
        if not self.volumes:
            return {}
        if len(self.volumes) > 1:
            return {"networkVolumes": [volume.resource() for volume in self.volumes]}
        (volume,) = self.volumes
        if volume.name is None:
            return {"networkVolumeId": volume.id}
        return {"networkVolume": volume.resource()}


def read_settings(
    *,
    gpu: object,
    cpu: object,
    workers: object,
    idle_timeout: object,
    dependencies: object,
    system_dependencies: object,
    accelerate_downloads: bool,
    volume: object,
    datacenter: object,
    env: object,
    gpu_count: object,
    gpu_memory_gb: object,
    execution_timeout_ms: object,
    flashboot: bool,
    image: object,
    scaler_type: object,
    scaler_value: object,
    template: object,
    min_cuda_version: object,
    max_concurrency: object,
    python_version: object,
    models: object,
    model_token_secret: object,
) -> Settings:
    """Checks the parameters of an endpoint, each one separately and against the others.

    Raises:
        ValueError: One is not what it should be; the message names it, its value and what would be right.
    """
    if gpu is not None and cpu is not None:
        raise ValueError(
            f"gpu={gpu!r} and cpu={cpu!r} exclude each other: an endpoint runs on GPUs or on CPUs."
        )
    cpus = () if cpu is None else read_cpus(cpu)
    places = () if datacenter is None else read_data_centers(datacenter)
    if cpus:
        refuse_places_without_cpus(places)
    return Settings(
        gpus=() if cpus else read_gpus(GpuGroup.ANY if gpu is None else gpu),
        cpus=cpus,
        workers=read_workers(workers),
        idle_timeout=read_whole_number("idle_timeout", idle_timeout, 1, IDLE_TIMEOUT_MAX_SECONDS),
        dependencies=_read_texts("dependencies", dependencies),
        system_dependencies=_read_texts("system_dependencies", system_dependencies),
        accelerate_downloads=accelerate_downloads,
        volumes=() if volume is None else read_volumes(volume, places),
        data_centers=places,
        env=_read_env(env),
        gpu_count=read_whole_number("gpu_count", gpu_count, 1),
        gpu_memory_gb=_read_gpu_memory(gpu_memory_gb, gpu_count, is_gpu=not cpus),
        execution_timeout_ms=_read_execution_timeout(execution_timeout_ms),
        flashboot=flashboot,
        image=_read_image(image),
        scaler_type=None if scaler_type is None else read_scaler_type(scaler_type),
        scaler_value=read_whole_number("scaler_value", scaler_value, 1),
        template=_read_template(template),
        min_cuda_version=_read_cuda(min_cuda_version, is_gpu=not cpus),
        max_concurrency=read_whole_number("max_concurrency", max_concurrency, 1),
        python_version=_read_python_version(python_version),
        models=read_models(models),
        model_token_secret=read_model_token_secret(model_token_secret),
    )


def read_name(name: object) -> str:
    """Checks the name of an endpoint: it goes into file names, addresses and generated code.

    Raises:
        ValueError: It is too long or has other characters.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"name={name!r} must begin with a letter or digit, and hold letters, digits, - and _ only (A-Z, a-z, 0-9)."
        )
    if len(name) > NAME_MAX_CHARACTERS:
        raise ValueError(
            f"name={name!r} has {len(name)} characters: at most {NAME_MAX_CHARACTERS} are allowed."
        )
    return name


def read_id(id: object) -> str:
    """Checks the id of an endpoint that exists.

    Raises:
        ValueError: It can be no id.
    """
    if not isinstance(id, str) or not _NAME.fullmatch(id):
        raise ValueError(f"id={id!r} must be the id of an endpoint, of letters, digits, - and _.")
    return id


def _read_texts(parameter: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if (
        not isinstance(value, Sequence)
        or isinstance(value, str)
        or not all(isinstance(item, str) for item in value)
    ):
        raise ValueError(f'{parameter}={value!r} must be a list of texts, such as ["pillow>=11"].')
    return tuple(value)


def _read_env(env: object) -> Mapping[str, str]:
    if env is None:
        return {}
    if not isinstance(env, Mapping):
        raise ValueError(f'env={env!r} must be a dictionary of strings, such as {{"MODE": "fast"}}.')
    for key, value in env.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ValueError(f"env has {key!r}: {value!r}: both the name and the value must be strings.")
        refuse_own_name(key, "env")
    return dict(env)


def _read_execution_timeout(value: object) -> int:
    timeout_ms = read_whole_number("execution_timeout_ms", value, 0, EXECUTION_TIMEOUT_MAX_MS)
    if 0 < timeout_ms < EXECUTION_TIMEOUT_MIN_MS:
        raise ValueError(
            f"execution_timeout_ms={timeout_ms} is out of range: it must be 0 for the default, "
            f"or a whole number from {EXECUTION_TIMEOUT_MIN_MS} to {EXECUTION_TIMEOUT_MAX_MS}."
        )
    return timeout_ms


def _read_image(image: object) -> str | None:
    if image is None:
        return None
    if not isinstance(image, str) or image.strip() == "":
        raise ValueError(f'image={image!r} must be an image reference, such as "ghcr.io/me/worker:1".')
    return image


def _read_template(template: object) -> PodTemplate:
    if template is None:
        return PodTemplate()
    if not isinstance(template, PodTemplate):
        raise ValueError(f"template={template!r} of type {type(template).__name__} must be a PodTemplate.")
    return template


def _read_gpu_memory(value: object, gpu_count: object, *, is_gpu: bool) -> int | None:
    if value is None:
        return None
    if not is_gpu:
        raise ValueError(f"gpu_memory_gb={value!r} needs GPUs: with cpu there are none.")
    memory = read_whole_number("gpu_memory_gb", value, 1)
    if gpu_count != 1:
        raise ValueError(f"gpu_memory_gb={value!r} needs gpu_count=1: a worker shares one GPU only.")
    return memory


def _read_cuda(value: object, *, is_gpu: bool) -> CudaVersion | None:
    version = None if value is None else read_cuda_version(value)
    return version if is_gpu else None


def _read_python_version(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _PYTHON_VERSION.fullmatch(value):
        raise ValueError(f'python_version={value!r} must be a version such as "3.12".')
    return value
