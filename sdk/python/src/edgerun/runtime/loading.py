"""Loads the user's code and explains its errors."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ..declarations import recording
from ..endpoint import Endpoint
from . import log
from .application import Application
from .failures import StartError, place_of, summary, traceback_text
from .missing_package import package_advice

Loaded = TypeVar("Loaded")


def prepare_imports(application: Application) -> None:
    """The app's files come first; no bytecode goes among them, for other workers share them."""
    for place in (application.packages_directory, application.directory):
        if place is not None:
            directory = str(place)
            if directory in sys.path:
                sys.path.remove(directory)
            sys.path.insert(0, directory)
    if sys.pycache_prefix is None:
        sys.dont_write_bytecode = True
        os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")


def load_module(application: Application, name: str) -> ModuleType:
    """Imports a module of the app. Raises StartError that names the file and line at fault."""
    return explained(application, lambda: importlib.import_module(name), f"the module {name!r}")


def load_declarations(application: Application) -> Endpoint | None:
    """
    Imports the modules of the endpoint; answers its Endpoint, which knows functions better than their names do: two
    may share a name. Raises StartError.
    """
    with recording() as declared:
        for name in dict.fromkeys(_module_of(application, one) for one in application.functions):
            load_module(application, name)
    named = [one.endpoint for one in declared if one.endpoint.name == application.name]
    return named[0] if named else None


def load_function(application: Application, described: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that the manifest names. Raises StartError."""
    module_name, name = _module_of(application, described), str(described.get("name"))
    function: Callable[..., Any] | None = getattr(load_module(application, module_name), name, None)
    if application.is_listed:
        function = getattr(function, "__wrapped__", function)  # what its client has decorated
    if not callable(function):
        raise StartError(
            f"The module {module_name!r} has no function {name!r}: fix it and {application.again}."
        )
    return function


def _module_of(application: Application, described: Mapping[str, Any]) -> str:
    return str(described.get("module") or application.resource.get("module_path"))


def load_handler_file(application: Application) -> ModuleType:
    """Runs the handler file of the endpoint. Raises StartError."""
    path = _handler_path(application)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise StartError(f"{path} is no Python file. Run `flash deploy` again.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    loader = spec.loader
    explained(application, lambda: loader.exec_module(module), path.name)
    return module


def _handler_path(application: Application) -> Path:
    name = application.resource.get("handler_file") or f"handler_{application.name}.py"
    path = (application.directory / str(name)).resolve()
    if not path.is_relative_to(application.directory):
        raise StartError(
            f"The handler file {name!r} leads out of {application.directory}. Run `flash deploy` again."
        )
    if not path.is_file():
        raise StartError(f"The handler file {path} is missing. Run `flash deploy` again.")
    return path


def explained(application: Application, load: Callable[[], Loaded], what: str) -> Loaded:
    """Runs code of the user at the worker's start; what it raises becomes a StartError."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        raise start_error(application, error, what) from None


def start_error(application: Application, error: BaseException, what: str) -> StartError:
    """What a worker says that cannot start because code of the user raises an error; the log gets the traceback."""
    if isinstance(error, StartError):
        return error
    if application.logs_failures:
        log.say(traceback_text(error, application), level="ERROR")
    place = place_of(error, application)
    at = f" at {place}" if place else ""
    advice = package_advice(error, application) or f"Fix it and {application.again}."
    return StartError(
        f"The endpoint {application.name!r} cannot start: {what} raises {summary(error)}{at}. {advice}"
    )
