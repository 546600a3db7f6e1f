"""Versions of CUDA that an endpoint can ask for."""

from __future__ import annotations

from enum import Enum


class CudaVersion(str, Enum):
    """The least version of CUDA that a host's driver must support."""

    V11_8 = "11.8"
    V12_0 = "12.0"
    V12_1 = "12.1"
    V12_2 = "12.2"
    V12_3 = "12.3"
    V12_4 = "12.4"
    V12_5 = "12.5"
    V12_6 = "12.6"
    V12_7 = "12.7"
    V12_8 = "12.8"
    V12_9 = "12.9"
    V13_0 = "13.0"


DEFAULT_CUDA_VERSION = CudaVersion.V12_8


def read_cuda_version(value: object) -> CudaVersion:
    """Checks the `min_cuda_version` parameter.

    Raises:
        ValueError: It is no known version.
    """
    if isinstance(value, str):
        try:
            return CudaVersion(value)
        except ValueError:
            pass
    allowed = ", ".join(known.value for known in CudaVersion)
    raise ValueError(f"min_cuda_version={value!r} is no known version of CUDA. Allowed: {allowed}.")
