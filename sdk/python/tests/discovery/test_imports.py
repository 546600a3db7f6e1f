"""Which local files code needs, and which imports would not work where it is deployed."""

from __future__ import annotations

from .conftest import App

HEAD = "from edgerun import Endpoint\n"
TAIL = "@Endpoint(name='x')\ndef work():\n    {}\n"


def test_the_closure_follows_every_form_of_import(app: App) -> None:
    app.add(
        {
            "pkg/__init__.py": "from . import first\n",
            "pkg/first.py": "from .deep import second\n",
            "pkg/deep/__init__.py": "",
            "pkg/deep/second.py": "from ..third import *\nfrom .. import fourth as f\n",
            "pkg/third.py": "",
            "pkg/fourth.py": "",
            "pkg/unused.py": "",
            "inside.py": "import importlib\nx = importlib.import_module('literal')\n",
            "literal.py": "from importlib import import_module as load\nload('.neighbour', package='pkg2')\n",
            "pkg2/neighbour.py": "__import__('last')\n",
            "last.py": "",
            "namespace/module.py": "",
            "lonely.py": "",
            "worker.py": HEAD + "import namespace.module\n" + TAIL.format("import inside; import pkg"),
        }
    )
    (endpoint,) = app.found().values()
    assert endpoint["localFiles"] == [
        "inside.py",
        "last.py",
        "literal.py",
        "namespace/module.py",
        "pkg/__init__.py",
        "pkg/deep/__init__.py",
        "pkg/deep/second.py",
        "pkg/first.py",
        "pkg/fourth.py",
        "pkg/third.py",
        "pkg2/neighbour.py",
        "worker.py",
    ]


def test_each_endpoint_has_its_own_files_and_the_report_those_of_all(app: App) -> None:
    app.write(
        a=HEAD + "import one\n" + TAIL.format("...").replace("'x'", "'a'"),
        b=HEAD + "import two\n" + TAIL.format("...").replace("'x'", "'b'"),
        one="",
        two="",
        three="",
    )
    report = app.discover()
    assert [endpoint["localFiles"] for endpoint in report["endpoints"]] == [
        ["a.py", "one.py"],
        ["b.py", "two.py"],
    ]
    assert report["localFiles"] == ["a.py", "b.py", "one.py", "two.py"]


def test_an_import_that_ignore_rules_have_dropped_is_an_error_with_file_and_importer(app: App) -> None:
    app.write(
        worker=HEAD + TAIL.format("from shared import helper"),
        shared__helper="import test_data\n",
        test_data="",
    )
    (error,) = app.errors(without=["test_data.py"])
    assert error.startswith("shared/helper.py:1: shared/helper.py imports test_data.py")


def test_a_dropped_import_that_may_fail_is_a_warning(app: App) -> None:
    text = "try:\n    import local_settings\nexcept ImportError:\n    local_settings = None\n"
    app.write(worker=HEAD + text + TAIL.format("..."), local_settings="")
    (warning,) = app.warnings(without=["local_settings.py"])
    assert "local_settings.py" in warning


def test_what_only_tests_and_type_checkers_import_is_not_needed(app: App) -> None:
    app.write(
        worker=HEAD
        + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import typing_only\n"
        + TAIL.format("...")
        + "if __name__ == '__main__':\n    from test_worker import run\n",
        test_worker="",
        typing_only="",
    )
    (endpoint,) = app.found(without=["test_worker.py"]).values()
    assert endpoint["localFiles"] == ["worker.py"]


def test_a_relative_import_that_leads_nowhere_is_fatal_where_something_is_declared(app: App) -> None:
    app.add({"pkg/worker.py": HEAD + TAIL.format("from .missing import x"), "pkg/__init__.py": ""})
    (error,) = app.errors()
    assert error.startswith("pkg/worker.py:4:") and "pkg.missing" in error


def test_a_relative_import_that_leaves_the_project_is_fatal_where_something_is_declared(app: App) -> None:
    app.write(worker=HEAD + TAIL.format("from . import helper"), helper="")
    (error,) = app.errors()
    assert error.startswith("worker.py:4:") and "from . import helper" in error


def test_a_relative_import_that_leads_nowhere_is_a_warning_elsewhere(app: App) -> None:
    app.write(worker=HEAD + TAIL.format("..."), pkg__other="from .missing import x\nfrom ... import y\n")
    warnings = app.warnings()
    assert len(warnings) == 2 and all(one.startswith("pkg/other.py:") for one in warnings)


def test_an_optional_relative_import_may_lead_nowhere(app: App) -> None:
    text = "try:\n    from ._version import version\nexcept ImportError:\n    version = '0'\n"
    app.add({"pkg/worker.py": HEAD + text + TAIL.format("..."), "pkg/__init__.py": ""})
    assert app.warnings() == []


def test_a_dynamic_import_of_an_unknown_name_is_a_warning_where_it_is_shipped(app: App) -> None:
    text = "import importlib\ndef load(name):\n    return importlib.import_module(name)\n"
    app.write(worker=HEAD + TAIL.format("import loader"), loader=text, tool=text)
    (warning,) = app.warnings()
    assert warning.startswith("loader.py:3:")


def test_directories_named_like_by_products_count_where_code_imports_them(app: App) -> None:
    sample = HEAD + "@Endpoint(name='sample')\ndef sample(): ...\n"
    app.write(worker=HEAD + TAIL.format("import build.tools"), build__tools="", docs__sample=sample)
    report = app.discover()
    assert [endpoint["name"] for endpoint in report["endpoints"]] == ["x"]
    assert report["localFiles"] == ["build/tools.py", "worker.py"]


def test_a_module_beside_the_importer_is_warned_about(app: App) -> None:
    app.write(sub__worker=HEAD + TAIL.format("import beside"), sub__beside="")
    (warning,) = app.warnings()
    assert warning.startswith("sub/worker.py:4:") and "sub.beside" in warning


def test_packages_that_loading_the_code_asks_for_are_listed(app: App) -> None:
    app.add(
        {
            "helper.py": "import left.deep\ntry:\n    import maybe\nexcept ImportError:\n    maybe = None\n",
            "apart.py": "import nobody\n",
            "worker.py": "import json, right\nimport helper\nif True:\n    from up import down\n"
            + HEAD
            + TAIL.format("import later"),
        }
    )
    assert app.discover()["imports"] == [
        {"file": "helper.py", "line": 1, "module": "left"},
        {"file": "worker.py", "line": 1, "module": "right"},
        {"file": "worker.py", "line": 4, "module": "up"},
        {"file": "worker.py", "line": 5, "module": "edgerun"},
    ]
