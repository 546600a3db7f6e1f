"""A decorated class outside its worker: methods of its instances become jobs of its endpoint."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any

from .remote_call import call_remote
from .remote_function import keyword_arguments
from .signatures import signature_of

if TYPE_CHECKING:
    from .endpoint import Endpoint

METHOD_KEY = "method"
"""Key in the input of a class with several methods: the method to call."""


def public_methods(target: type) -> dict[str, Callable[..., Any]]:
    """The methods without a leading underscore, in the order of their definition, inherited ones first."""
    found: dict[str, Callable[..., Any]] = {}
    for kind in reversed(target.__mro__[:-1]):
        for name, member in vars(kind).items():
            function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if not name.startswith("_") and inspect.isfunction(function):
                found[name] = getattr(target, name)
    return found


class RemoteClass:
    """Stands for a class that was decorated: called like it, it gives a RemoteInstance."""

    def __init__(self, endpoint: Endpoint, target: type) -> None:
        self._endpoint = endpoint
        self._methods = public_methods(target)
        _refuse_method_key(target, self._methods)
        self.__name__ = target.__name__
        self.__qualname__ = target.__qualname__
        self.__module__ = target.__module__
        self.__doc__ = target.__doc__
        self.__wrapped__ = target

    def __call__(self, *args: Any, **kwargs: Any) -> RemoteInstance:
        """An instance whose methods run on the endpoint.

        Raises:
            TypeError: Arguments were given: workers construct the class without any.
        """
        if args or kwargs:
            raise TypeError(
                f"{self.__name__}() was given arguments, but workers of {self._endpoint!r} construct the class "
                "without any: pass them to its methods, or set them by env= of the endpoint."
            )
        return RemoteInstance(self._endpoint, self.__name__, self.__wrapped__, self._methods)

    def __repr__(self) -> str:
        return f"<remote class {self.__qualname__} of {self._endpoint!r}>"


class RemoteInstance:
    """Stands for the one instance that each worker has; its methods are to be awaited."""

    def __init__(
        self, endpoint: Endpoint, class_name: str, target: type, methods: dict[str, Callable[..., Any]]
    ) -> None:
        self._endpoint = endpoint
        self._class_name = class_name
        self._target = target
        self._methods = methods

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_"):
            raise AttributeError(
                f"'{name}' is private to the worker's {type(self).__name__} and cannot be reached."
            )
        if name not in self._methods:
            raise AttributeError(
                f"'{self._class_name}' has no method '{name}' to call remotely; it has {', '.join(self._methods)}."
            )
        return self._remote(name)

    def _remote(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        signature = _signature_without_self(self._target, name)
        choice = {METHOD_KEY: name} if len(self._methods) > 1 else {}

        @wraps(self._methods[name])
        async def remote(*args: Any, **kwargs: Any) -> Any:
            arguments = keyword_arguments(signature, args, kwargs)
            function = f"{self._class_name}.{name}"
            return await call_remote(self._endpoint, function, arguments, method=name, choice=choice)

        return remote

    def __repr__(self) -> str:
        return f"<remote {self._class_name} of {self._endpoint!r}>"


def _signature_without_self(target: type, name: str) -> inspect.Signature:
    signature = signature_of(getattr(target, name))
    if not inspect.isfunction(inspect.getattr_static(target, name)):
        return signature  # A static or class method: there is no self any more.
    _, *parameters = signature.parameters.values()
    return signature.replace(parameters=parameters)


def _refuse_method_key(target: type, methods: dict[str, Callable[..., Any]]) -> None:
    if len(methods) < 2:
        return
    for name in methods:
        if METHOD_KEY in _signature_without_self(target, name).parameters:
            raise ValueError(
                f"{target.__name__}.{name}() has a parameter '{METHOD_KEY}', which says in jobs of a class with several "
                "methods which one is meant: give it another name."
            )
