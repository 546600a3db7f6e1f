"""Why a job of a deployed function did not complete."""

from __future__ import annotations

from .errors import RemoteExecutionError
from .job import EndpointJob
from .json_value import parse_object

_TRACEBACK_BEGINS = "Traceback (most recent call last):"


def remote_error(function: str, endpoint_name: str, job: EndpointJob) -> RemoteExecutionError:
    """The error that the caller of `function` receives; workers send type, message and traceback as JSON."""
    where = f"{function}() of endpoint '{endpoint_name}'"
    if job.last_status != "FAILED":
        reason = f" ({job.error})" if job.error else ""
        ended = "was cancelled" if job.last_status == "CANCELLED" else "timed out on its worker"
        return RemoteExecutionError(
            f"{where} {ended}{reason}; job {job.id}.", job_id=job.id, status=job.last_status
        )
    kind, message, traceback = _read_error(job.error or "the worker gave no reason")
    said = f"{kind}: {message}" if kind and message else kind or message
    shown = f"\n\nRemote traceback:\n{traceback.rstrip()}" if traceback else ""
    return RemoteExecutionError(
        f"{where} failed: {said}; job {job.id}.{shown}",
        remote_type=kind,
        remote_traceback=traceback,
        job_id=job.id,
    )


def _read_error(error: str) -> tuple[str | None, str, str | None]:
    fields = parse_object(error)
    if isinstance(fields.get("error_message"), str):
        return _text(fields.get("error_type")), fields["error_message"], _text(fields.get("error_traceback"))
    if _TRACEBACK_BEGINS in error:
        before, _, _ = error.partition(_TRACEBACK_BEGINS)
        last_line = error.rstrip().rsplit("\n", 1)[-1]
        return None, before.strip() or last_line, error[error.index(_TRACEBACK_BEGINS) :]
    return None, error, None


def _text(value: object) -> str | None:
    # Python's own name of a class comes as "<class 'ValueError'>" from some workers.
    if not isinstance(value, str) or value == "":
        return None
    return value.removeprefix("<class '").removesuffix("'>")
