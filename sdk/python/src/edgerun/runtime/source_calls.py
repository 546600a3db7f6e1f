"""
Calls that bring the source of their function or class: live endpoints of clients that open no session. Requests and
responses are the FunctionRequest and FunctionResponse of `runpod-flash`.

S1  Arguments and results are pickles in base64, or JSON where the call says so.
S2  An object of a class stays for the calls that name its instance, as long as its source is the same.
S3  The endpoint's own key opens it: every caller of the endpoint may run code on it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import importlib.util
import inspect
import io
import json
import linecache
import os
import pickle
import re
import sys
import tempfile
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from .agent import Agent
from .application import Application
from .failures import JobFailure, StartError
from .live import imports
from .live.outcomes import NotLoaded
from .live.packages import Packages, WorkerSpent
from .live.request import SOURCES_MAX_BYTES, Code, Refused, check_path
from .queue_worker import QueueWorker
from .server.answer import Answer, detail_answer, json_answer
from .server.message import Request
from .server.routes import Routes
from .server.service import Service
from .server.worker import health_path, serve_service

_CLIENT_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+runpod\b", re.MULTILINE)
# The first version that sends whole modules.
_CLIENT_REQUIREMENT = "runpod>=2.0.0rc1"
_EXECUTE_PATH = "/execute"
_INSTANCES_MAX = 100
_SHOWN_OUTPUT_MAX = 100_000
# The agent starts the worker again at once, and does not take its end for a failure.
_RESTART_EXIT_CODE = 75


def serve_source_calls(environment: Mapping[str, str]) -> int:
    """Serves until SIGTERM, or until a call needs a fresh process; returns the exit code. Raises StartError."""
    is_load_balanced = environment.get("FLASH_ENDPOINT_TYPE", "").lower() == "lb"
    packages = Packages(environment)
    with tempfile.TemporaryDirectory(prefix="edgerun-calls-", ignore_cleanup_errors=True) as directory:
        application = Application(
            name=environment.get("FLASH_RESOURCE_NAME") or "live",
            directory=Path(directory).resolve(),
            resource={"is_load_balanced": is_load_balanced},
            routes={},
            excluded_packages=frozenset(),
        )
        calls = SourceCalls(packages, application.directory)
        if is_load_balanced:
            serve_service(_CallService(calls, application, environment), environment)
        else:
            QueueWorker(calls.run_job, Agent(os.environ), application).run(environment)
    return _RESTART_EXIT_CODE if packages.is_spent else 0


class SourceCalls:
    """Runs calls. For any thread; what a call needs is loaded by one at a time."""

    def __init__(self, packages: Packages, directory: Path) -> None:
        self._packages = packages
        self._directory = directory
        self._modules: Path | None = None
        self._lock = threading.Lock()
        self._instances: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def run_job(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a job. Raises JobFailure with the traceback of what its function raised."""
        output = _Output(sys.stdout)
        with contextlib.redirect_stdout(output):  # type: ignore[type-var]
            response = self.run(job.get("input"))
        if not response["success"]:
            raise JobFailure(response["error"])
        return {**response, "stdout": output.text} if output.text else response

    def run(self, request: Any) -> dict[str, Any]:
        """The response to a request; never raises an error of the function."""
        try:
            return self._run(request)
        except (Refused, NotLoaded, WorkerSpent, StartError) as error:
            return {"success": False, "error": str(error)}
        except (Exception, SystemExit) as error:
            return {"success": False, "error": _traceback_text(error)}

    def _run(self, request: Any) -> dict[str, Any]:
        if not isinstance(request, dict) or not isinstance(request.get(_source_key(request)), str):
            raise Refused(
                "This worker runs code that comes with each call (function_code or class_code), and this call has "
                "none. Call the function through the program that defines it, or deploy it."
            )
        is_json = request.get("serialization_format") == "json"
        with self._lock:
            self._provide(request)
            target = self._target(request, is_json)
        result = target(*_read_args(request.get("args"), is_json), **_read_kwargs(request.get("kwargs"), is_json))
        if inspect.isawaitable(result):
            result = asyncio.run(_wait_for(result))
        return {"success": True, "json_result": result} if is_json else {"success": True, "result": _pickled(result)}

    def _provide(self, request: Mapping[str, Any]) -> None:
        """Installs the packages, and makes the local modules importable."""
        code = Code(
            execution_type="function",
            module="",
            function_name=None,
            class_name=None,
            modules={},
            dependencies=(*_texts(request, "dependencies"), *client_packages(request[_source_key(request)])),
            system_dependencies=_texts(request, "system_dependencies"),
            accelerate_downloads=request.get("accelerate_downloads") is not False,
        )
        self._packages.provide(code)
        modules = request.get("modules") or {}
        if not isinstance(modules, dict) or not all(isinstance(text, str) for text in modules.values()):
            raise Refused("'modules' must hold the texts of files by their paths.")
        self._use_modules(modules)

    def _use_modules(self, modules: Mapping[str, str]) -> None:
        if sum(len(text) for text in modules.values()) > SOURCES_MAX_BYTES:
            raise Refused(f"The local files of a call may have {SOURCES_MAX_BYTES} characters.")
        digest = hashlib.sha256(json.dumps(modules, sort_keys=True).encode()).hexdigest()
        directory = self._directory / digest[:32]
        if not modules or directory == self._modules:
            return
        for path, text in modules.items():
            check_path(path)
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if self._modules is not None:
            imports.leave_out(self._modules)
            imports.forget(self._modules)
        self._modules = directory
        imports.put_first(directory)

    def _target(self, request: Mapping[str, Any], is_json: bool) -> Callable[..., Any]:
        if request.get("execution_type") != "class":
            return _defined(request["function_code"], _name(request, "function_name"))
        return getattr(self._instance(request, is_json), _name(request, "method_name"))  # type: ignore[no-any-return]

    def _instance(self, request: Mapping[str, Any], is_json: bool) -> Any:
        """S2."""
        key = (str(request.get("instance_id") or ""), request["class_code"])
        found = self._instances.get(key) if key[0] else None
        if found is not None:
            self._instances.move_to_end(key)
            return found
        make = _defined(request["class_code"], _name(request, "class_name"))
        made = make(
            *_read_args(request.get("constructor_args"), is_json),
            **_read_kwargs(request.get("constructor_kwargs"), is_json),
        )
        self._instances[key] = made
        if len(self._instances) > _INSTANCES_MAX:
            self._instances.popitem(last=False)
        return made


class _CallService(Service):
    """Takes calls at one address of a load-balanced endpoint."""

    def __init__(self, calls: SourceCalls, application: Application, environment: Mapping[str, str]) -> None:
        super().__init__(Routes([]), application, health_path=health_path(environment))
        self._calls = calls

    async def answer(self, request: Request) -> Answer:
        health = self.answer_of_health(request)
        if health is not None:
            return health
        if request.path != _EXECUTE_PATH:
            return detail_answer(404, "This worker is in live mode: its code comes with calls of /execute.")
        if request.method != "POST":
            return detail_answer(405, "Method Not Allowed", [("allow", "POST")])
        try:
            call = json.loads(request.body)
        except (ValueError, RecursionError):
            return detail_answer(400, "The request is not JSON.")
        response = await asyncio.get_running_loop().run_in_executor(self._threads, self._calls.run, call)
        try:
            return json_answer(200, response)
        except (TypeError, ValueError) as error:
            return json_answer(200, {"success": False, "error": f"The result cannot be written as JSON: {error}"})


class _Output(io.TextIOBase):
    """Writes on, and keeps the beginning for the caller."""

    def __init__(self, target: TextIO) -> None:
        self._target = target
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text[: _SHOWN_OUTPUT_MAX - len(self.text)]
        return self._target.write(text)

    def flush(self) -> None:
        self._target.flush()


# Code


def _source_key(request: Mapping[str, Any]) -> str:
    return "class_code" if request.get("execution_type") == "class" else "function_code"


def client_packages(source: str) -> tuple[str, ...]:
    """What a source imports although it lists no such dependency: the client itself, where it sends whole modules."""
    if _CLIENT_IMPORT.search(source) is None or importlib.util.find_spec("runpod") is not None:
        return ()
    return (_CLIENT_REQUIREMENT,)


def _defined(source: str, name: str) -> Any:
    """What the source defines under a name."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    file = f"<{name} {digest}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # for tracebacks
    namespace: dict[str, Any] = {"__name__": "__live__", "__file__": file}
    exec(compile(source, file, "exec"), namespace)  # noqa: S102 -- that is what the worker is for
    if name not in namespace:
        raise Refused(f"The source of the call does not define {name!r}.")
    found = namespace[name]
    is_handle = not inspect.isroutine(found) and not inspect.isclass(found)
    return getattr(found, "__wrapped__", found) if is_handle else found  # a handle of the client


def _name(request: Mapping[str, Any], key: str) -> str:
    name = request.get(key) or ("__call__" if key == "method_name" else "")
    if not isinstance(name, str) or not name.isidentifier():
        raise Refused(f"{key!r} is {name!r:.100}, which is no name.")
    return name


def _texts(request: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = request.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Refused(f"{key!r} must be a list of texts.")
    return tuple(found)


async def _wait_for(result: Any) -> Any:
    return await result


def _traceback_text(error: BaseException) -> str:
    """From the first frame on that is of the call."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


# Values (S1)


def _read_args(values: Any, is_json: bool) -> list[Any]:
    if not isinstance(values or [], list):
        raise Refused("Arguments must be a list.")
    return [value if is_json else _unpickled(value) for value in values or []]


def _read_kwargs(values: Any, is_json: bool) -> dict[str, Any]:
    if not isinstance(values or {}, dict):
        raise Refused("Keyword arguments must be an object.")
    return {key: value if is_json else _unpickled(value) for key, value in (values or {}).items()}


def _unpickled(value: Any) -> Any:
    try:
        data = base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise Refused("An argument is no pickle in base64.") from None
    return pickle.loads(data)


def _pickled(value: Any) -> str:
    try:
        import cloudpickle

        data = cloudpickle.dumps(value)
    except ImportError:
        data = pickle.dumps(value)
    return base64.b64encode(data).decode("ascii")
