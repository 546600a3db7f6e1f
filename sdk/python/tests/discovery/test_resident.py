"""Discovery that stays: what is imported again, and what is waited for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import edgerun
from edgerun.discovery import resident
from edgerun.discovery.importing import launch_interpreter
from edgerun.discovery.resident import Reader, Reading

from .conftest import App, Report, shown

SOURCE = str(Path(edgerun.__file__).parents[1])
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


def worker(name: str, extra: str = "") -> str:
    return (
        "from edgerun import Endpoint\n"
        f"print('{name}', file=open({{log!r}}, 'a'))\n{extra}\n"
        f"@Endpoint(name='{name}')\ndef {name}(): ...\n"
    )


class Watched:
    """An app that is read again and again by one process."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.reader = Reader(app.root)

    def write(self, **files: str) -> None:
        log = str(self.app.root / "log")
        self.app.write(**{name: text.replace("{log!r}", repr(log)) for name, text in files.items()})

    def begin(self, timeout_seconds: float = 20) -> Reading:
        return self.reader.begin(self.app.files(), timeout_seconds)

    def read(self, timeout_seconds: float = 20) -> Report:
        reading = self.begin(timeout_seconds)
        while not reading.is_done:
            reading.wait()
            reading.advance()
        return reading.report()


@pytest.fixture
def watched(app: App) -> Watched:
    return Watched(app)


Log = Callable[[], list[str]]


def test_only_what_a_change_concerns_is_imported_again(watched: Watched, log: Log) -> None:
    watched.write(a=worker("a", "import part"), b=worker("b"), part="", between="", c=worker("c", "import a"))
    first = watched.read()
    assert [endpoint["name"] for endpoint in first["endpoints"]] == ["a", "b", "c"]
    watched.write(b=worker("b", "x = 1"))
    watched.read()
    assert log() == ["a", "c", "b", "b"]
    watched.write(part="y = 1")
    assert len(watched.read()["endpoints"]) == 3
    assert log()[4:] == ["a", "c"]


def test_a_report_is_the_one_of_a_fresh_interpreter(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.write(a=worker("a", "import b"), b=worker("b"), bad=worker("bad") + "def (:\n")
    again = [watched.read(), watched.read()]
    monkeypatch.setattr("edgerun.discovery.app.launch_for_this_system", lambda: launch_interpreter)
    fresh = watched.app.discover()
    for report in again:
        assert {key: report[key] for key in fresh} == fresh


def test_empty_packages_do_not_make_their_modules_one_group(watched: Watched, log: Log) -> None:
    watched.write(p____init__='"""Workers."""', p__a=worker("a"), p__b=worker("b"))
    watched.read()
    watched.write(p__a=worker("a", "x = 1"))
    watched.read()
    assert log() == ["a", "b", "a"]


def test_routes_of_several_files_are_read_together(watched: Watched) -> None:
    watched.write(
        config="from edgerun import Endpoint\napi = Endpoint(name='api', cpu='cpu3c-1-2')\n",
        one="from config import api\n@api.get('/one')\ndef one(): ...\n",
        two="from config import api\n@api.get('/two')\ndef two(): ...\n",
    )
    watched.read()
    watched.write(one="from config import api\n@api.get('/other')\ndef one(): ...\n")
    (api,) = watched.read()["endpoints"]
    assert sorted(function["httpPath"] for function in api["functions"]) == ["/other", "/two"]


def test_files_that_modules_open_count_but_not_those_that_they_write(watched: Watched, log: Log) -> None:
    watched.app.add({"settings.txt": "1"})
    watched.write(a=worker("a", "open('settings.txt').read(); open('written.txt', 'w').write('x')"))
    report = watched.read()
    assert report["opened"] == [".env", "settings.txt"]
    watched.read()
    assert log() == ["a"]
    watched.app.add({"settings.txt": "22"})
    watched.read()
    watched.app.add({".env": "KEY=1"})
    watched.read()
    assert log() == ["a", "a", "a"]


def test_a_module_that_hangs_is_given_up_once_and_the_others_go_on(watched: Watched, log: Log) -> None:
    watched.write(a=worker("a"), b=worker("b", "import time; time.sleep(60)"))
    report = watched.read(timeout_seconds=0.5)
    assert [endpoint["name"] for endpoint in report["endpoints"]] == ["a", "b"]
    (warning,) = report["warnings"]
    assert "took longer than 0.5 s, at b.py:3" in warning["message"]
    watched.write(a=worker("a", "x = 1"))
    assert watched.read(timeout_seconds=0.5)["warnings"] == [warning]
    assert log() == ["a", "b", "a"]


def test_a_report_can_be_had_while_a_file_is_being_imported(
    watched: Watched, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "PATIENCE_SECONDS", 0.0)
    watched.write(a=worker("a"), b=worker("b", "open(0).read() or __import__('time').sleep(60)"))
    reading = watched.begin()
    while "b" not in log():
        reading.advance()
    reading.advance()
    report = reading.report()
    assert ([one["name"] for one in report["endpoints"]], report["unread"]) == (["a"], ["b.py"])
    assert report["errors"] == []
    reading.stop()
    watched.write(a=worker("a", "x = 1"))
    next_reading = watched.begin()
    while log().count("b") < 2:
        next_reading.advance()
    next_reading.stop()
    # What was waited for already comes last.
    assert log() == ["a", "b", "a", "b"]


def test_a_process_that_ends_for_no_reason_of_a_file_says_so(watched: Watched) -> None:
    spoiling = "import os\nimport edgerun.discovery.recorder as r\nr.describe = lambda _: os._exit(3)\n"
    watched.write(a=worker("a") + spoiling)
    report = watched.read()
    assert "ended unexpectedly (exit code 3)" in report["failure"]
    assert report["unread"] == ["a.py"]


def test_files_that_cannot_be_parsed_are_named_with_their_line(watched: Watched) -> None:
    watched.write(a=worker("a", "import part"), part="x = = 1\n")
    report = watched.read()
    assert [shown(note) for note in report["faults"]] == [
        "part.py:1: invalid syntax\n    x = = 1\n        ^"
    ]
    assert sorted(report["hashes"]) == ["a.py", "part.py"]


class Resident:
    """`python -m edgerun.discovery --stays`, in a session of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        answers, theirs = os.pipe()
        script = (
            f"import os, runpy, sys; os.dup2({theirs}, 3); sys.argv = ['discovery', '--stays'];"
            "runpy.run_module('edgerun.discovery', run_name='__main__', alter_sys=True)"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-c", script],
            env={**os.environ, "PYTHONPATH": SOURCE},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs],
            start_new_session=True,
        )
        os.close(theirs)
        self.answers = os.fdopen(answers)

    def ask(self, identity: int, files: list[str]) -> None:
        request = {"id": identity, "root": str(self.root), "files": files, "timeoutSeconds": 20}
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.answers.readline())
        return found

    def leave(self) -> bytes:
        """Stops asking; what all of its processes have printed, once none of them is there."""
        assert self.process.stdin and self.process.stderr
        self.process.stdin.close()
        with self.process.stderr as errors:
            printed = errors.read()
        self.process.wait()
        self.answers.close()
        return printed


@pytest.fixture
def running(app: App) -> Iterator[Resident]:
    found = Resident(app.root)
    yield found
    found.process.kill()
    found.process.wait()


@POSIX
def test_a_new_request_ends_the_one_before_it(app: App, running: Resident) -> None:
    app.write(
        a="import time\nfrom edgerun import Endpoint\ntime.sleep(60)\n@Endpoint(name='a')\ndef a(): ...\n"
    )
    running.ask(1, ["a.py"])
    app.write(a="from edgerun import Endpoint\n@Endpoint(name='a')\ndef a(): ...\n")
    running.ask(2, ["a.py"])
    answers = [running.answer()]
    if answers[0]["id"] == 1:  # The second request may have come late.
        answers.append(running.answer())
    assert (answers[-1]["id"], len(answers[-1]["endpoints"])) == (2, 1)
    assert running.leave() == b""


@POSIX
def test_nothing_of_the_app_stays_loaded(app: App, running: Resident) -> None:
    app.write(
        a="from edgerun import Endpoint\nimport b\n@Endpoint(name=b.NAME)\ndef a(): ...\n", b="NAME = 'one'\n"
    )
    running.ask(1, app.files())
    assert running.answer()["endpoints"][0]["name"] == "one"
    app.write(b="NAME = 'two'\n")
    running.ask(2, app.files())
    assert running.answer()["endpoints"][0]["name"] == "two"
    assert running.leave() == b""


@POSIX
def test_whoever_asks_may_go_at_any_time(app: App, running: Resident) -> None:
    app.write(
        a="import sys, time\nfrom edgerun import Endpoint\n"
        "print('here', file=sys.stderr, flush=True)\ntime.sleep(600)\n@Endpoint(name='a')\ndef a(): ...\n"
    )
    running.ask(1, ["a.py"])
    assert running.process.stderr and running.process.stderr.readline() == b"here\n"
    assert running.leave() == b""
