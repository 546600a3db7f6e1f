"""What is wrong with an app, and where it says so."""

from __future__ import annotations

import pytest

from .conftest import App

# Python 3.10 places the call of a decorator at the function, later ones at the decorator.
PLACES_OF_SECOND = ("worker.py:8:", "worker.py:9:")

WORKER = "from edgerun import Endpoint\n@Endpoint(name='{}')\ndef work(): ...\n"


def test_one_name_in_two_files_is_an_error_with_both_places(app: App) -> None:
    app.write(a=WORKER.format("x"), b=WORKER.format("x"))
    (error,) = app.errors()
    assert error.startswith('b.py:2: the endpoint name "x" is taken')
    assert "at a.py:2" in error


def test_two_functions_under_one_name_in_one_file_are_an_error_with_both_places(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint

            @Endpoint(name="x")
            def first(): ...

            @Endpoint(name="x")
            def second(): ...
        """
    )
    (error,) = app.errors()
    assert error.startswith("worker.py:7:")
    assert "at worker.py:4" in error


def test_two_functions_of_one_endpoint_object_are_an_error_with_both_places(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint
            endpoint = Endpoint(name="x")

            @endpoint
            def first(): ...

            @endpoint
            def second(): ...
        """
    )
    (error,) = app.errors()
    assert error.startswith(PLACES_OF_SECOND)
    assert "first() (worker.py:5)" in error


def test_two_load_balanced_objects_of_one_name_are_an_error(app: App) -> None:
    text = "api = Endpoint(name='api', cpu='cpu3c-1-2')\n@api.get('/{0}')\ndef {0}(): ...\n"
    app.write(worker="from edgerun import Endpoint\n" + text.format("a") + text.format("b"))
    (error,) = app.errors()
    assert error.startswith("worker.py:5:") and "at worker.py:2" in error


@pytest.mark.parametrize(
    ("routes", "line", "said"),
    [
        ("@api.get('/a')\ndef a(): ...\n@api.get('/a')\ndef b(): ...", 5, "a() (worker.py:3)"),
        ("@api.get('/ping')\ndef a(): ...", 3, "reserved"),
        ("@api.post('/execute')\ndef a(): ...", 3, "reserved"),
        ("@api.get('a')\ndef a(): ...", 3, "begins with"),
        ("@api.get\ndef a(): ...", 3, "path"),
        ("@api.get()\ndef a(): ...", 3, "path"),
        ("@api.get('/a')\ndef a(): ...\n@api\ndef b(): ...", 5, "has routes"),
        ("@api\ndef b(): ...\n@api.get('/a')\ndef a(): ...", 5, "cannot have routes"),
    ],
)
def test_a_route_that_cannot_be_is_an_error_at_its_line(app: App, routes: str, line: int, said: str) -> None:
    app.write(worker=f"from edgerun import Endpoint\napi = Endpoint(name='api', cpu='cpu3c-1-2')\n{routes}\n")
    (error,) = app.errors()
    assert error.startswith((f"worker.py:{line}:", f"worker.py:{line + 1}:"))
    assert said in error


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "a.b", "x;import os", "ü", "x" * 300])
def test_an_invalid_name_is_an_error(app: App, name: str) -> None:
    app.write(worker=f"from edgerun import Endpoint\n@Endpoint(name={name!r})\ndef work(): ...\n")
    (error,) = app.errors()
    assert error.startswith("worker.py:2:")


def test_a_function_whose_name_is_invalid_for_an_endpoint_is_an_error(app: App) -> None:
    app.write(worker="from edgerun import Endpoint\n@Endpoint()\ndef _work(): ...\n")
    (error,) = app.errors()
    assert error.startswith(("worker.py:2:", "worker.py:3:")) and "_work" in error


def test_what_the_constructor_refuses_is_told_at_its_line_once(app: App) -> None:
    app.write(
        a="from worker import work\nfrom edgerun import Endpoint\n@Endpoint(name='a')\ndef a(): ...\n",
        worker="from edgerun import Endpoint\nx = 1\n@Endpoint(name='x', workers=(3, 1))\ndef work(): ...\n",
    )
    errors = app.errors()
    assert len(errors) == 1
    assert errors[0].startswith("worker.py:3:") and "workers" in errors[0]


def test_what_the_constructor_refuses_is_reported_with_its_own_message(app: App) -> None:
    app.write(
        worker="import os\nfrom edgerun import Endpoint\n@Endpoint(name=os.sep)\ndef work(): ...\n",
    )
    (error,) = app.errors()
    assert error.startswith("worker.py:3: name='/' must begin")


def test_a_misspelt_parameter_is_told_at_its_line(app: App) -> None:
    app.write(worker="from edgerun import Endpoint\n@Endpoint(nmae='x')\ndef work(): ...\n")
    (error,) = app.errors()
    assert error.startswith("worker.py:2:") and "nmae" in error


def test_an_app_without_endpoints_is_shown_both_forms(app: App) -> None:
    app.write(script="print('hello')")
    (error,) = app.errors()
    assert "@Endpoint(" in error and "@api.post(" in error


def test_an_endpoint_without_function_or_route_is_a_warning(app: App) -> None:
    app.write(worker=WORKER.format("x") + "idle = Endpoint(name='idle')\n")
    (warning,) = app.warnings()
    assert warning.startswith('worker.py:4: the endpoint "idle" has neither')


def test_a_class_whose_constructor_needs_arguments_is_an_error(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint

            @Endpoint(name="x")
            class Model:
                def __init__(self, path, size=3, *, mode): ...
                def run(self): ...
        """
    )
    (error,) = app.errors()
    assert error.startswith("worker.py:5:") and "path, mode" in error


def test_a_syntax_error_is_fatal_where_something_is_declared_and_a_warning_elsewhere(
    app: App,
) -> None:
    app.write(worker=WORKER.format("x"), notes="def broken(:\n")
    (warning,) = app.warnings()
    assert warning.startswith("notes.py:1:")
    app.write(other="from edgerun import Endpoint\n\ndef broken(:\n")
    (error,) = app.errors()
    assert error.startswith("other.py:3:")


def test_a_broken_file_that_declares_nothing_breaks_nothing(app: App) -> None:
    app.write(worker=WORKER.format("x"), broken="raise RuntimeError('never run')")
    app.add({"binary.py": ""})
    (app.root / "binary.py").write_bytes(b"\x00\xff\xfe" * 10)
    assert list(app.found()) == ["x"]


def test_a_file_that_fails_does_not_stop_the_others(app: App) -> None:
    app.write(
        a="from edgerun import Endpoint\nfrom nowhere_local import N\nimport helper\n"
        "@Endpoint(name=helper.NAME)\ndef a(): ...\n",
        helper="NAME = {}['missing']",
        b="from edgerun import Endpoint\n@Endpoint(name='b', workers=-1)\ndef b(): ...\n",
    )
    first, second = sorted(app.errors())
    assert first.startswith("b.py:2:")
    assert second.startswith("helper.py:1:") and "KeyError" in second and "a.py" in second


def test_a_function_within_another_is_an_error_since_workers_cannot_import_it(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint

            def declare():
                @Endpoint(name="x")
                def inner(): ...

            declare()
        """
    )
    (error,) = app.errors()
    assert "top level" in error and error.startswith("worker.py:")


def test_a_worker_named_like_a_module_of_python_is_an_error(app: App) -> None:
    app.write(queue=WORKER.format("x"))
    (error,) = app.errors()
    assert error.startswith("queue.py:1:") and "rename" in error


def test_a_file_name_with_dots_is_an_error(app: App) -> None:
    app.add({"my.worker.py": WORKER.format("x")})
    (error,) = app.errors()
    assert error.startswith("my.worker.py:1:") and "dots" in error


def test_a_setting_that_json_cannot_carry_is_an_error(app: App) -> None:
    app.write(
        worker="import missing_library\nfrom edgerun import Endpoint\n\n"
        "@Endpoint(name='x', env={'A': missing_library.secret()})\ndef x(): ...\n"
    )
    (error,) = app.errors()
    assert error.startswith("worker.py:4:")


def test_a_class_without_public_methods_is_an_error(app: App) -> None:
    app.write(
        worker="from edgerun import Endpoint\n@Endpoint(name='x')\nclass Empty:\n    def _run(self): ...\n"
    )
    (error,) = app.errors()
    assert error.startswith("worker.py:3:") and "no public method" in error


def test_a_directory_name_with_dots_is_an_error(app: App) -> None:
    app.add({"v1.0/worker.py": WORKER.format("x")})
    (error,) = app.errors()
    assert error.startswith("v1.0/worker.py:1:") and "dots" in error


def test_files_that_are_passed_over_are_named_when_there_is_nothing_else(app: App) -> None:
    app.add({"docs/sample.py": WORKER.format("x"), "pkg/__init__.py": WORKER.format("y")})
    report = app.discover()
    assert [note["file"] for note in report["warnings"]] == ["pkg/__init__.py", "docs/sample.py"]
    assert len(report["errors"]) == 1


def test_files_must_not_stand_where_workers_have_something_else(app: App) -> None:
    app.write(
        worker="import queue\n" + WORKER.format("x"),
        queue="",
        handler_x="",
        edgerun__a="",
        edgerun__b="",
        lib__email="",
        handler_other="",
    ).add({"json/__init__.py": ""})
    report = app.discover()
    assert [(one["file"], one["message"].split(",")[0]) for one in report["errors"]] == [
        ("edgerun/a.py", "every build has the package `edgerun` in place of this; rename it."),
        ("queue.py", "`queue` is a module of Python itself"),
        ("handler_x.py", "the build writes a file of this name"),
    ]
    assert [one["file"] for one in report["warnings"]] == ["json/__init__.py"]
