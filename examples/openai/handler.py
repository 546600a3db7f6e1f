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

from answers import Answer, Refusal, Wish
from engine import describe, list_models, model, names

# After a job the SDK waits up to a second before it takes the next one, so several are taken at a time.
JOBS_AT_ONCE = 16
TOKENS_PER_YIELD = int(os.environ.get("DEFAULT_BATCH_SIZE", "4"))
IS_RAW = os.environ.get("RAW_OPENAI_OUTPUT", "1") == "1"
# Engines that pass on what they read cut events anywhere.
HELD_BACK = 7


async def handler(job):
    wish = job["input"]
    route = wish.get("openai_route")
    try:
        if route == "/v1/models":
            yield list_models()
        elif route.startswith("/v1/models/"):
            yield describe(unquote(route.removeprefix("/v1/models/")))
        elif route in ("/v1/chat/completions", "/v1/completions"):
            async for piece in complete(Wish(wish.get("openai_input") or {}, names, "chat" in route)):
                yield piece
        else:
            raise Refusal(f"There is no {route}.", "NotFoundError", None, 404)
    except Refusal as refusal:
        yield {"error": refusal.error}


async def complete(wish: Wish):
    if wish.failure:
        raise RuntimeError(wish.failure)  # to try what clients make of a handler that breaks
    answer = Answer(wish)
    texts = answer.take(model.generate(wish.prompt, wish.temperature, wish.seed))
    if wish.is_stream:
        async for piece in stream(wish, answer, texts):
            yield piece
        return
    for _ in texts:
        await asyncio.sleep(0)
    yield answer.whole()


async def stream(wish: Wish, answer: Answer, texts):
    sender = Frames() if IS_RAW else Objects()
    sender.add(answer.chunk("", is_first=True))
    for number, text in enumerate(texts):
        if text:
            sender.add(answer.chunk(text))
        if number % TOKENS_PER_YIELD == 0 and (piece := sender.take()):
            yield piece
        await asyncio.sleep(0)  # other jobs go on
    sender.add(answer.chunk("", answer.reason))
    if wish.wants_usage:
        sender.add(answer.usage_chunk())
    yield sender.end()


class Frames:
    """Server-sent events as text."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, chunk: dict) -> None:
        self._text += f"data: {json.dumps(chunk)}\n\n"

    def take(self) -> str:
        piece, self._text = self._text[:-HELD_BACK], self._text[-HELD_BACK:]
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
