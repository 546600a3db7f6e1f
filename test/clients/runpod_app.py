"""An app of the PyPI package runpod 2.0, deployed by its own code, against a whole Edgerun whose workers run this Python.

    python test/clients/runpod_app.py --base-url http://127.0.0.1:8787 --api-key KEY

Prints a line per check; ends with an exception, so with exit code 1, at the first difference.
"""

import argparse
import asyncio
import importlib
import json
import os
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

flags = argparse.ArgumentParser()
flags.add_argument("--base-url", required=True)
flags.add_argument("--api-key", required=True)
args = flags.parse_args()

# The package reads its addresses once, when it is imported.
os.environ["RUNPOD_API_BASE_URL"] = args.base_url
os.environ["RUNPOD_ENDPOINT_BASE_URL"] = f"{args.base_url}/v2"
os.environ["RUNPOD_API_URL"] = f"{args.base_url}/graphql"

import runpod  # noqa: E402
from runpod.api.graphql import run_graphql_query  # noqa: E402
from runpod.apps import deploy  # noqa: E402
from runpod.apps.build import BuildResult  # noqa: E402

runpod.api_key = args.api_key

APP = '''
from pydantic import BaseModel
from runpod import App
from runpod.apps.markers import get, init, post

app = App("of-sdk-2")


class Item(BaseModel):
    name: str
    count: int = 1


@app.api(name="classy", cpu="cpu3c-1-2", workers=(1, 1))
class Classy:
    @init
    async def setup(self):
        self.greeting = "hello"

    @get("/greet/{name}")
    async def greet(self, name: str, times: int = 1):
        return f"{self.greeting} {name}" * times

    @post("/items")
    def item(self, item: Item):
        return [item.name, item.count]


@app.api(name="factory", cpu="cpu3c-1-2", workers=(1, 1))
def factory():
    from fastapi import FastAPI

    api = FastAPI()

    @api.get("/")
    def root():
        return "made"

    return api


@app.queue(name="double", cpu="cpu3c-1-2", workers=(1, 1))
def double(x: int):
    return 2 * x
'''


def check(what, actual, expected):
    """Compares and says so."""
    assert actual == expected, f"DIFFERENT  {what}\n  is        {actual!r}\n  should be {expected!r}"
    print(f"ok         {what}", flush=True)


def request(path, body=None, status=200):
    """The answer of the edge, of this status."""
    sent = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {args.api_key}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(args.base_url + path, sent, headers), timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        assert error.code == status, error.read()
        return None


def environments():
    """States of the environments of the account's apps."""
    answer = run_graphql_query("query { myself { flashApps { flashEnvironments { state } } } }")
    return [one["state"] for each in answer["data"]["myself"]["flashApps"] for one in each["flashEnvironments"]]


async def deploy_twice(project, app):
    """Its own deployment; packages are those of the Python that runs this."""
    packages = project / "packages"
    packages.mkdir()
    deploy.build_environment = lambda *_, **__: BuildResult(env_dir=packages)
    first = await deploy.deploy_app(app, project)
    return first, await deploy.deploy_app(app, project)


with tempfile.TemporaryDirectory() as folder:
    project = Path(folder)
    (project / "listed_app.py").write_text(APP)
    sys.path.insert(0, folder)
    app = importlib.import_module("listed_app").app
    first, again = asyncio.run(deploy_twice(project, app))
    check("a second deployment has the same endpoints", first.endpoints, again.endpoints)
    check("a deployment ends", environments(), ["DEPLOYED"])
    classy, made, double = (first.endpoints[name] for name in ("classy", "factory", "double"))
    check("a class has routes", request(f"/lb/{classy}/greet/you?times=2"), "hello youhello you")
    check("a route reads a model", request(f"/lb/{classy}/items", {"name": "a"}), ["a", 1])
    check("a wrong value is refused", request(f"/lb/{classy}/greet/you?times=x", status=422), None)
    check("a function makes an application", request(f"/lb/{made}/"), "made")
    check("a queue runs a function", request(f"/v2/{double}/runsync", {"input": {"x": 21}})["output"], 42)
print("ok         all was called")
