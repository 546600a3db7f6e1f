"""What a build asks about requirements."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgerun.requirements.library import load_packaging
from edgerun.requirements.reading import read_requirements
from edgerun.requirements.survey import survey

PACKAGING = load_packaging()


def read(*texts: str, python: str = "3.12") -> dict[str, Any]:
    assert PACKAGING is not None
    return read_requirements(PACKAGING, list(texts), python)


@pytest.mark.parametrize(
    ("text", "key", "without_marker"),
    [
        ("Torch_Vision ~= 0.15", "torch-vision", "Torch_Vision~=0.15"),
        ("a.b", "a-b", "a.b"),
        ("left[Extra] >=1 , <2", "left", "left[Extra]<2,>=1"),
        ("left; python_version >= '3'", "left", "left"),
    ],
)
def test_names_and_specifiers_are_read_as_pep_508_has_them(
    text: str, key: str, without_marker: str
) -> None:
    [requirement] = read(text)["requirements"]
    assert (requirement["key"], requirement["text"], requirement["applies"]) == (key, without_marker, True)


def test_a_direct_url_is_read() -> None:
    [requirement] = read("left @ https://host/left-1-py3-none-any.whl#sha256=ab ; os_name == 'nt'")[
        "requirements"
    ]
    assert requirement["url"] == "https://host/left-1-py3-none-any.whl#sha256=ab"
    assert not requirement["applies"]


@pytest.mark.parametrize(
    ("marker", "applies"),
    [
        ("python_version == '3.10'", False),
        ("python_version == '3.13'", True),
        ("python_full_version < '3.13.1'", True),
        ("sys_platform == 'linux' and platform_machine == 'x86_64'", True),
        ("sys_platform == 'darwin' or os_name == 'nt'", False),
        ("implementation_name == 'cpython'", True),
        ("extra == 'gpu'", False),
    ],
)
def test_markers_are_judged_for_the_worker(marker: str, applies: bool) -> None:
    [requirement] = read(f"left; {marker}", python="3.13")["requirements"]
    assert requirement["applies"] is applies


@pytest.mark.parametrize("text", ["left = 1", "-x", "", "left ==", "left [", "1 2"])
def test_what_is_no_requirement_is_an_error(text: str) -> None:
    [requirement] = read(text)["requirements"]
    assert requirement["error"]


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        ("left>=1,<2", "left==1.5", False),
        ("left<1", "left>=0.9.5", False),
        ("left==1.*", "left>=1.9999", False),
        ("left~=1.4", "left!=1.4", False),
        ("left>1,<=2", "left<2,>=1", False),
        ("left==1", "left==2; python_version < '3'", False),
        ("left[a]==1", "left[b]==1.0", False),
        ("left<0.0.1", "left>=0", False),
        ("left>=2!1", "left<3!0", False),
        ("left>=1.0rc1", "left<=1.0rc2", False),
        ("left", "right==1", False),
        ("left @ https://h/left-1-py3-none-any.whl", "left>=1", False),
        ("left~=1.4.2", "left>=1.5", True),
        ("left<1", "LEFT>=1", True),
        ("left==1.*", "left==2.*", True),
        ("le-ft==1", "le_ft==1.1", True),
        ("left>2", "left<=2", True),
        ("left===1.0", "left==2", True),
        ("left @ https://h/left-1-py3-none-any.whl", "left @ https://h/left-2-py3-none-any.whl", True),
    ],
)
def test_requirements_that_no_version_meets_contradict_each_other(
    one: str, other: str, contradict: bool
) -> None:
    assert read(one, other)["conflicts"] == ([[0, 1]] if contradict else [])
    assert read(other, one)["conflicts"] == ([[0, 1]] if contradict else [])


def lay(directory: Path, name: str, *requires: str) -> None:
    info = directory / f"{name}-1.0.dist-info"
    info.mkdir()
    (directory / f"{name}.py").touch()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
    lines += [f"Requires-Dist: {text}" for text in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "RECORD").write_text(f"{name}.py,,\n{info.name}/METADATA,,\n")


def test_what_only_excluded_packages_need_is_superfluous(tmp_path: Path) -> None:
    assert PACKAGING is not None
    lay(tmp_path, "app", "torch>=2; extra == 'gpu'", "shared", "old; python_version < '3.11'", "lost")
    lay(tmp_path, "torch", "nvidia", "shared")
    for name in ("nvidia", "shared", "old"):
        lay(tmp_path, name)
    found = survey(PACKAGING, str(tmp_path), [{"key": "app", "extras": ["gpu"]}], ["torch", "numpy"], "3.12")
    superfluous = [each["key"] for each in found["distributions"] if each["isSuperfluous"]]
    assert (superfluous, found["excluded"]) == (["nvidia", "old", "torch"], ["torch"])
    assert found["missing"] == ["lost"]
    assert found["distributions"][0]["files"] == ["app.py", "app-1.0.dist-info/METADATA"]
    bare = survey(PACKAGING, str(tmp_path), [{"key": "app", "extras": []}], ["torch"], "3.12")
    assert bare["excluded"] == []


def test_the_module_answers_a_question_on_standard_input() -> None:
    question = {"operation": "read", "texts": ["left>=1"], "python": "3.12"}
    answered = subprocess.run(
        [sys.executable, "-m", "edgerun.requirements"],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1] / "src",
    )
    assert json.loads(answered.stdout)["requirements"][0]["name"] == "left"
