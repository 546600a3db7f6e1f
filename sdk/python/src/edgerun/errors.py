"""Everything that this package raises beside ValueError, TypeError and TimeoutError."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "APIKeyError",
    "AppContextError",
    "CallTimeoutError",
    "EndpointNotFoundError",
    "FlashAppError",
    "FlashAppNotFoundError",
    "FlashEnvironmentNotFoundError",
    "FlashError",
    "FlashRuntimeError",
    "FlashUsageError",
    "GraphQLError",
    "GraphQLMutationError",
    "GraphQLQueryError",
    "HttpError",
    "LocalModulePayloadTooLargeError",
    "LocalModuleResolutionError",
    "ManifestServiceUnavailableError",
    "PayloadTooLargeError",
    "RemoteExecutionError",
    "SerializationError",
    "ServiceUnreachableError",
]


class FlashError(Exception):
    """The base of all errors of this package."""


class FlashUsageError(FlashError):
    """An operation was called directly that belongs to the `flash` command; the message names the command."""


class APIKeyError(FlashError):
    """There is no API key, or the service rejects it."""


class FlashRuntimeError(FlashError):
    """The base of errors that happen while the service is called."""


class AppContextError(FlashRuntimeError, RuntimeError):
    """A function was called whose app and environment are unknown."""


class EndpointNotFoundError(FlashRuntimeError, RuntimeError):
    """The app and environment have no such endpoint; deploy it first."""


class CallTimeoutError(FlashRuntimeError, RuntimeError):
    """A call of a deployed function took longer than it may."""


class RemoteExecutionError(FlashRuntimeError, RuntimeError):
    """The function raised, or its job could not be run.

    Attributes:
        remote_type: Name of the remote exception's class, or None where it is not known.
        remote_traceback: The remote traceback as text, or None where there is none.
        job_id: Id of the job.
        status: Final status of the job: FAILED, CANCELLED or TIMED_OUT.
    """

    def __init__(
        self,
        message: str,
        *,
        remote_type: str | None = None,
        remote_traceback: str | None = None,
        job_id: str = "",
        status: str = "FAILED",
    ) -> None:
        super().__init__(message)
        self.remote_type = remote_type
        self.remote_traceback = remote_traceback
        self.job_id = job_id
        self.status = status


class SerializationError(FlashRuntimeError):
    """An argument or a result is of a type that JSON cannot carry; the message names it and its type."""


class PayloadTooLargeError(SerializationError):
    """Arguments are larger than the service takes."""


class HttpError(FlashRuntimeError):
    """The service, or a worker's own server, answered with an HTTP error.

    Attributes:
        status: The HTTP status, such as 404.
        body: The answer as text.
        code: The service's code for the error, such as "endpoint_not_found", or None.
        retry_after: Seconds that the answer asks to wait, or None.
        headers: Those of the answer, by their names in lower case.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        body: str = "",
        code: str | None = None,
        retry_after: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.code = code
        self.retry_after = retry_after
        self.headers = headers or {}


class ServiceUnreachableError(FlashRuntimeError):
    """There was no response: the URL is wrong, or the service or the network is down."""


class GraphQLError(FlashRuntimeError):
    """The management API rejected an operation.

    Attributes:
        code: The service's code for the error, such as APP_NOT_FOUND, or None.
    """

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class GraphQLQueryError(GraphQLError):
    """The management API rejected a query."""


class GraphQLMutationError(GraphQLError):
    """The management API rejected a mutation."""


class ManifestServiceUnavailableError(FlashRuntimeError):
    """A worker cannot learn where the other endpoints of its environment are."""


class LocalModuleResolutionError(FlashRuntimeError):
    """A local module that the function needs cannot be found."""


class LocalModulePayloadTooLargeError(FlashRuntimeError):
    """The local modules that a function needs are too large to be sent."""


class FlashAppError(FlashRuntimeError):
    """The base of errors about apps and environments."""


class FlashAppNotFoundError(FlashAppError):
    """The app does not exist."""


class FlashEnvironmentNotFoundError(FlashAppError):
    """The environment does not exist."""
