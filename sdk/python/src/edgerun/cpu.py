"""CPU instances that an endpoint can ask for, named `<family>-<vcpu>-<memory in GB>`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class CpuInstanceType(str, Enum):
    """One size of CPU instance; the value is its name, such as "cpu5c-4-8"."""

    CPU3G_1_4 = "cpu3g-1-4"
    CPU3G_2_8 = "cpu3g-2-8"
    CPU3G_4_16 = "cpu3g-4-16"
    CPU3G_8_32 = "cpu3g-8-32"
    CPU3C_1_2 = "cpu3c-1-2"
    CPU3C_2_4 = "cpu3c-2-4"
    CPU3C_4_8 = "cpu3c-4-8"
    CPU3C_8_16 = "cpu3c-8-16"
    CPU5C_1_2 = "cpu5c-1-2"
    CPU5C_2_4 = "cpu5c-2-4"
    CPU5C_4_8 = "cpu5c-4-8"
    CPU5C_8_16 = "cpu5c-8-16"

    @property
    def disk_limit_gb(self) -> int:
        """The largest container disk that this instance can have, in GB."""
        family, vcpus, _ = self.value.split("-")
        return int(vcpus) * _DISK_GB_PER_VCPU[family]


_DISK_GB_PER_VCPU = {"cpu3g": 10, "cpu3c": 10, "cpu5c": 15}


def read_cpus(value: object) -> tuple[CpuInstanceType, ...]:
    """Checks the `cpu` parameter: one instance type or a list of them.

    Raises:
        ValueError: It is something else, or a name that is not known.
    """
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not values:
        raise ValueError('cpu=[] names no CPU instance: give at least one, such as "cpu5c-4-8".')
    return tuple(_read_cpu(cpu, value) for cpu in values)


def _read_cpu(cpu: object, value: object) -> CpuInstanceType:
    if isinstance(cpu, str):
        try:
            return CpuInstanceType(cpu)
        except ValueError:
            pass
    allowed = ", ".join(known.value for known in CpuInstanceType)
    raise ValueError(f"cpu={value!r} holds {cpu!r}, which is no known CPU instance. Allowed: {allowed}.")


def disk_limit_gb(cpus: Sequence[CpuInstanceType]) -> int:
    """The largest container disk that every one of these instances can have, in GB."""
    return min(cpu.disk_limit_gb for cpu in cpus)
