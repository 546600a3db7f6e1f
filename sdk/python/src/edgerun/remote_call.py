"""One call of a deployed function: a job that is submitted, waited for, and read."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .app_context import AppContext, find_app_context
from .connection import find_connection
from .dev_server import VARIABLE, dev_server_api, dev_server_url, is_for_dev_server
from .errors import CallTimeoutError, EndpointNotFoundError, HttpError, ServiceUnreachableError
from .http_exchange import REFUSED, patiently
from .job import EndpointJob
from .json_value import check_json, encode_json
from .live_call import LiveCall, lacks_modules
from .live_peers import current as live_peers_of_worker
from .peers import find_peer, forget_peers
from .queue_api import QueueApi
from .remote_error import remote_error
from .worker import is_worker

if TYPE_CHECKING:
    from .endpoint import Endpoint

DEFAULT_TIMEOUT_SECONDS = 90.0
_NOT_FOUND = 404
_JOB_NOT_FOUND = "job_not_found"


@dataclass(frozen=True)
class Call:
    """A call of `function` of the endpoint with this name."""

    endpoint_name: str
    function: str
    body: bytes
    timeout_seconds: float


async def call_remote(
    endpoint: Endpoint,
    function: str,
    arguments: dict[str, Any],
    *,
    method: str | None = None,
    choice: Mapping[str, str] | None = None,
) -> Any:
    """Runs `function` on the endpoint with these arguments, and returns its result.

    For a class, `method` is the method to call, and `choice` is the part of a job's input that selects it.

    Raises:
        SerializationError: JSON cannot carry an argument.
        AppContextError: The app and the environment of the endpoint are unknown.
        EndpointNotFoundError: The app and environment have no such endpoint.
        CallTimeoutError: The call took too long.
        RemoteExecutionError: The function raised, or its job was cancelled or timed out.
        APIKeyError: There is no key, or the service rejects it.
        HttpError, ServiceUnreachableError: The service fails or cannot be reached.
    """
    name = endpoint.name or function
    for argument, value in arguments.items():
        check_json(value, f"argument '{argument}' of {function}()")
    timeout_seconds = call_timeout_seconds(endpoint.execution_timeout_ms)
    live_peers = live_peers_of_worker()
    if live_peers is not None:
        return await _run_live(LiveCall(name, function, method, arguments, live_peers), timeout_seconds)
    body = encode_json({"input": {**(choice or {}), **arguments}}, f"the input of {function}()")
    call = Call(name, function, body, timeout_seconds)
    if is_for_dev_server():
        return await _run_by_dev_server(call)
    peer = await find_peer(name) if is_worker() else None
    if peer is not None:
        try:
            return await _run(call, peer)
        except HttpError as error:
            if not _says_no_endpoint(error):
                raise
            forget_peers()  # It is elsewhere by now.
    return await _run_by_name(call, find_app_context(name))


async def _run_live(live: LiveCall, timeout_seconds: float) -> Any:
    context = find_app_context(live.endpoint_name)
    deadline = time.monotonic() + timeout_seconds
    call = Call(live.endpoint_name, live.function, live.body(), timeout_seconds)
    job = await _job_by_name(call, context, deadline)
    if lacks_modules(job.error):  # Nothing was run.
        again = replace(call, body=live.body(with_all_sources=True))
        job = await _job_by_name(again, context, deadline)
    if not lacks_modules(job.error):
        live.note_taken()
    return _result_of(call, job)


async def _run_by_dev_server(call: Call) -> Any:
    try:
        return await _run(call, dev_server_api(call.endpoint_name))
    except ServiceUnreachableError as error:
        raise ServiceUnreachableError(
            f"No `flash dev` answers at {dev_server_url()}: start it in the project, or unset {VARIABLE} to call "
            f"what is deployed. ({error})"
        ) from None
    except HttpError as error:
        if error.status != _NOT_FOUND:
            raise
        raise EndpointNotFoundError(
            f"`flash dev` at {dev_server_url()} has no endpoint '{call.endpoint_name}': is it of another project? "
            f"({error})"
        ) from None


async def _run_by_name(call: Call, context: AppContext) -> Any:
    deadline = time.monotonic() + call.timeout_seconds
    return _result_of(call, await _job_by_name(call, context, deadline))


async def _job_by_name(call: Call, context: AppContext, deadline: float) -> EndpointJob:
    try:
        return await _job_of(call, api_by_name(call.endpoint_name, context), deadline)
    except HttpError as error:
        if not _says_no_endpoint(error):
            raise
        raise EndpointNotFoundError(
            f"Endpoint '{call.endpoint_name}' was not found in app '{context.app}', environment "
            f"'{context.environment}': deploy it first, with `flash deploy --env {context.environment}`. "
            f"({error})"
        ) from None


def api_by_name(endpoint_name: str, context: AppContext) -> QueueApi:
    """The queue of an endpoint that the service finds by its name."""
    connection = find_connection()
    return QueueApi(f"{connection.url}/v2/flash", connection.api_key, name_headers(endpoint_name, context))


def name_headers(endpoint_name: str, context: AppContext) -> Mapping[str, str]:
    """What goes with a request to the reserved id `flash`, for the service to find the endpoint."""
    return {
        "X-Flash-App": context.app,
        "X-Flash-Environment": context.environment,
        "X-Flash-Endpoint": endpoint_name,
    }


async def _run(call: Call, api: QueueApi) -> Any:
    return _result_of(call, await _job_of(call, api, time.monotonic() + call.timeout_seconds))


async def _job_of(call: Call, api: QueueApi, deadline: float) -> EndpointJob:
    """The job of a call, when it has ended."""
    try:
        reply = await patiently(
            lambda: api.runsync(call.body, deadline - time.monotonic()), deadline, again_on=REFUSED
        )
        job = EndpointJob(api, reply)
        return await job.wait(max(deadline - time.monotonic(), 0.0))
    except TimeoutError as error:
        raise CallTimeoutError(
            f"{call.function}() of endpoint '{call.endpoint_name}' took longer than {call.timeout_seconds:g} s. {error} "
            "Wait longer by FLASH_SENTINEL_TIMEOUT=<seconds> or execution_timeout_ms= of the endpoint, "
            "or see in `flash env get` whether it has workers."
        ) from None


def _result_of(call: Call, job: EndpointJob) -> Any:
    if job.completed:
        return job.output
    raise remote_error(call.function, call.endpoint_name, job)


def _says_no_endpoint(error: HttpError) -> bool:
    # A job past its retention is a 404 too, and must not be submitted again.
    return error.status == _NOT_FOUND and error.code != _JOB_NOT_FOUND


def call_timeout_seconds(execution_timeout_ms: int) -> float:
    """Seconds that a call may take: FLASH_SENTINEL_TIMEOUT, else 90; an endpoint may have more."""
    chosen = os.environ.get("FLASH_SENTINEL_TIMEOUT") or str(DEFAULT_TIMEOUT_SECONDS)
    try:
        seconds = float(chosen)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"FLASH_SENTINEL_TIMEOUT={chosen!r} must be a number of seconds above 0.")
    return max(seconds, execution_timeout_ms / 1000)
