"""What an endpoint is declared to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .route import Route
from .scaling import ServerlessScalerType
from .settings import Settings, read_id, read_name
from .volume import NetworkVolume


class DeclaredEndpoint:
    """A name or id, checked settings, and the code that was decorated."""

    def __init__(self, *, name: str | None, id: str | None, settings: Settings) -> None:
        self._name = None if name is None else read_name(name)
        self._id = None if id is None else read_id(id)
        self._settings = settings
        self._target: Callable[..., Any] | None = None
        self._routes: list[Route] = []

    @property
    def name(self) -> str | None:
        """Its name; where none was given, None until something is decorated."""
        return self._name

    @property
    def id(self) -> str | None:
        """Id of the endpoint on the service, where it was given."""
        return self._id

    @property
    def is_cpu(self) -> bool:
        """Whether it runs on CPU instances."""
        return bool(self._settings.cpus)

    @property
    def is_client(self) -> bool:
        """Whether it calls an endpoint that has its code elsewhere: `id` or `image` was given."""
        return self._id is not None or self._settings.image is not None

    @property
    def is_load_balanced(self) -> bool:
        """Whether it has routes."""
        return bool(self._routes)

    @property
    def workers_min(self) -> int:
        """Workers that stay while there are no jobs."""
        return self._settings.workers[0]

    @property
    def workers_max(self) -> int:
        """Workers that it may have at most."""
        return self._settings.workers[1]

    @property
    def scaler_type(self) -> ServerlessScalerType:
        """What workers are counted by."""
        if self._settings.scaler_type is not None:
            return self._settings.scaler_type
        return ServerlessScalerType.REQUEST_COUNT if self._routes else ServerlessScalerType.QUEUE_DELAY

    @property
    def max_concurrency(self) -> int:
        """Jobs that a worker runs at the same time."""
        return self._settings.max_concurrency

    @property
    def execution_timeout_ms(self) -> int:
        """Milliseconds that a job may take; 0 for the service's default."""
        return self._settings.execution_timeout_ms

    @property
    def dependencies(self) -> tuple[str, ...]:
        """Packages for the code."""
        return self._settings.dependencies

    @property
    def system_dependencies(self) -> tuple[str, ...]:
        """Debian packages."""
        return self._settings.system_dependencies

    @property
    def accelerate_downloads(self) -> bool:
        """Whether packages are installed in parallel where functions are tried live."""
        return self._settings.accelerate_downloads

    @property
    def volumes(self) -> tuple[NetworkVolume, ...]:
        """Its network volumes."""
        return self._settings.volumes

    @property
    def python_version(self) -> str | None:
        """Version of Python that its code requires, such as "3.12"."""
        return self._settings.python_version

    @property
    def target(self) -> Callable[..., Any] | None:
        """The decorated function or class itself."""
        return self._target

    @property
    def routes(self) -> list[Route]:
        """Its routes, in the order of their definition."""
        return list(self._routes)

    def resource(self) -> dict[str, Any]:
        """What of the manifest the declaration decides; the keys are those of flash_manifest.json."""
        queue = {} if self._routes else {"max_concurrency": self._settings.max_concurrency}
        own_image = {"client_mode": True} if self._settings.image is not None else {}
        return {
            "is_load_balanced": self.is_load_balanced,
            **self._settings.resource(),
            "scalerType": self.scaler_type.value,
            **queue,
            **own_image,
        }

    def __repr__(self) -> str:
        shown = f"id={self._id!r}" if self._id is not None else repr(self._name)
        return f"Endpoint({shown})"
