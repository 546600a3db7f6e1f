"""Hand-made wheels, and an index that is a directory of them."""

from __future__ import annotations

import base64
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def make_wheel(
    directory: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()
) -> Path:
    """A wheel for any Python."""
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {one}\n" for one in requires)
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


def only_from(directory: Path) -> dict[str, str]:
    """The environment in which installers look nowhere else."""
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(directory),
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(directory),
        "UV_CACHE_DIR": str(directory / ".uv"),
        "PIP_CONFIG_FILE": "/dev/null",
    }


@contextmanager
def served_to(user: str, directory: Path) -> Iterator[str]:
    """Serves a directory on this computer to `name:password` alone; yields the address, with both in it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_ForOneUser, user, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://{user}@127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class _ForOneUser(SimpleHTTPRequestHandler):
    def __init__(self, user: str, *args: object, directory: str) -> None:
        self._authorization = f"Basic {base64.b64encode(user.encode()).decode()}"
        super().__init__(*args, directory=directory)

    def send_head(self):
        if self.headers.get("Authorization") == self._authorization:
            return super().send_head()
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic realm=index")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""
