"""One call of a deployed function: a job that is submitted, waited for, and read."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .app_context import AppContext, find_app_context
from .connection import find_connection
from .errors import CallTimeoutError, EndpointNotFoundError, HttpError
from .http_exchange import REFUSED, patiently
from .job import EndpointJob
from .json_value import check_json, encode_json
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


async def call_remote(endpoint: Endpoint, function: str, arguments: dict[str, Any]) -> Any:
    """Runs `function` on the endpoint with these arguments, and answers what it returns.

    Raises:
        SerializationError: JSON cannot carry an argument.
        AppContextError: Nothing says of which app and environment the endpoint is.
        EndpointNotFoundError: They have no such endpoint.
        CallTimeoutError: It took too long.
        RemoteExecutionError: It raised, or its job was cancelled or timed out.
        APIKeyError: There is no key, or the service refuses it.
        HttpError, ServiceUnreachableError: The service does not do its part.
    """
    name = endpoint.name or function
    for argument, value in arguments.items():
        check_json(value, f"argument '{argument}' of {function}()")
    body = encode_json({"input": arguments}, f"the input of {function}()")
    call = Call(name, function, body, _timeout_seconds(endpoint.execution_timeout_ms))
    peer = await find_peer(name) if is_worker() else None
    if peer is not None:
        try:
            return await _run(call, peer)
        except HttpError as error:
            if not _says_no_endpoint(error):
                raise
            forget_peers()  # It is elsewhere by now.
    return await _run_by_name(call, find_app_context(name))


async def _run_by_name(call: Call, context: AppContext) -> Any:
    try:
        return await _run(call, _api_by_name(call.endpoint_name, context))
    except HttpError as error:
        if not _says_no_endpoint(error):
            raise
        raise EndpointNotFoundError(
            f"Endpoint '{call.endpoint_name}' was not found in app '{context.app}', environment "
            f"'{context.environment}': deploy it first, with `flash deploy --env {context.environment}`. "
            f"({error})"
        ) from None


def _api_by_name(endpoint_name: str, context: AppContext) -> QueueApi:
    connection = find_connection()
    return QueueApi(
        f"{connection.url}/v2/flash",
        connection.api_key,
        {
            "X-Flash-App": context.app,
            "X-Flash-Environment": context.environment,
            "X-Flash-Endpoint": endpoint_name,
        },
    )


async def _run(call: Call, api: QueueApi) -> Any:
    deadline = time.monotonic() + call.timeout_seconds
    try:
        reply = await patiently(
            lambda: api.runsync(call.body, deadline - time.monotonic()), deadline, again_on=REFUSED
        )
        job = EndpointJob(api, reply)
        await job.wait(max(deadline - time.monotonic(), 0.0))
    except TimeoutError as error:
        raise CallTimeoutError(
            f"{call.function}() of endpoint '{call.endpoint_name}' took longer than {call.timeout_seconds:g} s. {error} "
            "Wait longer by FLASH_SENTINEL_TIMEOUT=<seconds> or execution_timeout_ms= of the endpoint, "
            "or see in `flash env get` whether it has workers."
        ) from None
    if job.completed:
        return job.output
    raise remote_error(call.function, call.endpoint_name, job)


def _says_no_endpoint(error: HttpError) -> bool:
    # A job that is not kept any more is a 404 too, and must not be submitted once more.
    return error.status == _NOT_FOUND and error.code != _JOB_NOT_FOUND


def _timeout_seconds(execution_timeout_ms: int) -> float:
    chosen = os.environ.get("FLASH_SENTINEL_TIMEOUT") or str(DEFAULT_TIMEOUT_SECONDS)
    try:
        seconds = float(chosen)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"FLASH_SENTINEL_TIMEOUT={chosen!r} must be a number of seconds above 0.")
    return max(seconds, execution_timeout_ms / 1000)
