"""What the package says of itself, compared with what it is."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import edgerun
from edgerun import Endpoint, EndpointJob, FlashError, NetworkVolume, PodTemplate

PACKAGE = Path(__file__).parent.parent
README = (PACKAGE / "README.md").read_text(encoding="utf-8")

NAMED_BY_THE_SPECIFICATION = {
    *("Endpoint", "EndpointJob", "GpuGroup", "GpuType", "CpuInstanceType", "CudaVersion", "DataCenter"),
    *("CPU_DATACENTERS", "NetworkVolume", "PodTemplate", "ServerlessScalerType", "DEFAULT_WORKERS_MIN"),
    *("DEFAULT_WORKERS_MAX", "ResourceManager", "FlashApp", "FlashError", "FlashUsageError", "APIKeyError"),
    *(
        "FlashRuntimeError",
        "RemoteExecutionError",
        "SerializationError",
        "PayloadTooLargeError",
        "GraphQLError",
    ),
    *("ManifestServiceUnavailableError", "LocalModuleResolutionError", "LocalModulePayloadTooLargeError"),
    *("FlashAppError", "FlashAppNotFoundError", "FlashEnvironmentNotFoundError"),
}


def test_importing_the_package_does_nothing_and_loads_no_network(tmp_path: Path) -> None:
    script = """
import os, sys, threading
events = []
sys.addaudithook(lambda event, args: events.append((event, args)) if event in WATCHED else None)
import edgerun, edgerun.declarations
loaded = {"asyncio", "http.client", "urllib.request"} & set(sys.modules)
os.write(1, repr((events, threading.active_count(), loaded)).encode())
"""
    watched = {"os.mkdir", "os.remove", "os.rename", "socket.connect", "socket.bind", "socket.getaddrinfo"}
    # Bytecode is Python's doing.
    done = subprocess.run(
        [sys.executable, "-B", "-c", f"WATCHED = {watched | {'subprocess.Popen', 'os.system'}!r}\n{script}"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(PACKAGE / "src"), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "([], 1, set())"
    assert list(tmp_path.iterdir()) == [tmp_path / "work"]


def test_importing_the_package_needs_the_standard_library_only() -> None:
    modules = "import sys, edgerun; print(*{name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))"
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(PACKAGE / 'src')!r}); {modules}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) <= {"edgerun", "__main__"}


def test_the_public_names_are_those_of_the_specification_and_more() -> None:
    assert set(edgerun.__all__) >= NAMED_BY_THE_SPECIFICATION
    assert all(hasattr(edgerun, name) for name in edgerun.__all__)


def test_every_error_is_a_flash_error() -> None:
    errors = [
        thing for thing in vars(edgerun).values() if isinstance(thing, type) and issubclass(thing, Exception)
    ]
    assert len(errors) == 21
    assert all(issubclass(error, FlashError) for error in errors)


def public_things() -> Iterator[tuple[str, Any]]:
    for name in edgerun.__all__:
        thing = getattr(edgerun, name)
        if isinstance(thing, type):
            yield name, thing
            for member, value in inspect.getmembers(thing):
                shown = value.fget if isinstance(value, property) else value
                own = getattr(shown, "__module__", "") or ""
                if not member.startswith("_") and callable(shown) and own.startswith("edgerun"):
                    yield f"{name}.{member}", value


THINGS = dict(public_things())


@pytest.mark.parametrize("name", THINGS)
def test_everything_public_has_a_docstring_of_its_own(name: str) -> None:
    assert THINGS[name].__doc__
    assert THINGS[name].__doc__[0].isupper()


def documented(thing: Any) -> list[str]:
    _, found, rest = (inspect.getdoc(thing) or "").partition("Args:\n")
    block = re.split(r"^\S", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^    (\w+): ", block, re.MULTILINE) if found else []


@pytest.mark.parametrize(
    "thing", [Endpoint, edgerun.NetworkVolume, edgerun.PodTemplate, Endpoint.run, Endpoint.runsync]
)
def test_documented_parameters_are_the_parameters(thing: Any) -> None:
    assert documented(thing) == [name for name in inspect.signature(thing).parameters if name != "self"]


def code_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def calls_of(names: set[str]) -> Iterator[tuple[str, ast.Call]]:
    for block in code_blocks():
        tree = ast.parse(block)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                function = ast.unparse(node.func)
                if function in names:
                    yield function, node


def test_readme_imports_and_parameters_exist() -> None:
    imported = {
        name.name
        for block in code_blocks()
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and node.module == "edgerun"
        for name in node.names
    }
    assert imported
    assert imported <= set(edgerun.__all__)
    for function, call in calls_of(imported):
        parameters = inspect.signature(getattr(edgerun, function)).parameters
        assert {keyword.arg for keyword in call.keywords} <= set(parameters), ast.unparse(call)


def test_readme_methods_exist() -> None:
    for owner, surface in (("client", Endpoint), ("api", Endpoint), ("job", EndpointJob)):
        used = set(re.findall(rf"\b{owner}\.(\w+)", "\n".join(code_blocks())))
        assert used, owner
        assert used <= set(dir(surface)), owner


def test_readme_examples_can_be_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "caption_worker.py").write_text(code_blocks()[0], encoding="utf-8")
    for block in code_blocks():
        declarations: list[ast.stmt] = [
            node for node in ast.parse(block).body if not isinstance(node, ast.Expr)
        ]
        # The README is ours.
        exec(compile(ast.Module(declarations, []), "README.md", "exec"), {"__name__": "readme"})  # noqa: S102


def test_the_readme_lists_every_parameter_of_an_endpoint() -> None:
    rows = re.findall(
        r"^\| `(\w+)`", README.partition("## Parameters")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert rows == list(inspect.signature(Endpoint).parameters)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Endpoint(name="a", wrokers=3),
            "Endpoint() has no parameter 'wrokers'. Did you mean 'workers'?",
        ),
        (lambda: Endpoint(name="a", zzz=3), "Endpoint() has no parameter 'zzz'."),
        (lambda: NetworkVolume(nme="a"), "NetworkVolume() has no parameter 'nme'. Did you mean 'name'?"),
        (
            lambda: PodTemplate(containerDiskGb=3),
            "PodTemplate() has no parameter 'containerDiskGb'. Did you mean 'containerDiskInGb'?",
        ),
    ],
)
def test_a_parameter_that_is_not_there_is_named_with_the_nearest(make: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == message
