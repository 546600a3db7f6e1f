from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from edge import Edge

from edgerun import peers


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this computer: no key, no app, no worker; the working directory is empty."""
    for name in list(os.environ):
        if name.startswith(("FLASH_", "RUNPOD_", "SVC_", "EDGERUN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(peers, "_directory", peers.PeerDirectory(pauses_seconds=(0.0, 0.0, 0.0)))


@pytest.fixture
def edge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Edge]:
    """A service, with the key and address for it in the environment."""
    edge = Edge()
    monkeypatch.setenv("EDGERUN_URL", edge.url)
    monkeypatch.setenv("SVC_API_KEY", "er_test")
    yield edge
    edge.close()


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> None:
    """The app and environment that functions are of."""
    monkeypatch.setenv("FLASH_APP", "shop")
    monkeypatch.setenv("FLASH_ENV", "production")
