"""Routes that are methods of a class, of which each worker has one instance."""

from __future__ import annotations

import inspect

from ..application import Application
from ..failures import StartError
from ..loading import explained, load_function, start_error
from .routes import Route, Routes, make_route

# The mark that the client's decorator sets on the method that runs before requests.
_INIT_MARK = "__runpod_init__"


class ClassRoutes:
    """The instance and its routes. The constructor raises StartError."""

    def __init__(self, application: Application) -> None:
        self._application = application
        target = load_function(application, application.functions[0])
        if not inspect.isclass(target):
            raise StartError(
                f"The endpoint {application.name!r} is a function that makes an ASGI application, which this runtime "
                "does not serve. Declare a class with routes, or give it an image of its own."
            )
        self._class = target
        self._instance = explained(application, target, f"the constructor of {target.__name__}")

    def routes(self) -> Routes:
        """Those of the manifest. Raises StartError."""
        return Routes(self._route(key, name) for key, name in self._application.routes.items())

    async def prepare(self) -> None:
        """Runs the method that makes the instance ready, in the loop of its requests. Raises StartError."""
        for name, function in inspect.getmembers(self._class, callable):
            if getattr(function, _INIT_MARK, False) is True:
                await self._run(name)

    async def _run(self, name: str) -> None:
        try:
            result = getattr(self._instance, name)()
            if inspect.isawaitable(result):
                await result
        except (Exception, SystemExit) as error:
            raise start_error(self._application, error, f"the method {name!r}") from None

    def _route(self, key: str, name: str) -> Route:
        method, _, path = key.partition(" ")
        function = getattr(self._instance, name, None)
        if not callable(function):
            raise StartError(
                f"The class {self._class.__name__} has no method {name!r} for {key}: fix it and "
                f"{self._application.again}."
            )
        return make_route(method, path, function)
