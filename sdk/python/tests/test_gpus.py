from __future__ import annotations

from typing import Any

import pytest

from edgerun import Endpoint, GpuGroup, GpuType


def gpu_ids(gpu: Any = None) -> str:
    return str(Endpoint(name="a", gpu=gpu).resource()["gpuIds"])


def test_a_tier_is_asked_for_by_its_name() -> None:
    assert gpu_ids(GpuGroup.AMPERE_80) == "AMPERE_80"


def test_without_gpu_and_cpu_any_tier_will_do() -> None:
    assert gpu_ids().split(",") == [group.value for group in GpuGroup.all()]
    assert gpu_ids(GpuType.ANY) == gpu_ids(GpuGroup.ANY) == gpu_ids()


def test_a_model_is_its_tier_without_the_others_of_it() -> None:
    assert gpu_ids(GpuType.NVIDIA_A100_80GB_PCIe) == "AMPERE_80,-NVIDIA A100-SXM4-80GB"
    assert gpu_ids(GpuType.NVIDIA_GEFORCE_RTX_4090) == "ADA_24"


def test_the_order_of_a_list_is_a_preference_and_what_is_left_out_follows() -> None:
    assert gpu_ids([GpuType.NVIDIA_L4, GpuGroup.ADA_24]) == (
        "AMPERE_24,ADA_24,-NVIDIA RTX A5000,-NVIDIA GeForce RTX 3090,-NVIDIA A10,-NVIDIA A30"
    )


def test_a_tier_that_is_asked_for_as_a_whole_loses_no_model() -> None:
    assert gpu_ids([GpuType.NVIDIA_L4, GpuGroup.AMPERE_24]) == "AMPERE_24"


def test_any_after_a_tier_means_that_tier_first() -> None:
    ids = gpu_ids([GpuGroup.HOPPER_141, GpuGroup.ANY]).split(",")
    assert ids[0] == "HOPPER_141"
    assert sorted(ids) == sorted(group.value for group in GpuGroup.all())


def test_models_and_tiers_can_be_listed() -> None:
    assert len(GpuType.all()) == 20
    assert GpuType.is_gpu_type("NVIDIA L4")
    assert not GpuType.is_gpu_type("any")
    assert not GpuType.is_gpu_type("L4")
    assert {gpu for group in GpuGroup.all() for gpu in group.types()} == set(GpuType.all())
    assert GpuGroup.ANY.types() == GpuType.all()


@pytest.mark.parametrize("gpu", ["NVIDIA L4", "AMPERE_24", 80, [GpuType.NVIDIA_L4, "ADA_24"]])
def test_plain_texts_are_no_gpus(gpu: Any) -> None:
    with pytest.raises(ValueError, match=r"gpu=.* must be a GpuType or GpuGroup"):
        Endpoint(name="a", gpu=gpu)


def test_an_empty_list_of_gpus_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"gpu=\[\] names no GPU"):
        Endpoint(name="a", gpu=[])
