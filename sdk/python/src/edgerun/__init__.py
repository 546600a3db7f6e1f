"""Python functions as serverless endpoints on your own GPU hosts.

```python
from edgerun import Endpoint, GpuType

@Endpoint(name="resize", gpu=GpuType.NVIDIA_L4, dependencies=["pillow"])
async def resize(url: str, width: int) -> dict: ...

result = await resize("https://example.org/cat.png", width=200)
```
"""

from __future__ import annotations

from .cpu import CpuInstanceType
from .cuda import CudaVersion
from .data_center import CPU_DATACENTERS, DataCenter
from .endpoint import Endpoint
from .errors import (
    APIKeyError,
    AppContextError,
    CallTimeoutError,
    EndpointNotFoundError,
    FlashAppError,
    FlashAppNotFoundError,
    FlashEnvironmentNotFoundError,
    FlashError,
    FlashRuntimeError,
    FlashUsageError,
    GraphQLError,
    GraphQLMutationError,
    GraphQLQueryError,
    HttpError,
    LocalModulePayloadTooLargeError,
    LocalModuleResolutionError,
    ManifestServiceUnavailableError,
    PayloadTooLargeError,
    RemoteExecutionError,
    SerializationError,
    ServiceUnreachableError,
)
from .flash_app import FlashApp
from .gpu import GpuGroup, GpuType
from .job import EndpointJob
from .resources import ResourceManager
from .scaling import DEFAULT_WORKERS_MAX, DEFAULT_WORKERS_MIN, ServerlessScalerType, ServerlessType
from .template import PodTemplate
from .version import __version__
from .volume import NetworkVolume

__all__ = [
    "CPU_DATACENTERS",
    "DEFAULT_WORKERS_MAX",
    "DEFAULT_WORKERS_MIN",
    "APIKeyError",
    "AppContextError",
    "CallTimeoutError",
    "CpuInstanceType",
    "CudaVersion",
    "DataCenter",
    "Endpoint",
    "EndpointJob",
    "EndpointNotFoundError",
    "FlashApp",
    "FlashAppError",
    "FlashAppNotFoundError",
    "FlashEnvironmentNotFoundError",
    "FlashError",
    "FlashRuntimeError",
    "FlashUsageError",
    "GpuGroup",
    "GpuType",
    "GraphQLError",
    "GraphQLMutationError",
    "GraphQLQueryError",
    "HttpError",
    "LocalModulePayloadTooLargeError",
    "LocalModuleResolutionError",
    "ManifestServiceUnavailableError",
    "NetworkVolume",
    "PayloadTooLargeError",
    "PodTemplate",
    "RemoteExecutionError",
    "ResourceManager",
    "SerializationError",
    "ServerlessScalerType",
    "ServerlessType",
    "ServiceUnreachableError",
    "__version__",
]
