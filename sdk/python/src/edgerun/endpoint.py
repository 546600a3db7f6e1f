"""Endpoint: one configuration of workers, and the code or image that runs on them."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from . import declarations
from .concurrency import warn_of_concurrency, warn_of_ignored_concurrency
from .cpu import CpuInstanceType
from .cuda import DEFAULT_CUDA_VERSION, CudaVersion
from .data_center import DataCenter
from .declared_endpoint import DeclaredEndpoint
from .endpoint_client import EndpointClient
from .gpu import Gpu
from .job import EndpointJob
from .keywords import NamesKeywords
from .lifecycle import managed_by
from .remote_class import RemoteClass
from .remote_function import remote_function
from .remote_route import remote_route
from .route import Route, place_of, read_path, refuse_second, refuse_unknown_names
from .scaling import DEFAULT_WORKERS_MAX, DEFAULT_WORKERS_MIN, ServerlessScalerType
from .settings import read_name, read_settings
from .template import PodTemplate
from .verb import DEFAULT_TIMEOUT_SECONDS, Verb
from .volume import NetworkVolume
from .worker import is_worker, is_worker_of

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class Endpoint(NamesKeywords, DeclaredEndpoint):
    """One configuration of workers, and the code or image that runs on them.

    It is used in one of four ways:

    - as a decorator of a function or class, whose calls are jobs of a queue;
    - as an object with routes, `@api.post("/path")`, whose workers answer HTTP requests;
    - with `id=`, as a client of an endpoint that exists;
    - with `image=`, as a client of an endpoint of your own image, which is made on its first use.

    Args:
        name: Its name: letters, digits, `-` and `_`. Without one it is that of the decorated function or class.
        id: Id of an endpoint that exists; nothing is made.
        gpu: A GpuType or GpuGroup, or a list of them in order of preference. Without gpu and cpu: any GPU.
        cpu: A CPU instance such as "cpu5c-4-8", or a list of them; instead of gpu.
        workers: The most workers, or a pair (min, max).
        idle_timeout: Seconds, 1 to 3600, after which a worker with nothing to do goes.
        dependencies: Packages for the code, such as ["pillow>=11"].
        system_dependencies: Debian packages; only where functions are tried live, not in a deployment.
        accelerate_downloads: Whether packages are installed in parallel where functions are tried live.
        volume: A NetworkVolume, or a list of them in different data centers; mounted at /runpod-volume.
        datacenter: A DataCenter or its id, or a list of them. Without one: any.
        env: Environment variables of the workers.
        gpu_count: GPUs of each worker.
        gpu_memory_gb: GPU memory that a worker needs, so that several share a GPU. Without it each has its own.
        execution_timeout_ms: Milliseconds that a job may take, 5000 to 604800000; 0 for the service's default.
        flashboot: Whether workers that are not needed are kept ready for a fast start.
        image: A container image of your own.
        scaler_type: What workers are counted by; QUEUE_DELAY, with routes REQUEST_COUNT.
        scaler_value: Seconds of delay, or jobs and requests for each worker.
        template: Further settings of the container.
        min_cuda_version: The least CUDA version of a host, such as "12.8"; on GPUs only.
        max_concurrency: Jobs that a worker runs at the same time; not with routes.
        python_version: Version of Python such as "3.12"; one for the whole app.
        models: Models of Hugging Face that each host downloads once, such as ["Qwen/Qwen3-8B@main"].
        model_token_secret: Name of the account's secret with the token for private models.

    Raises:
        ValueError: A parameter is not what it should be; the message names it, its value and what would be right.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        id: str | None = None,
        gpu: Gpu | Sequence[Gpu] | None = None,
        cpu: str | CpuInstanceType | Sequence[str | CpuInstanceType] | None = None,
        workers: int | tuple[int, int] = (DEFAULT_WORKERS_MIN, DEFAULT_WORKERS_MAX),
        idle_timeout: int = 60,
        dependencies: Sequence[str] | None = None,
        system_dependencies: Sequence[str] | None = None,
        accelerate_downloads: bool = True,
        volume: NetworkVolume | Sequence[NetworkVolume] | None = None,
        datacenter: DataCenter | str | Sequence[DataCenter | str] | None = None,
        env: Mapping[str, str] | None = None,
        gpu_count: int = 1,
        gpu_memory_gb: int | None = None,
        execution_timeout_ms: int = 0,
        flashboot: bool = True,
        image: str | None = None,
        scaler_type: ServerlessScalerType | None = None,
        scaler_value: int = 4,
        template: PodTemplate | None = None,
        min_cuda_version: str | CudaVersion | None = DEFAULT_CUDA_VERSION,
        max_concurrency: int = 1,
        python_version: str | None = None,
        models: Sequence[str] | None = None,
        model_token_secret: str | None = None,
    ) -> None:
        if id is not None and image is not None:
            raise ValueError(
                f"id={id!r} and image={image!r} exclude each other: with id the endpoint exists already."
            )
        if image is not None and name is None:
            raise ValueError(f'image={image!r} needs a name, such as name="my-worker".')
        settings = read_settings(
            gpu=gpu,
            cpu=cpu,
            workers=workers,
            idle_timeout=idle_timeout,
            dependencies=dependencies,
            system_dependencies=system_dependencies,
            accelerate_downloads=accelerate_downloads,
            volume=volume,
            datacenter=datacenter,
            env=env,
            gpu_count=gpu_count,
            gpu_memory_gb=gpu_memory_gb,
            execution_timeout_ms=execution_timeout_ms,
            flashboot=flashboot,
            image=image,
            scaler_type=scaler_type,
            scaler_value=scaler_value,
            template=template,
            min_cuda_version=min_cuda_version,
            max_concurrency=max_concurrency,
            python_version=python_version,
            models=models,
            model_token_secret=model_token_secret,
        )
        super().__init__(name=name, id=id, settings=settings)
        self._client = EndpointClient(self) if self.is_client else None
        declarations.record(self, frames_up=1)

    # Decorating

    @overload
    def __call__(self, target: type[T]) -> type[T]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, target: Callable[P, AsyncIterator[R]]) -> Callable[P, Coroutine[Any, Any, Any]]: ...
    @overload
    def __call__(
        self, target: Callable[P, Coroutine[Any, Any, R]]
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, target: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]: ...

    def __call__(self, target: Callable[..., Any]) -> Any:
        """Makes a function or class a job of the queue: calls of it run on the endpoint's workers.

        Calls always return an awaitable, also for a plain function. In a worker of this endpoint the
        function stays as it is.

        Raises:
            ValueError: The endpoint is a client, has routes, or has a function already.
        """
        self._refuse_target(target)
        if self._name is None:
            self._name = read_name(target.__name__)
        self._target = target
        warn_of_concurrency(self.max_concurrency, target)
        if is_worker_of(self._name):
            return target
        return RemoteClass(self, target) if isinstance(target, type) else remote_function(self, target)

    def _refuse_target(self, target: object) -> None:
        if not inspect.isfunction(target) and not isinstance(target, type):
            raise ValueError(f"{self!r} decorates functions and classes, not {target!r}.")
        if self.is_client:
            raise ValueError(
                f"{self!r} is a client and cannot be a decorator: leave id and image out for code of yours."
            )
        if self._routes:
            raise ValueError(
                f"{self!r} has routes ({self._routes[0].method} {self._routes[0].path}) and cannot be a decorator "
                "too: use an endpoint of its own for the queue."
            )
        if self._target is not None:
            raise ValueError(
                f"{self!r} decorates {place_of(self._target)} already, and cannot decorate {place_of(target)} too: "
                "each function or class needs an endpoint with a name of its own."
            )

    # Routes, or requests of a client

    def get(
        self,
        path: str,
        data: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Verb:
        """A GET route as decorator; of a client a request to be awaited, with `data` as the query."""
        return self._verb("GET", path, data, timeout, headers)

    def post(
        self,
        path: str,
        data: Any = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Verb:
        """A POST route as decorator; of a client a request to be awaited, with `data` as its JSON body."""
        return self._verb("POST", path, data, timeout, headers)

    def put(
        self,
        path: str,
        data: Any = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Verb:
        """A PUT route as decorator; of a client a request to be awaited, with `data` as its JSON body."""
        return self._verb("PUT", path, data, timeout, headers)

    def delete(
        self,
        path: str,
        data: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Verb:
        """A DELETE route as decorator; of a client a request to be awaited, with `data` as the query."""
        return self._verb("DELETE", path, data, timeout, headers)

    def patch(
        self,
        path: str,
        data: Any = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Verb:
        """A PATCH route as decorator; of a client a request to be awaited, with `data` as its JSON body."""
        return self._verb("PATCH", path, data, timeout, headers)

    def _verb(
        self, method: str, path: str, data: Any, timeout: float, headers: Mapping[str, str] | None
    ) -> Verb:
        if self._client is not None:
            client = self._client
            return Verb.request(self, method, path, lambda: client.send(method, path, data, timeout, headers))
        if data is not None or headers is not None or timeout != DEFAULT_TIMEOUT_SECONDS:
            raise TypeError(
                f"{self!r}.{method.lower()}({path!r}) is a route and takes its path only; data, timeout and headers "
                "belong to requests of a client, Endpoint(id=…)."
            )
        self._refuse_route(method)
        return Verb.route(self, method, read_path(path), self._add_route)

    def _refuse_route(self, method: str) -> None:
        if self._name is None:
            raise ValueError(
                f'an endpoint with routes needs a name, such as Endpoint(name="api", …).{method.lower()}(…).'
            )
        if self._target is not None:
            raise ValueError(
                f"{self!r} decorates {place_of(self._target)} and cannot have routes too: "
                "use an endpoint of its own for the routes."
            )
        if self._settings.scaler_type is ServerlessScalerType.QUEUE_DELAY:
            raise ValueError(
                "scaler_type=ServerlessScalerType.QUEUE_DELAY does not fit an endpoint with routes, which has no queue: "
                "use ServerlessScalerType.REQUEST_COUNT, or leave it out."
            )

    def _add_route(self, route: Route) -> Callable[..., Any]:
        self._refuse_route(route.method)
        refuse_second(route, self._routes)
        refuse_unknown_names(route)
        if not self._routes:
            warn_of_ignored_concurrency(self.max_concurrency)
        self._routes.append(route)
        is_elsewhere = is_worker() and not is_worker_of(self._name or "")
        return remote_route(self, route) if is_elsewhere else route.function

    # Jobs of a client

    async def run(self, input: Any, *, webhook: str | None = None) -> EndpointJob:
        """Submits a job with this input and does not wait for it.

        Args:
            input: The input of the worker's handler, a value that JSON can represent.
            webhook: URL that is called when the job ends.

        Raises:
            TypeError: The endpoint is no client.
            SerializationError: JSON cannot carry the input.
            HttpError: The service rejects the job.
        """
        return await self._as_client("run").run(input, webhook=webhook)

    async def runsync(self, input: Any, timeout: float | None = None) -> EndpointJob:
        """Submits a job with this input and waits for it.

        Args:
            input: The input of the worker's handler, a value that JSON can represent.
            timeout: Seconds to wait; 60, or the endpoint's execution_timeout_ms where it has one. A job that takes
                longer continues to run, and is returned in its state at that time.

        Raises:
            TypeError: The endpoint is no client.
            SerializationError: JSON cannot carry the input.
            HttpError: The service rejects the job.
        """
        return await self._as_client("runsync").runsync(input, timeout)

    async def status(self, job_id: str) -> str:
        """The status of a job, such as IN_QUEUE or COMPLETED."""
        return await self._as_client("status").job(job_id).status()

    async def cancel(self, job_id: str) -> EndpointJob:
        """Stops a job that waits or runs; one that has ended stays as it is."""
        return await self._as_client("cancel").job(job_id).cancel()

    def _as_client(self, method: str) -> EndpointClient:
        if self._client is None:
            raise TypeError(
                f"{self!r}.{method}() belongs to clients, Endpoint(id=…) or Endpoint(name=…, image=…); "
                "call the decorated function itself instead."
            )
        return self._client

    # Life

    @managed_by("flash deploy")
    async def deploy(self) -> str:
        """Creates the endpoint with its own image and returns its id; `flash deploy` does that."""
        return await self._as_client("deploy").provision()

    @managed_by("flash update")
    async def update(self) -> str:
        """Updates the endpoint with its own image to its declaration; `flash update` does that."""
        return await self._as_client("update").update()

    @managed_by("flash undeploy")
    async def undeploy(self) -> None:
        """Deletes the endpoint; `flash undeploy` does that."""
        await self._as_client("undeploy").remove()
