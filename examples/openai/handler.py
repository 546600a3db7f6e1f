"""An engine behind OpenAI's API, as the workers of large models are: a small language model on the CPU.

{"input": {"openai_route": "/v1/chat/completions", "openai_input": {…}}}
{"input": {"openai_route": "/v1/models"}}

What it yields is what engines yield: one object, or, for "stream": true, the text of server-sent events in pieces that
may end anywhere. RAW_OPENAI_OUTPUT=0 has lists of objects instead. Errors are yielded as {"error": {…}}.
"""

import asyncio
import json
import os
from urllib.parse import unquote

import runpod

from answers import Answer, RequestError, CompletionRequest
from engine import describe, list_models, model, names

# After a job the SDK waits up to a second before it takes the next one, so several are taken at a time.
JOBS_AT_ONCE = 16
TOKENS_PER_YIELD = int(os.environ.get("DEFAULT_BATCH_SIZE", "4"))
IS_RAW = os.environ.get("RAW_OPENAI_OUTPUT", "1") == "1"
# Engines that pass on what they read cut events anywhere.
WITHHELD_CHARACTERS = 7


async def handler(job):
    payload = job["input"]
    route = payload.get("openai_route")
    try:
        if route == "/v1/models":
            yield list_models()
        elif route.startswith("/v1/models/"):
            yield describe(unquote(route.removeprefix("/v1/models/")))
        elif route in ("/v1/chat/completions", "/v1/completions"):
            async for piece in complete(CompletionRequest(payload.get("openai_input") or {}, names, "chat" in route)):
                yield piece
        else:
            raise RequestError(f"There is no {route}.", "NotFoundError", None, 404)
    except RequestError as error:
        yield {"error": error.error}


async def complete(completion: CompletionRequest):
    if completion.failure:
        raise RuntimeError(completion.failure)  # to try what clients make of a handler that breaks
    answer = Answer(completion)
    texts = answer.take(model.generate(completion.prompt, completion.temperature, completion.seed))
    if completion.is_stream:
        async for piece in stream(completion, answer, texts):
            yield piece
        return
    for _ in texts:
        await asyncio.sleep(0)
    yield answer.whole()


async def stream(completion: CompletionRequest, answer: Answer, texts):
    sender = Frames() if IS_RAW else Objects()
    sender.add(answer.chunk("", is_first=True))
    for number, text in enumerate(texts):
        if text:
            sender.add(answer.chunk(text))
        if number % TOKENS_PER_YIELD == 0 and (piece := sender.take()):
            yield piece
        await asyncio.sleep(0)  # other jobs go on
    sender.add(answer.chunk("", answer.reason))
    if completion.wants_usage:
        sender.add(answer.usage_chunk())
    yield sender.end()


class Frames:
    """Server-sent events as text."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, chunk: dict) -> None:
        self._text += f"data: {json.dumps(chunk)}\n\n"

    def take(self) -> str:
        piece, self._text = self._text[:-WITHHELD_CHARACTERS], self._text[-WITHHELD_CHARACTERS:]
        return piece

    def end(self) -> str:
        return f"{self._text}data: [DONE]\n\n"


class Objects:
    """The same as objects, several at a time."""

    def __init__(self) -> None:
        self._chunks = []

    def add(self, chunk: dict) -> None:
        self._chunks.append(chunk)

    def take(self) -> list:
        piece, self._chunks = self._chunks, []
        return piece

    def end(self) -> list:
        return self.take()


if __name__ == "__main__":
    runpod.serverless.start(
        {
            "handler": handler,
            "return_aggregate_stream": True,
            "concurrency_modifier": lambda current: JOBS_AT_ONCE,
        }
    )
