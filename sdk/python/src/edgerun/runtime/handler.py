"""What a queue-based endpoint runs for a job: a function, or a method of one object."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..remote_class import METHOD_KEY, public_methods
from .application import Application, current_application
from .arguments import Arguments
from .failures import InputError, StartError
from .loading import explained, load_declarations, load_function, prepare_imports


class QueueHandler:
    """Calls the user's function with the input of a job. What it returns may be awaitable, or a generator."""

    def __init__(
        self,
        application: Application,
        target: Callable[..., Any],
        construct: Callable[[], Any] | None = None,
    ) -> None:
        self._application = application
        self._target = target
        self._construct = construct or target
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
        return self.call_for((), _input_of(job))()

    def call_for(
        self, positional: Sequence[Any], values: dict[str, Any], method: str | None = None
    ) -> Callable[[], Any]:
        """The callable for these arguments. Raises InputError where they are invalid."""
        self.prepare()
        function, arguments = self._choose(values, method)
        placed, named = arguments.bind(arguments.by_name(positional, values))
        return functools.partial(function, *placed, **named)

    def _make_calls(self) -> dict[str, tuple[Callable[..., Any], Arguments]]:
        name = getattr(self._target, "__name__", "function")
        if not inspect.isclass(self._target):
            return {name: (self._target, Arguments(self._target, name))}
        made = explained(self._application, self._construct, f"the constructor of {name}")
        methods = {method: getattr(made, method) for method in self._methods()}
        if not methods:
            raise StartError(
                f"The class {name} has no public method to call. Add one and {self._application.again}."
            )
        return {method: (call, Arguments(call, f"{name}.{method}")) for method, call in methods.items()}

    def _methods(self) -> list[str]:
        return list(public_methods(self._target)) if inspect.isclass(self._target) else []

    def _choose(self, values: dict[str, Any], method: str | None) -> tuple[Callable[..., Any], Arguments]:
        calls = self._calls or {}
        if len(calls) == 1 and method in (None, *calls):
            [(name, (function, arguments))] = calls.items()
            is_named = inspect.isclass(self._target) and values.get(METHOD_KEY) == name
            if is_named and not arguments.takes(METHOD_KEY):
                del values[METHOD_KEY]
            return function, arguments
        available = ", ".join(calls)
        method = method or values.pop(METHOD_KEY, None)
        if method is None:
            raise InputError(
                f"The input needs 'method', the name of the method to call. Available: {available}."
            )
        if not isinstance(method, str) or method not in calls:
            raise InputError(f"There is no method {method!r}. Available: {available}.")
        return calls[method]


def _input_of(job: Mapping[str, Any]) -> dict[str, Any]:
    value = job.get("input")
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}[
            type(value)
        ]
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
            f"The manifest has {len(functions)} functions for the endpoint {endpoint!r}, but a queue-based one has "
            "exactly one. Run `flash deploy` again."
        )
    declared = load_declarations(application)
    target = declared.target if declared is not None else None
    return QueueHandler(application, target or load_function(application, functions[0]))
