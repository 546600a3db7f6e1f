"""GPUs that an endpoint can ask for: single models (GpuType) and tiers of like ones (GpuGroup)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum


class GpuType(str, Enum):
    """One GPU model; the value is its name as the driver prints it."""

    ANY = "any"
    NVIDIA_GEFORCE_RTX_3090 = "NVIDIA GeForce RTX 3090"
    NVIDIA_GEFORCE_RTX_4090 = "NVIDIA GeForce RTX 4090"
    NVIDIA_GEFORCE_RTX_5090 = "NVIDIA GeForce RTX 5090"
    NVIDIA_RTX_2000_ADA_GENERATION = "NVIDIA RTX 2000 Ada Generation"
    NVIDIA_RTX_4000_ADA_GENERATION = "NVIDIA RTX 4000 Ada Generation"
    NVIDIA_RTX_6000_ADA_GENERATION = "NVIDIA RTX 6000 Ada Generation"
    NVIDIA_RTX_A4000 = "NVIDIA RTX A4000"
    NVIDIA_RTX_A4500 = "NVIDIA RTX A4500"
    NVIDIA_RTX_A5000 = "NVIDIA RTX A5000"
    NVIDIA_RTX_A6000 = "NVIDIA RTX A6000"
    NVIDIA_A40 = "NVIDIA A40"
    NVIDIA_L4 = "NVIDIA L4"
    NVIDIA_RTX_PRO_6000_BLACKWELL_SERVER_EDITION = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    NVIDIA_RTX_PRO_6000_BLACKWELL_WORKSTATION_EDITION = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"
    NVIDIA_RTX_PRO_6000_BLACKWELL_MAX_Q_WORKSTATION_EDITION = (
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
    )
    NVIDIA_A100_80GB_PCIe = "NVIDIA A100 80GB PCIe"
    NVIDIA_A100_SXM4_80GB = "NVIDIA A100-SXM4-80GB"
    NVIDIA_H100_80GB_HBM3 = "NVIDIA H100 80GB HBM3"
    NVIDIA_H200 = "NVIDIA H200"
    NVIDIA_B200 = "NVIDIA B200"

    @classmethod
    def all(cls) -> list[GpuType]:
        """All models, without ANY."""
        return [gpu for gpu in cls if gpu is not cls.ANY]

    @classmethod
    def is_gpu_type(cls, name: str) -> bool:
        """Whether `name` is the name of a model, such as "NVIDIA L4"."""
        return any(gpu.value == name for gpu in cls.all())


class GpuGroup(str, Enum):
    """A tier of GPUs that do for one another; the value is the service's name for it."""

    ANY = "any"
    AMPERE_16 = "AMPERE_16"
    AMPERE_24 = "AMPERE_24"
    ADA_24 = "ADA_24"
    ADA_32_PRO = "ADA_32_PRO"
    AMPERE_48 = "AMPERE_48"
    ADA_48_PRO = "ADA_48_PRO"
    AMPERE_80 = "AMPERE_80"
    ADA_80_PRO = "ADA_80_PRO"
    BLACKWELL_96 = "BLACKWELL_96"
    HOPPER_141 = "HOPPER_141"
    BLACKWELL_180 = "BLACKWELL_180"

    @classmethod
    def all(cls) -> list[GpuGroup]:
        """All tiers, without ANY; those with less memory first."""
        return [group for group in cls if group is not cls.ANY]

    def types(self) -> list[GpuType]:
        """The models of the tier that have a GpuType."""
        if self is GpuGroup.ANY:
            return GpuType.all()
        return [GpuType(name) for name in _MODELS[self] if GpuType.is_gpu_type(name)]


# Every model that the service counts to a tier: those without a GpuType have to be left out by name as well.
_MODELS: dict[GpuGroup, tuple[str, ...]] = {
    GpuGroup.AMPERE_16: (
        "NVIDIA RTX A4000",
        "NVIDIA RTX A4500",
        "NVIDIA RTX 4000 Ada Generation",
        "NVIDIA RTX 2000 Ada Generation",
    ),
    GpuGroup.AMPERE_24: (
        "NVIDIA RTX A5000",
        "NVIDIA L4",
        "NVIDIA GeForce RTX 3090",
        "NVIDIA A10",
        "NVIDIA A30",
    ),
    GpuGroup.ADA_24: ("NVIDIA GeForce RTX 4090",),
    GpuGroup.ADA_32_PRO: ("NVIDIA GeForce RTX 5090",),
    GpuGroup.AMPERE_48: ("NVIDIA RTX A6000", "NVIDIA A40"),
    GpuGroup.ADA_48_PRO: ("NVIDIA RTX 6000 Ada Generation", "NVIDIA L40", "NVIDIA L40S"),
    GpuGroup.AMPERE_80: ("NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"),
    GpuGroup.ADA_80_PRO: ("NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL"),
    GpuGroup.BLACKWELL_96: (
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    ),
    GpuGroup.HOPPER_141: ("NVIDIA H200", "NVIDIA H200 NVL"),
    GpuGroup.BLACKWELL_180: ("NVIDIA B200",),
}

_GROUP_OF = {name: group for group, names in _MODELS.items() for name in names}

Gpu = GpuType | GpuGroup


def read_gpus(value: object) -> tuple[Gpu, ...]:
    """Checks the `gpu` parameter: one GPU or a list of them, in order of preference.

    Raises:
        ValueError: It is something else.
    """
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not values:
        raise ValueError(
            "gpu=[] names no GPU: give at least one GpuType or GpuGroup, or leave gpu out for any."
        )
    for gpu in values:
        if not isinstance(gpu, (GpuType, GpuGroup)):
            raise ValueError(
                f"gpu={value!r} holds {gpu!r} of type {type(gpu).__name__}: "
                "it must be a GpuType or GpuGroup, such as GpuType.NVIDIA_GEFORCE_RTX_4090, or a list of them."
            )
    return values


def gpu_ids(gpus: Sequence[Gpu]) -> str:
    """The selection as the service reads it: tiers in order of preference, then models to leave out."""
    whole_groups = {group for gpu in gpus for group in _whole_groups(gpu)}
    single_types = {gpu.value for gpu in gpus if isinstance(gpu, GpuType)}
    groups = _distinct(group for gpu in gpus for group in _whole_groups(gpu) or [_GROUP_OF[gpu.value]])
    left_out = [
        f"-{name}"
        for group in groups
        if group not in whole_groups
        for name in _MODELS[group]
        if name not in single_types
    ]
    return ",".join([*(group.value for group in groups), *left_out])


def _whole_groups(gpu: Gpu) -> list[GpuGroup]:
    if gpu in (GpuGroup.ANY, GpuType.ANY):
        return GpuGroup.all()
    return [gpu] if isinstance(gpu, GpuGroup) else []


def _distinct(groups: Iterable[GpuGroup]) -> list[GpuGroup]:
    return list(dict.fromkeys(groups))
