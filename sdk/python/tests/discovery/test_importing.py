"""How candidates are imported: what is missing, what fails, what hangs, what prints."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from edgerun.discovery.importing import import_candidates, launch_interpreter
from edgerun.discovery.notes import Notes

from .conftest import App

DECLARED = (
    "from edgerun import Endpoint\n@Endpoint(name='x', workers=(1, 2))\ndef work(text: str = 'a'): ...\n"
)
FROM_VARIABLE = (
    "from edgerun import Endpoint\nimport os\n{}\n@Endpoint(name=os.sep and 'x')\ndef work(): ...\n"
)


def test_a_stand_in_for_a_missing_library_survives_what_modules_do_with_one(app: App) -> None:
    app.write(
        worker="""
            from __future__ import annotations
            from dataclasses import dataclass
            from typing import Generic, Optional, TypeVar

            import absent
            import absent.deep.er as er
            import absent.nn.functional
            from absent import nn, no_grad
            from absent.models import Model, Mixin
            from absent.all import *
            from edgerun import Endpoint

            assert tuple(int(part) for part in absent.__version__.split(".")) >= (0, 0)
            assert er.size * 2 + 1 > 0 and absent.cuda.is_available()
            DEVICE = absent.device("cuda" if absent.cuda.is_available() else "cpu")
            for one in absent.everything():
                raise RuntimeError
            with absent.no_grad() as context, absent.lock:
                context.value[0] = -er.matrix @ er.matrix
            Kind = absent.Tensor | None
            Both = Optional[absent.Tensor]
            Many = dict[str, absent.Tensor]
            T = TypeVar("T", bound=absent.Tensor)
            print(f"{absent.pi:.2f}", str(absent), len(absent.list), int(absent.number), float(absent.number))
            assert not isinstance(1, absent.Tensor)

            class Network(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = nn.Linear(1, 2)

            class Mixed(Mixin, Model, table=True): ...
            class Again(Network, nn.Module): ...
            class Other(absent.Base[int], Generic[T]): ...
            class Table(absent.Base, metaclass=absent.Meta): ...

            @dataclass
            class Data:
                value: absent.Tensor = absent.zeros(3)

            network = Network().to(DEVICE).half()
            model = absent.compile(network)
            app = absent.App()

            @app.function(image=absent.Image)
            @Endpoint(name="outside")
            def outside(): ...

            @Endpoint(name="inside", dependencies=["absent"])
            @absent.inference_mode()
            @absent.jit
            def inside(text: absent.Tensor, size: "absent.Size" = absent.SIZE) -> Kind:
                import absent
        """
    )
    report = app.discover()
    assert (report["errors"], report["warnings"]) == ([], [])
    functions = {endpoint["name"]: endpoint["functions"][0] for endpoint in report["endpoints"]}
    assert (functions["outside"]["name"], functions["inside"]["name"]) == ("outside", "inside")
    assert functions["inside"]["parameters"][0]["annotation"] == "absent.Tensor"


def test_modules_of_python_and_of_installed_packages_have_no_stand_ins(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint
            try:
                import winreg
            except ImportError:
                winreg = None
            try:
                import edgerun.missing
            except ImportError:
                missing = True
            @Endpoint(name="x" if winreg is None and missing else "")
            def work(): ...
        """
    )
    assert list(app.found()) == ["x"]


def test_a_file_that_cannot_be_imported_is_read_by_its_literals_where_they_suffice(app: App) -> None:
    app.write(
        worker="""
            import os
            from edgerun import Endpoint, GpuType, PodTemplate
            import helper

            GPU = [GpuType.NVIDIA_L4]
            MOST: int = 2 + 1
            MODEL = os.environ["NOT_SET_WHERE_APPS_ARE_BUILT"]

            @helper.traced
            @Endpoint(name="queue", gpu=GPU, workers=(0, MOST), template=PodTemplate(containerDiskInGb=80))
            async def work(text: str, size: int = 3) -> dict:
                '''Works.'''
                yield 1

            api = Endpoint(name="api", cpu="cpu3c-1-2")

            @api.get("/a")
            def a(): ...

            @Endpoint(name="model")
            class Model(helper.Base):
                def __init__(self, size=3): ...
                def run(self, text): ...
        """,
        helper="def traced(f): return f\nclass Base: ...\n",
    )
    report = app.discover()
    assert report["errors"] == []
    (warning,) = report["warnings"]
    assert (warning["file"], warning["line"]) == ("worker.py", 8)
    assert "KeyError" in warning["message"] and "NOT_SET_WHERE_APPS_ARE_BUILT" in warning["message"]
    found = {endpoint["name"]: endpoint for endpoint in report["endpoints"]}
    assert sorted(found) == ["api", "model", "queue"]
    queue = found["queue"]
    assert queue["resource"]["workersMax"] == 3 and queue["resource"]["template"]["containerDiskInGb"] == 80
    function = queue["functions"][0]
    assert (function["isAsync"], function["isGenerator"], function["description"]) == (True, True, "Works.")
    assert [one["name"] for one in function["parameters"]] == ["text", "size"]
    assert found["model"]["functions"][0]["classMethods"] == ["run"]
    assert found["api"]["functions"][0]["httpPath"] == "/a"


def test_a_file_that_fails_is_run_once_even_where_others_import_it(
    app: App, log: Callable[[], list[str]]
) -> None:
    note = "open(__file__.rpartition('/')[0] + '/log', 'a').write(__name__ + chr(10))\n"
    app.write(
        a="from z import work\nfrom edgerun import Endpoint\n@Endpoint(name='a')\nasync def a(): await work()\n",
        z=note + DECLARED + "raise RuntimeError('on purpose')\n",
    )
    assert sorted(app.found()) == ["a", "x"]
    assert log() == ["z"]


@pytest.mark.parametrize(
    "code", ["raise RuntimeError('on purpose')", "import sys; sys.exit(1)", "from helper import missing"]
)
def test_a_file_whose_literals_do_not_suffice_is_an_error_where_it_failed(app: App, code: str) -> None:
    app.write(worker=FROM_VARIABLE.format(code), helper="")
    (error,) = app.errors()
    assert error.startswith("worker.py:3: importing worker.py failed")


@pytest.mark.parametrize("head", ["import time\n", "while True: pass\n"])
def test_code_that_blocks_is_ended_and_told_that_it_does(app: App, head: str) -> None:
    app.write(
        worker=FROM_VARIABLE.format(f"import time\n{'time.sleep(600)' if 'time' in head else head}"),
        b=DECLARED,
    )
    started = time.monotonic()
    report = app.discover(timeout_seconds=1)
    assert time.monotonic() - started < 10
    (error,) = report["errors"]
    assert "module level may block" in error["message"] and "worker.py:4" in error["message"]
    assert [endpoint["name"] for endpoint in report["endpoints"]] == ["x"]


def test_code_that_blocks_is_a_warning_where_literals_suffice(app: App) -> None:
    app.write(worker=DECLARED + "import time\ntime.sleep(600)\n")
    (warning,) = app.warnings(timeout_seconds=1)
    assert "took longer than 1 s, at worker.py:5" in warning


def test_code_that_ends_the_process_is_told_and_others_go_on(app: App) -> None:
    app.write(worker=FROM_VARIABLE.format("os._exit(7)"), b=DECLARED)
    report = app.discover()
    (error,) = report["errors"]
    assert error["file"] == "worker.py" and "exit code 7" in error["message"]
    assert [endpoint["name"] for endpoint in report["endpoints"]] == ["x"]


def test_where_a_fork_is_not_safe_an_interpreter_of_its_own_imports(app: App) -> None:
    app.write(types="1 / 0\n", ending=FROM_VARIABLE.format("os._exit(7)"), worker=DECLARED)
    notes = Notes()
    candidates = ["ending.py", "worker.py"]
    found = import_candidates(app.root, app.files(), candidates, 20, launch_interpreter, notes)
    assert [declaration["file"] for declaration in found] == ["worker.py"]
    (error,) = notes.errors
    assert error.place is not None and error.place.file == "ending.py" and "exit code 7" in error.message


def test_threads_that_modules_start_do_not_keep_discovery(app: App) -> None:
    app.write(
        worker="import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n" + DECLARED
    )
    started = time.monotonic()
    assert list(app.found()) == ["x"]
    assert time.monotonic() - started < 20


def test_prints_of_the_app_go_to_standard_error(app: App, capfd: pytest.CaptureFixture[str]) -> None:
    app.write(worker="import os\nprint('from print')\nos.system('echo from a shell')\n" + DECLARED)
    assert list(app.found()) == ["x"]
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "from print" in captured.err and "from a shell" in captured.err


def test_code_that_asks_for_input_is_not_kept_waiting(app: App) -> None:
    app.write(worker="try:\n    input()\nexcept EOFError:\n    pass\n" + DECLARED)
    assert list(app.found()) == ["x"]


def test_discovery_leaves_nothing_in_the_project(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    app.write(worker=DECLARED, pkg__other=DECLARED.replace("'x'", "'y'"))
    before = sorted(path for path in app.root.rglob("*"))
    app.found()
    assert sorted(path for path in app.root.rglob("*")) == before


def test_what_a_worker_has_in_its_environment_does_not_change_what_is_found(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNPOD_POD_ID", "pod")
    monkeypatch.setenv("FLASH_RESOURCE_NAME", "x")
    app.write(worker=DECLARED + f"assert not {os.environ.get('NEVER')!r}\n")
    assert list(app.found()) == ["x"]


def test_files_of_any_encoding_and_the_newest_line_ends_are_read(app: App) -> None:
    (app.root / "worker.py").write_bytes(
        b"# -*- coding: latin-1 -*-\r\n"
        + DECLARED.replace("\n", "\r\n").encode()
        + "# é\r\n".encode("latin-1")
    )
    assert list(app.found()) == ["x"]
