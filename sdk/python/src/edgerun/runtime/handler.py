"""What a queue-based endpoint runs for a job: a function, or a method of one object."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .application import Application, current_application
from .arguments import Arguments
from .failures import InputError, StartError
from .loading import explained, load_module, prepare_imports


class QueueHandler:
    """Calls the user's function with the input of a job. What it returns may be awaitable, or a generator."""

    def __init__(self, application: Application, target: Callable[..., Any]) -> None:
        self._application = application
        self._target = target
        self._lock = threading.Lock()
        self._calls: dict[str, tuple[Callable[..., Any], Arguments]] | None = None

    @property
    def is_async(self) -> bool:
        """Whether an event loop is where it belongs."""
        functions = [getattr(self._target, name) for name in self._methods()] or [self._target]
        return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in functions)

    def prepare(self) -> None:
        """Makes the object of a class, once. Raises StartError."""
        with self._lock:
            if self._calls is None:
                self._calls = self._make_calls()

    def __call__(self, job: Mapping[str, Any]) -> Any:
        """Begins a job. Raises InputError when its input does not fit, and whatever the function raises."""
        self.prepare()
        values = _input_of(job)
        function, arguments = self._choose(values)
        positional, named = arguments.bind(values)
        return function(*positional, **named)

    def _make_calls(self) -> dict[str, tuple[Callable[..., Any], Arguments]]:
        name = getattr(self._target, "__name__", "function")
        if not inspect.isclass(self._target):
            return {name: (self._target, Arguments(self._target, name))}
        made = explained(self._application, self._target, f"the constructor of {name}")
        methods = {method: getattr(made, method) for method in self._methods()}
        if not methods:
            raise StartError(f"The class {name} has no public method to call. Add one and run `flash deploy` again.")
        return {method: (call, Arguments(call, f"{name}.{method}")) for method, call in methods.items()}

    def _methods(self) -> list[str]:
        """Public methods of a class in the order of their definition, those of its bases first."""
        if not inspect.isclass(self._target):
            return []
        names: dict[str, None] = {}
        for kind in reversed(self._target.__mro__):
            if kind is not object:
                names.update({name: None for name, value in vars(kind).items() if _is_method(name, value)})
        return list(names)

    def _choose(self, values: dict[str, Any]) -> tuple[Callable[..., Any], Arguments]:
        calls = self._calls or {}
        if len(calls) == 1:
            [(name, (function, arguments))] = calls.items()
            is_named = inspect.isclass(self._target) and values.get("method") == name
            if is_named and not arguments.takes("method"):
                del values["method"]
            return function, arguments
        available = ", ".join(calls)
        method = values.pop("method", None)
        if method is None:
            raise InputError(f"The input needs 'method', the name of the method to call. Available: {available}.")
        if not isinstance(method, str) or method not in calls:
            raise InputError(f"There is no method {method!r}. Available: {available}.")
        return calls[method]


def _is_method(name: str, value: Any) -> bool:
    if name.startswith("_"):
        return False
    return inspect.isfunction(value) or isinstance(value, (staticmethod, classmethod))


def _input_of(job: Mapping[str, Any]) -> dict[str, Any]:
    value = job.get("input")
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}[type(value)]
        raise InputError(f"The input must be an object with the function's arguments by name; it is {kind}.")
    # Some clients send this where an input would be empty.
    return {name: inner for name, inner in value.items() if not (name == "__empty" and inner is True)}


def queue_handler(endpoint: str) -> QueueHandler:
    """The handler of a queue-based endpoint, for its generated handler file. Raises StartError."""
    application = current_application(endpoint)
    prepare_imports(application)
    functions = application.functions
    if len(functions) != 1:
        raise StartError(
            f"The endpoint {endpoint!r} has {len(functions)} functions in the manifest; "
            "one is needed. Run `flash deploy` again."
        )
    module_name, name = str(functions[0].get("module")), str(functions[0].get("name"))
    module = load_module(application, module_name)
    target = getattr(module, name, None)
    if not (inspect.isclass(target) or inspect.isroutine(target) or callable(target)):
        raise StartError(f"The module {module_name!r} has no function {name!r}. Run `flash deploy` again.")
    return QueueHandler(application, target)
