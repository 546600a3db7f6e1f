"""The command `python -m edgerun.discovery`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import edgerun

from .conftest import App

SOURCE = str(Path(edgerun.__file__).parents[1])


def request(app: App) -> str:
    return json.dumps({"root": str(app.root), "files": app.files(), "timeoutSeconds": 20})


def run(app: App, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "edgerun.discovery", *arguments],
        input=request(app),
        env={**os.environ, "PYTHONPATH": SOURCE},
        cwd=Path(SOURCE),
        capture_output=True,
        text=True,
        check=False,
    )


WORKER = "from edgerun import Endpoint\nprint('mine')\n@Endpoint(name='x')\ndef work():\n    '''Grüße.'''\n"


def test_the_report_goes_into_a_file_that_is_named(app: App, tmp_path: Path) -> None:
    app.write(worker=WORKER)
    path = tmp_path / "report.json"
    result = run(app, "--report", str(path))
    assert (result.returncode, result.stdout) == (0, "")
    report = json.loads(path.read_text("utf-8"))
    assert report["protocol"] == 1
    assert report["endpoints"][0]["functions"][0]["description"] == "Grüße."
    assert report["python"]["version"].split(".")[:2] == [str(part) for part in sys.version_info[:2]]
    assert report["sdkVersion"] == edgerun.__version__


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors cannot be inherited")
def test_the_report_goes_to_descriptor_3_and_never_to_standard_output(app: App, tmp_path: Path) -> None:
    app.write(worker=WORKER)
    shell = f'exec "{sys.executable}" -X utf8 -m edgerun.discovery 3>"{tmp_path}/report.json"'
    result = subprocess.run(
        ["sh", "-c", shell],
        input=request(app),
        env={**os.environ, "PYTHONPATH": SOURCE},
        cwd=Path(SOURCE),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, "")
    assert "mine" in result.stderr
    assert len(json.loads((tmp_path / "report.json").read_text("utf-8"))["endpoints"]) == 1
