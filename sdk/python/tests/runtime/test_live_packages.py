"""Packages that live workers install."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from live_worker import LiveServer, LiveWorker, Project, outcome_of
from wheels import make_wheel, only_from, served_to
from worker_process import SOURCES, WAIT_S

from edgerun.runtime.live import installers
from edgerun.runtime.live.command import InstallCommand, InstallFailed
from edgerun.runtime.live.credentials import with_credentials
from edgerun.runtime.live.installers import install
from edgerun.runtime.live.needs import unmet
from edgerun.runtime.live.packages import cache_directory, listed, remove_unused
from edgerun.runtime.live.system_packages import install_system_packages

_OWN_UV = Path(__file__).resolve().parents[4] / ".venv" / "uv" / "bin" / "uv"
UV = shutil.which("uv") or (str(_OWN_UV) if _OWN_UV.exists() else None)

RESTART_EXIT_CODE = 75
"""By which the agent knows that the end was planned: LIVE_RESTART_EXIT_CODE of src/contract/flash/flash-live.ts."""

FUNCTION = """
    from edgerun import Endpoint

    @Endpoint(name="job", cpu="cpu3c-1-2")
    def work(name="tea_leaf"):
        module = __import__(name)
        return [module.WORD, module.__file__.startswith(PLACE)]
"""


ROUTE = """
    from edgerun import Endpoint

    api = Endpoint(name="api", cpu="cpu3c-1-2")

    @api.get("/word")
    def word():
        import tea_leaf
        return tea_leaf.WORD
"""

INSTALLERS = ["pip", "uv"]
QUICKEST = ["uv" if UV else "pip"]


@pytest.fixture
def worker(request, agent, tmp_path):
    """A worker that installs by pip, or by uv."""
    if request.param == "uv" and UV is None:
        pytest.skip("there is no uv here")
    index = tmp_path / "index"
    make_wheel(index, "tea_leaf", "1.0", {"tea_leaf.py": "WORD = 'one'\n"})
    make_wheel(index, "tea_leaf", "2.0", {"tea_leaf.py": "WORD = 'two'\n"})
    make_wheel(index, "tea_pot", "1.0", {"tea_pot.py": "WORD = 'pot'\n"}, requires=("tea-leaf<2",))
    make_wheel(
        index,
        "tea_sum",
        "1.0",
        {"tea_sum.py": "import numpy, tea_leaf\nWORD = numpy.WORD + tea_leaf.WORD\n"},
        requires=("numpy", "tea-leaf"),
    )
    make_wheel(index, "torch", "9.0", {"torch.py": "WORD = 'torch'\n"}, requires=("tea-cup",))
    make_wheel(index, "tea_cup", "1.0", {"tea_cup.py": ""})
    make_wheel(index, "tea_bot", "1.0", {"tea_bot.py": "WORD = 'bot'\n"}, requires=("torch", "tea-leaf"))
    programs = tmp_path / "bin"
    programs.mkdir()
    if request.param == "uv":
        (programs / "uv").symlink_to(UV)
    environment = {**agent.environment, **only_from(index), "PATH": worker_path(tmp_path)}
    environment["PYTHONPATH"] = python_path(tmp_path)
    lay_out_image(tmp_path / "image")
    worker = LiveWorker(tmp_path, environment)
    yield worker
    worker.close()


def worker_path(directory: Path) -> str:
    """Where programs are looked for: among them no installer but that of the test."""
    return f"{directory / 'bin'}:/usr/bin:/bin"


def python_path(directory: Path) -> str:
    """Where modules are looked for: among them what the image brings."""
    return f"{directory / 'image'}{os.pathsep}{SOURCES}"


def lay_out_image(directory: Path) -> None:
    """Packages that the worker's Python has already."""
    with zipfile.ZipFile(make_wheel(directory, "numpy", "2.0", {"numpy.py": "WORD = 'image'\n"})) as wheel:
        wheel.extractall(directory)


def project(tmp_path: Path) -> Project:
    made = Project(main=FUNCTION)
    made.files["main.py"] = f"PLACE = {str(tmp_path / 'installed')!r}\n" + made.files["main.py"]
    return made


@pytest.mark.parametrize("worker", INSTALLERS, indirect=True)
def test_only_what_is_lacking_is_installed_once_in_a_cache_that_other_workers_share(agent, worker, tmp_path):
    made = project(tmp_path)
    private = "--extra-index-url https://me:s3cret@127.0.0.1:9/simple"
    asked = [private, "--pre", "tea-sum", "tea-bot", "numpy"]
    assert agent.run(made.request(dependencies=asked, args=["tea_sum"])) == {"output": ["imagetwo", True]}
    assert agent.run(made.request(dependencies=asked, args=["tea_bot"])) == {"output": ["bot", True]}
    assert worker.output.count("Installs tea-sum, tea-bot.") == 1
    assert "s3cret" not in worker.output
    [installed] = (tmp_path / "installed" / "packages").iterdir()
    assert {path.stem for path in installed.glob("*.py")} == {"tea_sum", "tea_bot", "tea_leaf"}
    without = outcome_of(agent.run(made.request(dependencies=asked, args=["torch"])))
    assert "too large to be installed for a try" in without["error_message"]
    worker.terminate()
    worker.wait()
    environment = {**agent.environment, "PYTHONPATH": python_path(tmp_path)}
    second = LiveWorker(tmp_path, environment)  # has no index
    try:
        assert agent.run(made.request(dependencies=asked, args=["tea_bot"])) == {"output": ["bot", True]}
        assert "Installs" not in second.output
    finally:
        second.close()


@pytest.mark.parametrize("worker", QUICKEST, indirect=True)
def test_gigabytes_come_when_they_are_asked_for_by_name(agent, worker, tmp_path):
    named = project(tmp_path).request(dependencies=["tea-bot", "Torch"], args=["torch"])
    assert agent.run(named) == {"output": ["torch", True]}


@pytest.mark.parametrize("worker", QUICKEST, indirect=True)
def test_a_package_may_be_added_and_one_in_another_version_gets_a_fresh_worker(agent, worker, tmp_path):
    made = project(tmp_path)
    assert agent.run(made.request(dependencies=["tea-leaf<2"]))["output"][0] == "one"
    added = made.request(dependencies=["tea-leaf<2", "tea-pot"], args=["tea_pot"])
    assert agent.run(added)["output"][0] == "pot"
    request = made.request(dependencies=["tea-leaf==2.0"])
    error = outcome_of(agent.run(request))
    assert (error["error_type"], error["missing_modules"]) == ("MissingModules", [*made.modules.values()])
    assert worker.wait() == RESTART_EXIT_CODE
    assert "The package tea_leaf is loaded as it was before" in worker.output
    fresh = LiveWorker(
        tmp_path, {**agent.environment, **only_from(tmp_path / "index"), "PATH": worker_path(tmp_path)}
    )
    try:
        assert agent.run(request)["output"][0] == "two"
    finally:
        fresh.close()


def test_a_worker_of_routes_ends_for_a_fresh_one_in_the_same_way(tmp_path):
    index = tmp_path / "index"
    for version in ("1.0", "2.0"):
        make_wheel(index, "tea_leaf", version, {"tea_leaf.py": f"WORD = {version!r}\n"})
    made = Project(main=ROUTE)
    routes = {"GET /word": "word"}
    server = LiveServer(tmp_path, only_from(index))
    try:
        first = server.execute(made.route(routes, "GET", "/word", dependencies=["tea-leaf<2"]))
        assert (first.status, first.json) == (200, "1.0")
        second = server.execute(made.route(routes, "GET", "/word", dependencies=["tea-leaf==2.0"]))
        assert (second.status, second.headers["x-flash-live"]) == (409, "missing-modules")
        assert server.wait() == RESTART_EXIT_CODE
    finally:
        server.close()


@pytest.mark.parametrize("worker", QUICKEST, indirect=True)
def test_what_cannot_be_installed_fails_the_job_with_what_the_installer_says(agent, worker, tmp_path):
    made = project(tmp_path)
    error = outcome_of(agent.run(made.request(dependencies=["tea-leaf==3.0"])))
    assert error["error_type"] == "InstallError"
    assert "The installation ended with exit code" in error["error_message"]
    assert "tea-leaf==3.0" in error["error_message"]
    assert agent.run(made.request(dependencies=["tea-leaf"]))["output"][0] == "two"
    assert [one.name[0] for one in (tmp_path / "installed" / "packages").iterdir()] != ["."]


@pytest.mark.parametrize("worker", QUICKEST, indirect=True)
def test_what_a_killed_worker_has_begun_is_removed(agent, worker, tmp_path):
    packages = tmp_path / "installed" / "packages"
    killed, busy = packages / ".making-killed", packages / ".making-busy"
    for one in (killed, busy):
        one.mkdir(parents=True)
    os.utime(killed, (0, 0))
    assert agent.run(project(tmp_path).request(dependencies=["tea-leaf"]))["output"][0] == "two"
    assert (killed.exists(), busy.exists()) == (False, True)


@pytest.mark.parametrize("worker", QUICKEST, indirect=True)
def test_a_cache_that_cannot_be_written_is_reported(agent, worker, tmp_path):
    (tmp_path / "installed").write_text("a file")
    error = outcome_of(agent.run(project(tmp_path).request(dependencies=["tea-leaf"])))
    assert error["error_type"] == "NotLoaded"
    assert f"cannot write the files that the code needs: [Errno 20] Not a directory: '{tmp_path}/installed" in str(
        error
    )


@pytest.mark.parametrize("installer", INSTALLERS)
def test_credentials_in_addresses_are_used(tmp_path, monkeypatch, installer):
    if installer == "uv" and UV is None:
        pytest.skip("there is no uv here")
    monkeypatch.setenv("PATH", f"{Path(UV).parent}" if installer == "uv" else "/usr/bin:/bin")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    make_wheel(tmp_path / "index" / "tea-leaf", "tea_leaf", "1.0", {"tea_leaf.py": ""})
    wheel = make_wheel(tmp_path / "direct", "tea_pot", "1.0", {"tea_pot.py": ""})
    target, between = tmp_path / "target", tmp_path / "between"
    target.mkdir()
    between.mkdir()
    with (
        served_to("me:s3cret", tmp_path / "index") as index,
        served_to("you:pa55word", tmp_path / "direct") as direct,
    ):
        requirements = [f"--index-url {index}", "tea-leaf", f"tea-pot @ {direct}/{wheel.name}"]
        install(requirements, target, between, downloads=tmp_path / "downloads", side_by_side=True)
    assert {path.name for path in target.glob("*.py")} == {"tea_leaf.py", "tea_pot.py"}


def test_credentials_go_to_their_own_host_and_to_the_address_that_is_most_alike():
    requirements = [
        "--index-url https://a:b@host.example/simple",
        "one @ git+https://${ONE}@git.example/team/one.git@main",
        "two @ git+https://${TWO}@git.example/team/two.git",
    ]
    assert (
        with_credentials("https://host.example/files/x.whl", requirements) == "https://a:b@host.example/files/x.whl"
    )
    assert (
        with_credentials("https://git.example/team/two.git", requirements)
        == "https://${TWO}@git.example/team/two.git"
    )
    for url in (
        "https://other.example/x.whl",
        "http://host.example/x.whl",
        "https://host.example.evil/x.whl",
    ):
        assert with_credentials(url, requirements) == url


def test_credentials_in_what_an_installer_says_are_never_shown():
    with pytest.raises(InstallFailed) as failed:
        said = {"SAID": "fatal: https://tok3n@git.example"}
        InstallCommand(["/bin/sh", "-c", 'echo "$SAID"; exit 1'], said).run()
    assert "fatal: https://****@git.example" in str(failed.value)
    assert "tok3n" not in str(failed.value)


def test_requirements_that_this_python_meets_are_not_installed():
    asked = [
        *("pytest", "pytest>=1", "PyTest ; python_version >= '3'", "nowhere ; python_version < '3'", "nowhere"),
        *("pytest<1", "pytest @ https://example.org/pytest.whl", "--no-deps", "pytest", "nowhere"),
    ]
    assert unmet(asked, None) == ["nowhere", "pytest<1", "pytest @ https://example.org/pytest.whl", "--no-deps"]
    assert unmet(["pytest"], []) == ["pytest"]


def test_extras_are_met_by_what_they_need(tmp_path):
    for name, requires in (("tea", "nowhere ; extra == 'hot'"), ("cup", "tea ; extra == 'full'")):
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1\nRequires-Dist: {requires}\n")
    asked = ["tea", "tea[hot]", "cup[full]", "tea[cold]"]
    assert unmet(asked, [str(tmp_path)]) == ["tea[hot]"]


def test_an_installation_that_takes_too_long_ends_with_all_that_it_started(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(InstallFailed, match="The installation took longer than 1 s: "):
        InstallCommand(["/bin/sh", "-c", f"exec 3>{fifo}; sleep 600 & wait"], {}, limit_s=1.0).run()
    held = select.poll()
    held.register(reading)
    assert held.poll(WAIT_S * 1_000) == [(reading, select.POLLHUP)]  # nobody holds it any more
    os.close(reading)


def test_a_command_that_is_not_there_is_told():
    with pytest.raises(InstallFailed, match="no-such-installer cannot be started: No such file"):
        InstallCommand(["no-such-installer"], {}).run()


@pytest.mark.parametrize("name", ["-o=x", "--purge", "a b", "", "../x", "UPPER", "a;b"])
def test_names_of_debian_packages_are_no_options(tmp_path, name):
    with pytest.raises(InstallFailed, match="is no name of a Debian package"):
        install_system_packages([name], tmp_path)


def test_the_cache_is_where_it_is_chosen_else_in_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory({}) == tmp_path / ".cache" / "edgerun"
    assert cache_directory({"FLASH_WORKER_INSTALL_DIR": str(tmp_path / "x")}) == tmp_path / "x"


def test_what_was_not_requested_for_a_month_is_removed_and_what_was_left_undone(tmp_path):
    day_s = 86_400
    for name, age_s in (("old", 31 * day_s), ("used", day_s), (".making-old", 2 * 3_600), (".making-now", 60)):
        (tmp_path / "all" / name).mkdir(parents=True)
        os.utime(tmp_path / "all" / name, (0, time.time() - age_s))
    remove_unused(tmp_path / "all")
    assert {path.name for path in (tmp_path / "all").iterdir()} == {"used", ".making-now"}


def test_the_log_names_packages_and_neither_options_nor_passwords():
    asked = ["--extra-index-url https://me:secret@host/simple", "tea @ https://me:secret@host/tea.whl", "cup"]
    assert listed(asked) == "tea @ https://****@host/tea.whl, cup"
    assert listed([str(number) for number in range(8)]).endswith("4, 5 and 2 more")


@pytest.mark.parametrize("found", ["21.2.3", "22.0.2"])
def test_a_pip_that_cannot_say_what_is_lacking_is_told(monkeypatch, tmp_path, found):
    monkeypatch.setattr(installers, "version", lambda _: found)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallFailed, match=r"too old .* install --upgrade pip`, or install uv\.$"):
        installers.install(["tea"], tmp_path / "into", tmp_path, downloads=None, side_by_side=True)


def test_where_pip_is_not_installed_the_one_that_python_has_in_store_is_run(monkeypatch):
    def lacks(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installers, "version", lacks)
    command = installers._pip()
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert f" from {command[1]} " in said
    monkeypatch.setattr(installers, "pip_wheels", list)
    with pytest.raises(InstallFailed, match="has no pip: install that, or uv."):
        installers._pip()
