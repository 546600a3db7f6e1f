"""Where the app, the environment, the address and the key come from."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from edgerun import APIKeyError, AppContextError
from edgerun.app_context import AppContext, find_app_context
from edgerun.connection import Connection, find_connection, parse_top_texts, read_config
from edgerun.dotenv import parse_dotenv


def deploy(folder: Path, app: str, environment: str) -> None:
    (folder / ".flash").mkdir(parents=True)
    (folder / ".flash" / "context.json").write_text(json.dumps({"app": app, "environment": environment}))


def run_from(monkeypatch: pytest.MonkeyPatch, script: Path) -> None:
    main = ModuleType("__main__")
    main.__file__ = str(script)
    monkeypatch.setitem(sys.modules, "__main__", main)


# App and environment


def test_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(Path.cwd(), "shop", "production")
    monkeypatch.setenv("FLASH_APP", "other")
    monkeypatch.setenv("FLASH_ENV", "staging")
    assert find_app_context("a") == AppContext("other", "staging")


def test_then_comes_the_env_file(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(Path.cwd(), "shop", "production")
    Path(".env").write_text("FLASH_APP=other\nFLASH_ENV=staging\n")
    assert find_app_context("a") == AppContext("other", "staging")
    monkeypatch.setenv("FLASH_ENV", "mine")
    assert find_app_context("a") == AppContext("other", "mine")


def test_then_the_project_of_the_script_before_that_of_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deploy(Path.cwd(), "here", "production")
    deploy(tmp_path / "project", "shop", "staging")
    assert find_app_context("a") == AppContext("here", "production")
    run_from(monkeypatch, tmp_path / "project" / "scripts" / "run.py")
    assert find_app_context("a") == AppContext("shop", "staging")


def test_it_is_found_upward(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(Path.cwd(), "shop", "production")
    deep = Path("a/b")
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert find_app_context("a") == AppContext("shop", "production")


def test_the_environment_alone_may_be_another_one_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(Path.cwd(), "shop", "production")
    monkeypatch.setenv("FLASH_ENV", "staging")
    assert find_app_context("a") == AppContext("shop", "staging")


def test_another_app_does_not_get_the_environment_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(Path.cwd(), "shop", "production")
    monkeypatch.setenv("FLASH_APP", "other")
    with pytest.raises(AppContextError, match=r"\(FLASH_ENV not set"):
        find_app_context("a")


@pytest.mark.parametrize("text", ["", "[]", '{"app": "shop"}', '{"app": 1, "environment": "x"}', "{"])
def test_a_context_file_that_names_not_both_is_passed_over(text: str) -> None:
    Path(".flash").mkdir()
    Path(".flash/context.json").write_text(text)
    with pytest.raises(AppContextError, match="'a' cannot be called"):
        find_app_context("a")


def test_the_name_of_a_directory_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("shop/.flash").mkdir(parents=True)
    monkeypatch.chdir("shop")
    with pytest.raises(AppContextError, match=r"FLASH_APP and FLASH_ENV not set"):
        find_app_context("a")


# Address and key


def store(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    folder = Path("config").absolute()
    (folder / "edgerun").mkdir(parents=True)
    (folder / "edgerun" / "config.toml").write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))


CASES = json.loads((Path(__file__).parent / "key_addresses.json").read_text(encoding="utf-8"))
"""The command `flash` is held to the same table."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_key_goes_only_to_an_address_of_a_source_that_is_trusted_as_much(
    monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]
) -> None:
    def said(place: str) -> dict[str, str]:
        found = {"SVC_API_KEY": case["keys"].get(place), "EDGERUN_URL": case["addresses"].get(place)}
        if case.get("plain_http", {}).get(place):
            found["EDGERUN_ALLOW_PLAIN_HTTP"] = "true"
        return {name: value for name, value in found.items() if value}

    names = {"SVC_API_KEY": "api_key", "EDGERUN_URL": "url"}
    stored = [f'{names[name]} = "{value}"\n' for name, value in said("login").items() if name in names]
    store(monkeypatch, "".join(stored) + ("insecure = true\n" if case.get("plain_http", {}).get("login") else ""))
    Path(".env").write_text("".join(f"{name}={value}\n" for name, value in said("project").items()))
    for name, value in said("environment").items():
        monkeypatch.setenv(name, value)
    if case["goes"] is None:
        with pytest.raises((APIKeyError, ValueError)):
            find_connection()
    else:
        key, url = case["goes"]
        assert find_connection() == Connection(url, key)


def test_a_worker_may_call_its_host_without_https(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_API_KEY", "er_a")
    monkeypatch.setenv("EDGERUN_URL", "http://172.18.0.1:9000/token/edge/worker")
    monkeypatch.setenv("RUNPOD_ENDPOINT_ID", "endpoint")
    assert find_connection().url == "http://172.18.0.1:9000/token/edge/worker"


def test_the_env_file_is_found_upward(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("SVC_API_KEY=er_file\n")
    Path("deep/down").mkdir(parents=True)
    monkeypatch.chdir("deep/down")
    assert find_connection().api_key == "er_file"


def test_the_env_file_is_looked_for_no_further_than_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("SVC_API_KEY=er_file\n")
    Path("deep/down").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(Path("deep/down").absolute()))
    monkeypatch.chdir("deep/down")
    with pytest.raises(APIKeyError):
        find_connection()
    monkeypatch.setenv("HOME", "/nowhere")
    assert find_connection().api_key == "er_file"
    Path("../.git").mkdir()
    with pytest.raises(APIKeyError):
        find_connection()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_the_env_file_of_another_user_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("SVC_API_KEY=er_file\n")
    os.chown(".env", 1234, 1234)
    with pytest.warns(UserWarning, match="another user owns it"), pytest.raises(APIKeyError):
        find_connection()
    monkeypatch.setenv("SUDO_UID", "1234")
    assert find_connection().api_key == "er_file"


def test_an_address_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_API_KEY", "er_a")
    monkeypatch.setenv("EDGERUN_URL", "edge.example")
    with pytest.raises(ValueError, match="EDGERUN_URL='edge.example' must be a URL"):
        find_connection()


def test_the_key_is_not_shown() -> None:
    assert "er_secret" not in repr(Connection("https://edge.example", "er_secret"))


TOML = """\
# written by flash login
url = "https://edge.example"  # here
api_key = 'er_a\\b'
quoted = "a \\"b\\" \\\\ c"
insecure = true
[other]
url = "https://elsewhere.example"
"""


def test_the_login_file_is_read_alike_with_and_without_tomllib(tmp_path: Path) -> None:
    expected = {"url": "https://edge.example", "api_key": "er_a\\b", "quoted": 'a "b" \\ c', "insecure": "true"}
    file = tmp_path / "config.toml"
    file.write_text(TOML)
    assert parse_top_texts(TOML) == expected
    assert read_config(file) == expected


def test_a_damaged_login_file_counts_as_none(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("= = =")
    assert read_config(file) == {}


def test_env_files_are_read_as_users_write_them() -> None:
    text = (
        "# comment\n\nA=1\nexport B = two words  # comment\nC='single # kept'\r\n"
        'D="line\\nbreak"\nE=`back`\nF=\nnot a line\n  G=x=y\nH="multi\nline"\n'
    )
    assert parse_dotenv(text) == {
        "A": "1",
        "B": "two words",
        "C": "single # kept",
        "D": "line\nbreak",
        "E": "back",
        "F": "",
        "G": "x=y",
        "H": "multi\nline",
    }
