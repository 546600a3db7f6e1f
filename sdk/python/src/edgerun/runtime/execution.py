"""One job, from its input to the result that is posted."""

from __future__ import annotations

import contextvars
import inspect
import json
import os
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from . import log
from .agent import Agent, Job
from .application import Application
from .failures import InputError, JobFailure, Stopped, summary, traceback_text
from .json_text import NotJsonError, encode
from .missing_package import package_advice

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .event_loop import Call, EventLoop

Handler = Callable[[Mapping[str, Any]], Any]

# What the platform takes as the output of a job.
OUTPUT_MAX_BYTES = 20_000_000


class Execution:
    """Runs a job and posts how it ended. Another thread may stop it meanwhile."""

    def __init__(
        self,
        job: Job,
        handler: Handler,
        agent: Agent,
        loop: Callable[[], EventLoop],
        application: Application,
    ) -> None:
        self.job_id = job.id
        self._job = job
        self._handler = handler
        self._agent = agent
        self._loop = loop
        self._application = application
        self._call: Call | None = None
        self._is_stopped = False
        self._chunks: list[bytes] = []
        self._chunks_bytes = 0
        self._is_stream = False
        self._ending = b"}"

    def run(self) -> None:
        """Never raises: whatever happens becomes the job's result."""
        token = _current.set(self)
        try:
            body = self._result()
        finally:
            _current.reset(token)
        # Also for a stopped job: it reports that the function has ended.
        self._agent.result(self.job_id, body, is_stream=self._is_stream)

    def stop(self) -> None:
        """Cancels an async function and ends a generator; nothing can be done about a plain function."""
        self._is_stopped = True
        call = self._call
        if call is not None:
            call.cancel()

    def progress(self, value: Any) -> None:
        self._agent.progress(self.job_id, encode(value, "progress"))

    # What the function gives

    def _result(self) -> bytes:
        try:
            return b'{"output":' + self._output() + self._ending
        except (InputError, NotJsonError) as error:
            self._note(str(error))
            return _failed(str(error))
        except JobFailure as failure:
            return _failed(failure.error)
        except Stopped:
            return _failed("The job was stopped." if self._is_stopped else "The function cancelled itself.")
        except BaseException as error:  # sys.exit() of a function ends its job only
            trace = traceback_text(error, self._application)
            advice = package_advice(error, self._application)
            self._note(f"{trace}{advice or ''}")
            return _failed(_description(error, trace, advice))

    def _note(self, text: str) -> None:
        if self._application.logs_failures:
            log.say(text, level="ERROR", job_id=self.job_id)

    def _output(self) -> bytes:
        if self._job.problem is not None:
            raise InputError(self._job.problem)
        result = self._handler(self._job.payload)
        if inspect.isawaitable(result):
            result = self._await(result)
        if inspect.isasyncgen(result):
            self._is_stream = True
            self._await(self._relay(result))
        elif inspect.isgenerator(result):
            self._is_stream = True
            self._pass_on(result)
        else:
            if isinstance(result, dict) and result.get("refresh_worker") is True:
                self._ending = b',"stopPod":true}'  # as handlers of the platform ask for a fresh container
            return encode(result, "output")
        return b"[" + b",".join(self._chunks) + b"]"

    def _await(self, awaitable: Any) -> Any:
        self._call = self._loop().call(awaitable)
        if self._is_stopped:
            self._call.cancel()
        return self._call.result()

    # Generators

    def _pass_on(self, generator: Generator[Any, Any, Any]) -> None:
        try:
            for value in generator:
                self._post_chunk(self._keep(value))
                if self._is_stopped:
                    raise Stopped
        finally:
            generator.close()

    async def _relay(self, generator: AsyncGenerator[Any, Any]) -> None:
        """On the loop as a whole: contexts that an async generator enters must be left by the same task."""
        import asyncio

        loop = asyncio.get_running_loop()
        try:
            async for value in generator:
                await loop.run_in_executor(_posters(), self._post_chunk, self._keep(value))
        finally:
            await generator.aclose()

    def _keep(self, value: Any) -> bytes:
        """The output is the list of all chunks, for callers that do not read the stream."""
        chunk = encode(value, f"the yielded value {len(self._chunks) + 1}")
        self._chunks_bytes += len(chunk) + 1
        if self._chunks_bytes > OUTPUT_MAX_BYTES:
            raise NotJsonError(
                f"The function yielded more than {OUTPUT_MAX_BYTES} bytes, which is the limit for the output of a job. "
                "Yield less, or store large results elsewhere and yield their URLs."
            )
        self._chunks.append(chunk)
        return chunk

    def _post_chunk(self, chunk: bytes) -> None:
        self._agent.chunk(self.job_id, chunk)


@cache
def _posters() -> Executor:
    """Separate threads, since the function may occupy those of the loop."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=32, thread_name_prefix="chunks")


_current: contextvars.ContextVar[Execution | None] = contextvars.ContextVar("job", default=None)


def progress(value: Any) -> None:
    """Shows a JSON value as the job's output while it runs. Without effect where no job runs."""
    execution = _current.get()
    if execution is not None:
        execution.progress(value)


def _failed(error: str) -> bytes:
    # A lone surrogate in a message must not prevent a job from ending.
    text = error.encode("utf-8", "backslashreplace").decode("utf-8")
    return b'{"error":' + encode(text, "error") + b"}"


def _description(error: BaseException, trace: str, advice: str | None) -> str:
    """What clients of the platform find in the error of a job whose function has raised."""
    message = str(error) or summary(error)
    described = {
        "error_type": type(error).__qualname__,
        "error_message": f"{message}. {advice}" if advice else message,
        "error_traceback": trace,
        "hostname": os.environ.get("RUNPOD_POD_HOSTNAME", "unknown"),
        "worker_id": os.environ.get("RUNPOD_POD_ID", "unknown"),
    }
    return json.dumps(described, ensure_ascii=False)
