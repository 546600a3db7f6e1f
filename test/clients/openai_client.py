"""The PyPI package openai, unmodified, as a client of an endpoint of the openai example.

    python test/clients/openai_client.py --base-url http://127.0.0.1:8787/v2 --api-key KEY --endpoint ID

Prints a line per check; ends with an exception, so with exit code 1, at the first difference.
"""

import argparse
import asyncio
import json
import time
import urllib.request

import openai

flags = argparse.ArgumentParser()
flags.add_argument("--base-url", required=True)
flags.add_argument("--api-key", required=True)
flags.add_argument("--endpoint", required=True)
args = flags.parse_args()

STATUS_LIMIT_S = 30
# At temperature 0 the model goes on with this for ever.
ENDLESS = "Why do cats"
MODEL = "textgenrnn"
ADDRESS = f"{args.base_url}/{args.endpoint}/openai/v1"
client = openai.OpenAI(api_key=args.api_key, base_url=ADDRESS)


def question(**extra):
    asked = {"messages": [{"role": "user", "content": ENDLESS}], "temperature": 0, "max_tokens": 40}
    return {"model": MODEL, **asked, **extra}


def check(what, actual, expected):
    """Compares and says so."""
    assert actual == expected, f"DIFFERENT  {what}\n  is        {actual!r}\n  should be {expected!r}"
    print(f"ok         {what}", flush=True)


def queue(path):
    request = urllib.request.Request(
        f"{args.base_url}/{args.endpoint}/{path}", headers={"Authorization": f"Bearer {args.api_key}"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def becomes(job_id, wanted):
    until = time.monotonic() + STATUS_LIMIT_S
    while (status := queue(f"status/{job_id}")["status"]) != wanted and time.monotonic() < until:
        time.sleep(0.05)
    return status


def failure(call):
    try:
        call()
    except openai.OpenAIError as error:
        return error
    raise AssertionError("It was answered.")


check("models are listed", [model.id for model in client.models.list()], [MODEL])
check("a model is retrieved", client.models.retrieve(MODEL).id, MODEL)

whole = client.chat.completions.create(**question())
words = whole.choices[0].message.content
check("a chat is completed", (len(words), whole.choices[0].finish_reason), (40, "length"))
check("with its usage", whole.usage.model_dump(exclude_none=True),
      {"completion_tokens": 40, "prompt_tokens": 11, "total_tokens": 51})
check("the id of the request is the job's", queue(f"status/{whole._request_id}")["status"], "COMPLETED")

pieces = [chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(**question(stream=True))]
check("a streamed chat has the same words", "".join(pieces), words)
check("in pieces", len(pieces) > 10, True)

prompt = {"model": MODEL, "prompt": ENDLESS, "temperature": 0, "max_tokens": 40, "stop": ["best", "\n"]}
completed = client.completions.create(**prompt).choices[0]
check("a prompt is completed, up to a stop", (completed.text, completed.finish_reason), (words.split("best")[0], "stop"))

stranger = openai.OpenAI(api_key="wrong", base_url=ADDRESS)
error = failure(lambda: stranger.models.list())
check("a wrong key is an AuthenticationError", (type(error), error.code), (openai.AuthenticationError, "invalid_api_key"))
error = failure(lambda: client.chat.completions.create(**question(model="none")))
check("a wrong model is a NotFoundError", (type(error), error.param, error.code), (openai.NotFoundError, "model", "404"))
error = failure(lambda: client.chat.completions.create(**question(max_tokens=0), stream=True))
check("a wrong figure is a BadRequestError", (type(error), error.param, error.type),
      (openai.BadRequestError, "max_tokens", "BadRequestError"))
check("which names its request", error.request_id.startswith("sync-"), True)
total = queue("requests?limit=1")["total"]
error = failure(lambda: client.chat.completions.create(**question(), extra_body={"fail": "it's \"broken\""}))
check("a handler that breaks is an InternalServerError", (type(error), error.body["message"]),
      (openai.InternalServerError, "it's \"broken\""))
check("and no job is made again", queue("requests?limit=1")["total"], total + 1)

with client.chat.completions.with_streaming_response.create(**question(stream=True, max_tokens=2_000)) as response:
    next(response.iter_bytes())
    job_id = response.headers["x-request-id"]
check("an answer that nobody reads on is cancelled", becomes(job_id, "CANCELLED"), "CANCELLED")

hasty = openai.OpenAI(api_key=args.api_key, base_url=ADDRESS, timeout=0.1, max_retries=0)
error = failure(lambda: hasty.chat.completions.create(**question(max_tokens=200)))
check("a client that waits too little gets an APITimeoutError", type(error), openai.APITimeoutError)


async def together():
    """Several at a time, each with its own words."""
    async with openai.AsyncOpenAI(api_key=args.api_key, base_url=ADDRESS) as many:

        async def ask(limit):
            stream = await many.chat.completions.create(**question(stream=True, max_tokens=limit))
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        return await asyncio.gather(*(ask(limit) for limit in range(1, 9)))


check("asyncio: eight streams at a time", asyncio.run(together()), [words[:limit] for limit in range(1, 9)])
