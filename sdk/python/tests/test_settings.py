"""Every error of the constructor names the parameter, its value and what would be right."""

from __future__ import annotations

from typing import Any

import pytest

from edgerun import (
    CPU_DATACENTERS,
    DEFAULT_WORKERS_MAX,
    DEFAULT_WORKERS_MIN,
    CpuInstanceType,
    CudaVersion,
    DataCenter,
    Endpoint,
    GpuGroup,
    NetworkVolume,
    PodTemplate,
    ServerlessScalerType,
)

VOLUME = NetworkVolume(name="models")
ELSEWHERE = NetworkVolume(name="models", datacenter=DataCenter.US_KS_2)

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"gpu": GpuGroup.ADA_24, "cpu": "cpu3c-1-2"}, r"gpu=.*ADA_24.* and cpu='cpu3c-1-2' exclude each other"),
    ({"id": "abc", "image": "me/worker:1"}, r"id='abc' and image='me/worker:1' exclude each other"),
    ({"name": None, "image": "me/worker:1"}, r"image='me/worker:1' needs a name"),
    ({"image": " "}, r"image=' ' must be an image reference"),
    ({"id": "a/b"}, r"id='a/b' must be the id of an endpoint"),
    ({"id": ""}, r"id='' must be the id of an endpoint"),
    ({"workers": "many"}, r"workers='many' must be a whole number, or a pair \(min, max\)"),
    ({"workers": True}, r"workers=True must be a whole number"),
    ({"workers": (1, 2, 3)}, r"workers=\(1, 2, 3\) must be a whole number, or a pair"),
    ({"workers": (0, 1.5)}, r"workers=\(0, 1.5\) must be a whole number, or a pair"),
    ({"workers": -1}, r"workers=-1 must not be negative: the least is 0"),
    ({"workers": (-1, 2)}, r"workers=\(-1, 2\) must not be negative"),
    ({"workers": (0, 1001)}, r"workers=\(0, 1001\) has max 1001: an endpoint may have at most 1000"),
    ({"workers": (3, 2)}, r"workers=\(3, 2\) has min 3 above max 2"),
    ({"max_concurrency": 0}, r"max_concurrency=0 is out of range: .* at least 1"),
    ({"max_concurrency": "4"}, r"max_concurrency='4' must be a whole number of at least 1"),
    ({"cpu": "cpu9x-1-2"}, r"cpu='cpu9x-1-2' holds 'cpu9x-1-2', .*Allowed: cpu3g-1-4, .*cpu5c-8-16"),
    ({"cpu": ["cpu3c-1-2", 4]}, r"cpu=\['cpu3c-1-2', 4\] holds 4, which is no known CPU instance"),
    ({"cpu": []}, r"cpu=\[\] names no CPU instance"),
    ({"volume": []}, r"volume=\[\] names no volume"),
    ({"volume": "models"}, r"volume='models' holds 'models' of type str: it must be a NetworkVolume"),
    ({"volume": [VOLUME, None]}, r"volume=.* holds None of type NoneType"),
    ({"volume": ELSEWHERE, "datacenter": "EU-RO-1"}, r"volume=.* is in US-KS-2, .* datacenter=\['EU-RO-1'\]"),
    ({"volume": [VOLUME, NetworkVolume(id="v1")]}, r"volume=.* has two volumes in EU-RO-1"),
    ({"idle_timeout": 0}, r"idle_timeout=0 is out of range: .* from 1 to 3600"),
    ({"idle_timeout": 3601}, r"idle_timeout=3601 is out of range: .* from 1 to 3600"),
    ({"idle_timeout": 1.5}, r"idle_timeout=1.5 must be a whole number from 1 to 3600"),
    ({"datacenter": "mars"}, r"datacenter='mars' is no known data center. Allowed: US-CA-2, .*EUR-NO-1, CZ"),
    ({"datacenter": [DataCenter.US_CA_2, 7]}, r"datacenter=7 is no known data center"),
    ({"datacenter": []}, r"datacenter=\[\] names no data center"),
    ({"cpu": "cpu3c-1-2", "datacenter": "us-ks-2"}, r"datacenter='US-KS-2' has no CPU .* CPUs: EU-RO-1"),
    (
        {"cpu": "cpu3c-1-2", "template": PodTemplate(containerDiskInGb=11)},
        r"containerDiskInGb=11 .* from 1 to 10",
    ),
    (
        {"cpu": ["cpu5c-8-16", "cpu3c-2-4"], "template": PodTemplate(containerDiskInGb=64)},
        r"containerDiskInGb=64 .* from 1 to 20",
    ),
    ({"template": {"containerDiskInGb": 5}}, r"template=.* of type dict must be a PodTemplate"),
    (
        {"min_cuda_version": "9.0"},
        r"min_cuda_version='9.0' is no known version of CUDA. Allowed: 11.8, .*13.0",
    ),
    ({"min_cuda_version": 12}, r"min_cuda_version=12 is no known version"),
    ({"scaler_type": "FAST"}, r"scaler_type='FAST' must be ServerlessScalerType.QUEUE_DELAY or"),
    ({"scaler_value": 0}, r"scaler_value=0 is out of range: .* at least 1"),
    ({"models": "org/name"}, r"models='org/name' must be a list"),
    ({"models": ["org/name", "name"]}, r"models=.* holds 'name': a model is"),
    ({"models": ["org/../name"]}, r"models=.* holds 'org/../name'"),
    ({"models": ["org/a--b"]}, r"models=.* holds 'org/a--b'"),
    ({"models": [7]}, r"models=\[7\] holds 7"),
    ({"models": [f"org/m{n}" for n in range(17)]}, r"models=.* names 17 models: at most 16 are allowed"),
    ({"model_token_secret": "a token"}, r"model_token_secret must be the name of a secret"),
    ({"gpu_count": 0}, r"gpu_count=0 is out of range: .* at least 1"),
    ({"gpu_memory_gb": 0}, r"gpu_memory_gb=0 is out of range: .* at least 1"),
    ({"gpu_memory_gb": 4, "gpu_count": 2}, r"gpu_memory_gb=4 needs gpu_count=1"),
    ({"gpu_memory_gb": 4, "cpu": "cpu5c-2-4"}, r"gpu_memory_gb=4 needs GPUs"),
    (
        {"execution_timeout_ms": 4_999},
        r"execution_timeout_ms=4999 is out of range: .* 0 .* 5000 to 604800000",
    ),
    ({"execution_timeout_ms": -1}, r"execution_timeout_ms=-1 is out of range"),
    ({"dependencies": "torch"}, r"dependencies='torch' must be a list of texts"),
    ({"dependencies": [1]}, r"dependencies=\[1\] must be a list of texts"),
    ({"system_dependencies": "ffmpeg"}, r"system_dependencies='ffmpeg' must be a list of texts"),
    ({"env": ["A=1"]}, r"env=\['A=1'\] must be a dictionary"),
    ({"env": {"PORT": 80}}, r"env has 'PORT': 80: both the name and the value must be strings"),
    ({"env": {"_FLASH_X": "1"}}, r"env has '_FLASH_X': names that begin with _FLASH_"),
    ({"python_version": "3"}, r"python_version='3' must be a version such as \"3.12\""),
]


@pytest.mark.parametrize(("parameters", "message"), REFUSED, ids=[str(case[0]) for case in REFUSED])
def test_a_wrong_parameter_is_rejected_by_name(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Endpoint(**{"name": "a", **parameters})


@pytest.mark.parametrize(
    "name", ["", "-a", "_a", "a b", "a/b", "../a", "a.py", "ä", "a\n", 'a"; import os', "a" * 192]
)
def test_a_name_that_could_break_out_of_files_or_code_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="name="):
        Endpoint(name=name)


@pytest.mark.parametrize("name", ["a", "0", "my-worker_2", "A" * 191])
def test_other_names_are_taken(name: str) -> None:
    assert Endpoint(name=name).name == name


def test_what_is_left_out_has_the_documented_default() -> None:
    endpoint = Endpoint(name="a")
    resource = endpoint.resource()
    assert (
        (endpoint.workers_min, endpoint.workers_max) == (DEFAULT_WORKERS_MIN, DEFAULT_WORKERS_MAX) == (0, 1)
    )
    assert not endpoint.is_cpu
    assert not endpoint.is_client
    assert not endpoint.is_load_balanced
    assert endpoint.scaler_type is ServerlessScalerType.QUEUE_DELAY
    del resource["gpuIds"]
    assert resource == {
        "is_load_balanced": False,
        "gpuCount": 1,
        "minCudaVersion": "12.8",
        "workersMin": 0,
        "workersMax": 1,
        "idleTimeout": 60,
        "executionTimeoutMs": 0,
        "scalerType": "QUEUE_DELAY",
        "scalerValue": 4,
        "flashBootType": "FLASHBOOT",
        "template": {"containerDiskInGb": 64},
        "max_concurrency": 1,
    }


def test_everything_that_was_set_is_in_the_manifest() -> None:
    resource = Endpoint(
        name="a",
        gpu=GpuGroup.ADA_24,
        workers=(2, 5),
        idle_timeout=5,
        volume=NetworkVolume(name="models", size=50, datacenter="eu_cz_1"),
        datacenter=["eu-cz-1", DataCenter.US_KS_2],
        env={"MODE": "fast"},
        gpu_count=2,
        execution_timeout_ms=30_000,
        flashboot=False,
        scaler_type=ServerlessScalerType.REQUEST_COUNT,
        scaler_value=7,
        template=PodTemplate(
            containerDiskInGb=200, dockerArgs="--x", env={"T": "1"}, startScript="s", ports="1/tcp"
        ),
        min_cuda_version="12.4",
        max_concurrency=3,
    ).resource()
    assert resource == {
        "is_load_balanced": False,
        "gpuIds": "ADA_24",
        "gpuCount": 2,
        "minCudaVersion": "12.4",
        "workersMin": 2,
        "workersMax": 5,
        "idleTimeout": 5,
        "executionTimeoutMs": 30_000,
        "scalerType": "REQUEST_COUNT",
        "scalerValue": 7,
        "flashBootType": "OFF",
        "locations": "EU-CZ-1,US-KS-2",
        "env": {"MODE": "fast"},
        "networkVolume": {"name": "models", "size": 50, "dataCenterId": "EU-CZ-1"},
        "template": {
            "containerDiskInGb": 200,
            "dockerArgs": "--x",
            "env": [{"key": "T", "value": "1"}],
            "startScript": "s",
            "ports": "1/tcp",
        },
        "max_concurrency": 3,
    }


def test_models_are_in_the_template_in_one_order() -> None:
    models = ["b/b", "a/a@refs/pr/1", "b/b"]
    endpoint = Endpoint(name="a", models=models, model_token_secret="HF_TOKEN")
    assert endpoint.resource()["template"] == {
        "containerDiskInGb": 64,
        "models": ["a/a@refs/pr/1", "b/b"],
        "modelTokenSecret": "HF_TOKEN",
    }


def test_cpu_instances_shrink_the_default_disk_to_their_limit() -> None:
    resource = Endpoint(name="a", cpu=["cpu5c-4-8", CpuInstanceType.CPU3G_2_8]).resource()
    assert resource["instanceIds"] == ["cpu5c-4-8", "cpu3g-2-8"]
    assert resource["template"] == {"containerDiskInGb": 20}
    assert "gpuIds" not in resource
    assert "minCudaVersion" not in resource
    assert Endpoint(name="a", cpu="cpu5c-8-16").resource()["template"] == {"containerDiskInGb": 64}


def test_a_cpu_endpoint_may_be_where_there_are_cpus() -> None:
    assert frozenset({DataCenter.EU_RO_1}) == CPU_DATACENTERS
    assert Endpoint(name="a", cpu="cpu3c-1-2", datacenter="eu_ro_1").resource()["locations"] == "EU-RO-1"


def test_a_number_of_workers_is_the_most_of_them() -> None:
    endpoint = Endpoint(name="a", workers=3)
    assert (endpoint.workers_min, endpoint.workers_max) == (0, 3)


def test_places_of_own_hosts_and_countries_are_taken() -> None:
    assert Endpoint(name="a", datacenter=["de-fra-1", "us"]).resource()["locations"] == "DE-FRA-1,US"


def test_cuda_versions_are_taken_as_texts_and_as_constants() -> None:
    assert Endpoint(name="a", min_cuda_version=CudaVersion.V13_0).resource()["minCudaVersion"] == "13.0"
    assert "minCudaVersion" not in Endpoint(name="a", min_cuda_version=None).resource()


def test_volumes_are_in_the_manifest_by_all_that_they_are_known_by() -> None:
    assert Endpoint(name="a", volume=NetworkVolume(id="v1")).resource()["networkVolumeId"] == "v1"
    both = Endpoint(name="a", volume=NetworkVolume(name="models", id="v1")).resource()
    assert both["networkVolume"] == {"id": "v1", "name": "models", "size": 100, "dataCenterId": "EU-RO-1"}
    assert Endpoint(name="a", volume=[VOLUME, ELSEWHERE]).resource()["networkVolumes"] == [
        {"name": "models", "size": 100, "dataCenterId": "EU-RO-1"},
        {"name": "models", "size": 100, "dataCenterId": "US-KS-2"},
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, r"needs name= .* or id="),
        ({"name": ""}, r"NetworkVolume name='' must be a string that is not empty"),
        ({"name": "a", "size": 9}, r"NetworkVolume size=9 is out of range: .* from 10 to 4096"),
        ({"name": "a", "size": 4097}, r"NetworkVolume size=4097 is out of range"),
        ({"name": "a", "datacenter": "RO"}, r"NetworkVolume datacenter='RO' is no known data center"),
    ],
)
def test_a_wrong_volume_is_rejected_by_name(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NetworkVolume(**parameters)


def test_unknown_parameters_are_rejected() -> None:
    with pytest.raises(TypeError, match="region"):
        NetworkVolume(name="a", region="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="gpus"):
        Endpoint(name="a", gpus=1)  # type: ignore[call-arg]


def test_a_template_takes_variables_in_both_forms() -> None:
    pairs = [{"key": "A", "value": "1"}]
    assert PodTemplate(env={"A": "1"}).env == PodTemplate(env=pairs).env == pairs
    with pytest.raises(ValueError, match="PodTemplate env="):
        PodTemplate(env=[{"A": "1"}])
    with pytest.raises(ValueError, match="PodTemplate env has '_FLASH_X': names that begin with _FLASH_"):
        PodTemplate(env={"_FLASH_X": "1"})
    with pytest.raises(ValueError, match="containerDiskInGb=0 is out of range"):
        PodTemplate(containerDiskInGb=0)


def test_declared_gpu_memory_is_in_the_manifest() -> None:
    assert Endpoint(name="a", gpu_memory_gb=4).resource()["gpuMemoryGb"] == 4
