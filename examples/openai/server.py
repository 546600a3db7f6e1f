"""The same engine as a server of OpenAI's API, for a load-balanced endpoint: it listens on PORT and knows no queue."""

import asyncio
import json
import os

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse

from answers import Answer, RequestError, CompletionRequest
from engine import describe, list_models, model, names

app = FastAPI(title="A small language model")


@app.exception_handler(RequestError)
async def answer_error(_request: Request, error: RequestError):
    return JSONResponse({"error": error.error}, error.error["code"])


@app.get("/ping")
async def ping():
    """The model is loaded before the server listens."""
    return {}


@app.get("/v1/models")
async def models():
    return list_models()


@app.get("/v1/models/{name:path}")
async def one_model(name: str):
    return describe(name)


@app.post("/v1/chat/completions")
async def chat(request: Request):
    return await complete(await request.json(), is_chat=True)


@app.post("/v1/completions")
async def completions(request: Request):
    return await complete(await request.json(), is_chat=False)


async def complete(body: dict, is_chat: bool):
    completion = CompletionRequest(body, names, is_chat)
    answer = Answer(completion)
    texts = answer.take(model.generate(completion.prompt, completion.temperature, completion.seed))
    if completion.is_stream:
        return StreamingResponse(events(completion, answer, texts), media_type="text/event-stream")
    for _ in texts:
        await asyncio.sleep(0)  # other requests go on
    return answer.whole()


async def events(completion: CompletionRequest, answer: Answer, texts):
    """Ends with its client: the server closes it when that one has gone."""
    yield event(answer.chunk("", is_first=True))
    for text in texts:
        if text:
            yield event(answer.chunk(text))
        await asyncio.sleep(0)
    yield event(answer.chunk("", answer.reason))
    if completion.wants_usage:
        yield event(answer.usage_chunk())
    yield "data: [DONE]\n\n"


def event(chunk: dict) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=int(os.environ["PORT"]), access_log=False)
