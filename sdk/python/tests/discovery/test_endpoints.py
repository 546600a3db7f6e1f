"""What is found of an app that is as it should be."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import App

LOG = "open(__file__.rpartition('/')[0] + '/log', 'a').write(__name__ + chr(10))\n"


def test_a_queue_based_and_a_load_balanced_endpoint_are_found_with_all_that_is_declared(app: App) -> None:
    app.write(
        gpu_worker='''
            from edgerun import Endpoint, GpuGroup

            @Endpoint(name="gpu_worker", gpu=GpuGroup.ADA_24, workers=(1, 3), dependencies=["pillow"])
            async def hello(input_data: dict[str, int], times: int = 3, *, flag: bool = False, **rest):
                """Says hello.

                And more."""
        ''',
        lb_worker='''
            from edgerun import Endpoint

            api = Endpoint(name="lb_worker", cpu="cpu3c-1-2")

            @api.post("/process")
            def process(item: str, size=len("x")) -> dict:
                return {}

            @api.get("/items/{item_id}")
            async def item(item_id: int):
                """One item."""
        ''',
    )
    found = app.found()
    assert list(found) == ["gpu_worker", "lb_worker"]
    queue, balanced = found["gpu_worker"], found["lb_worker"]
    assert queue["resource"]["gpuIds"] == "ADA_24"
    assert (queue["resource"]["workersMin"], queue["resource"]["workersMax"]) == (1, 3)
    assert queue["dependencies"] == ["pillow"]
    assert (queue["filePath"], queue["modulePath"], queue["line"]) == ("gpu_worker.py", "gpu_worker", 4)
    assert queue["configVariable"] is None
    assert queue["functions"] == [
        {
            "name": "hello",
            "module": "gpu_worker",
            "line": 5,
            "isAsync": True,
            "isGenerator": False,
            "isClass": False,
            "classMethods": [],
            "methodParameters": {},
            "httpMethod": None,
            "httpPath": None,
            "description": "Says hello.",
            "parameters": [
                {
                    "name": "input_data",
                    "kind": "positional",
                    "annotation": "dict[str, int]",
                    "isRequired": True,
                },
                {
                    "name": "times",
                    "kind": "positional",
                    "annotation": "int",
                    "isRequired": False,
                    "default": 3,
                },
                {
                    "name": "flag",
                    "kind": "keyword",
                    "annotation": "bool",
                    "isRequired": False,
                    "default": False,
                },
                {"name": "rest", "kind": "var_keyword", "annotation": None, "isRequired": False},
            ],
        }
    ]
    assert balanced["isLoadBalanced"] and balanced["configVariable"] == "api"
    assert [(f["httpMethod"], f["httpPath"], f["name"]) for f in balanced["functions"]] == [
        ("POST", "/process", "process"),
        ("GET", "/items/{item_id}", "item"),
    ]
    size = balanced["functions"][0]["parameters"][1]
    assert not size["isRequired"] and "default" not in size


def test_is_async_is_true_for_async_functions_only(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint

            @Endpoint(name="plain")
            def plain(): ...

            @Endpoint(name="later")
            async def later(): ...

            @Endpoint(name="stream")
            def stream():
                yield 1

            @Endpoint(name="later-stream")
            async def later_stream():
                yield 1
        """
    )
    kinds = {
        name: (endpoint["functions"][0]["isAsync"], endpoint["functions"][0]["isGenerator"])
        for name, endpoint in app.found().items()
    }
    assert kinds == {
        "plain": (False, False),
        "later": (True, False),
        "stream": (False, True),
        "later-stream": (True, True),
    }


def test_the_same_function_name_may_stand_in_two_files(app: App) -> None:
    text = "from edgerun import Endpoint\n@Endpoint(name='{}')\ndef predict(): ...\n"
    app.write(one=text.format("first"), two=text.format("second"))
    functions = {name: endpoint["functions"][0] for name, endpoint in app.found().items()}
    assert (functions["first"]["module"], functions["first"]["name"]) == ("one", "predict")
    assert (functions["second"]["module"], functions["second"]["name"]) == ("two", "predict")


def test_classes_have_their_public_methods_in_the_order_of_their_definition(app: App) -> None:
    app.write(
        worker='''
            from edgerun import Endpoint

            class Base:
                def warm(self, seconds: float): ...

            @Endpoint(name="many")
            class Many(Base):
                """Many things."""
                def __init__(self, size=3): ...
                def second(self, text): ...
                @staticmethod
                async def first(a, *, b=1): ...
                def _hidden(self): ...

            @Endpoint(name="one")
            class One:
                def run(self, text: str, times: int = 2): ...
        '''
    )
    found = {name: endpoint["functions"][0] for name, endpoint in app.found().items()}
    assert found["many"]["isClass"] and found["many"]["description"] == "Many things."
    assert found["many"]["classMethods"] == ["warm", "second", "first"]
    assert found["many"]["parameters"] == []
    parameters = found["many"]["methodParameters"]
    assert {method: [one["name"] for one in taken] for method, taken in parameters.items()} == {
        "warm": ["seconds"],
        "second": ["text"],
        "first": ["a", "b"],
    }
    assert [one["name"] for one in found["one"]["parameters"]] == ["text", "times"]


def test_methods_of_other_packages_may_take_anything(app: App) -> None:
    app.write(
        worker="""
            from collections import UserDict
            from edgerun import Endpoint

            @Endpoint(name="kept")
            class Kept(UserDict):
                def run(self, text): ...
        """
    )
    methods = app.found()["kept"]["functions"][0]["methodParameters"]
    assert [(one["name"], one["kind"]) for one in methods["run"]] == [("text", "positional")]
    assert [one["kind"] for one in methods["update"]] == ["var_keyword"]


def test_each_candidate_runs_once_and_other_files_not_at_all(
    app: App, log: Callable[[], list[str]]
) -> None:
    app.write(
        config=f"{LOG}from edgerun import Endpoint\napi = Endpoint(name='api', cpu='cpu3c-1-2')\n",
        a_routes=f"{LOG}from config import api\n@api.get('/a')\ndef a(): ...\n",
        z_worker=f"{LOG}from edgerun import Endpoint\nimport a_routes\n@Endpoint(name='z')\ndef z(): ...\n",
        script=f"{LOG}raise SystemExit(1)\n",
    )
    found = app.found()
    assert sorted(log()) == ["a_routes", "config", "z_worker"]
    assert found["api"]["filePath"] == "a_routes.py" or found["api"]["configVariable"] == "api"


def test_routes_may_stand_in_other_files_than_their_endpoint(app: App) -> None:
    app.write(
        config="from edgerun import Endpoint\napi = Endpoint(name='api', cpu='cpu3c-1-2')\n",
        routes__one="from config import api\n@api.get('/one')\ndef one(): ...\n",
        routes__two="from config import api as web\n@web.post('/two')\ndef two(): ...\n",
    )
    (endpoint,) = app.found().values()
    assert {(f["module"], f["httpPath"]) for f in endpoint["functions"]} == {
        ("routes.one", "/one"),
        ("routes.two", "/two"),
    }
    assert endpoint["localFiles"] == ["config.py", "routes/one.py", "routes/two.py"]


def test_settings_may_come_from_variables_lists_the_environment_and_other_files(app: App) -> None:
    app.write(
        settings="from edgerun import GpuType\nGPUS = [GpuType.NVIDIA_L4]\nNAMES = ['a', 'b']\n",
        worker="""
            import os
            from edgerun import Endpoint
            from settings import GPUS, NAMES

            MOST = int(os.environ.get("MOST_WORKERS_OF_THIS_APP", "7"))

            def declare(name):
                return Endpoint(name=name, gpu=GPUS, workers=MOST, dependencies=[f"pkg-{name}"])

            @declare(NAMES[0])
            def first(): ...

            @declare(NAMES[1])
            def second(): ...
        """,
    )
    found = app.found()
    assert found["a"]["resource"]["workersMax"] == 7
    assert found["a"]["resource"]["gpuIds"].startswith("AMPERE_24")
    assert found["b"]["dependencies"] == ["pkg-b"]


def test_the_names_of_files_need_not_be_identifiers(app: App) -> None:
    text = "from edgerun import Endpoint\n@Endpoint(name='{}')\ndef work(): ...\n"
    app.add(
        {
            "01_x.py": text.format("first"),
            "my-worker.py": text.format("second"),
            "some dir/worker.py": text.format("third"),
            "deep/er/worker.py": text.format("fourth"),
        }
    )
    modules = {name: endpoint["functions"][0]["module"] for name, endpoint in app.found().items()}
    assert modules == {
        "first": "01_x",
        "second": "my-worker",
        "third": "some dir.worker",
        "fourth": "deep.er.worker",
    }


def test_modules_named_like_those_of_python_do_not_disturb_discovery(app: App) -> None:
    worker = "from edgerun import Endpoint\n@Endpoint(name='x')\ndef x(): ...\n"
    app.write(worker=worker, json="raise RuntimeError('not this')", ast="raise RuntimeError('nor this')")
    app.write(types="raise RuntimeError('nor this')", edgerun_notes="")
    assert list(app.found()) == ["x"]


def test_endpoints_with_their_own_image_count(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint, GpuGroup
            vllm = Endpoint(name="vllm", image="vllm/vllm-openai:v1", gpu=GpuGroup.AMPERE_80, env={"A": "b"})
            other = Endpoint(id="abc123")
        """
    )
    found = app.found()
    assert list(found) == ["vllm"]
    assert found["vllm"]["isClient"] and found["vllm"]["configVariable"] == "vllm"
    assert found["vllm"]["resource"]["imageName"] == "vllm/vllm-openai:v1"
    assert found["vllm"]["functions"] == []


def test_every_setting_reaches_the_resource(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint, GpuGroup, PodTemplate

            @Endpoint(name="big", gpu=GpuGroup.ADA_24, gpu_count=2, execution_timeout_ms=60_000, flashboot=False,
                      template=PodTemplate(containerDiskInGb=99, env=[{"key": "A", "value": "b"}]))
            def big(): ...
        """
    )
    resource = app.found()["big"]["resource"]
    assert resource["gpuCount"] == 2
    assert resource["executionTimeoutMs"] == 60_000
    assert resource["flashBootType"] == "OFF"
    assert resource["template"]["containerDiskInGb"] == 99
    assert resource["template"]["env"] == [{"key": "A", "value": "b"}]


def test_scripts_that_only_call_endpoints_are_not_run(app: App, log: Callable[[], list[str]]) -> None:
    app.write(
        worker="from edgerun import Endpoint\n@Endpoint(name='x')\ndef x(): ...\n",
        call=f"{LOG}from edgerun import Endpoint\nep = Endpoint(id='abc')\n",
    )
    assert list(app.found()) == ["x"]
    assert log() == []


def test_functions_keep_their_names_under_decorators_of_others(app: App) -> None:
    app.write(
        worker="""
            import functools
            from edgerun import Endpoint

            def traced(function):
                @functools.wraps(function)
                def wrapper(*a, **k):
                    return function(*a, **k)
                return wrapper

            def bare(function):
                def wrapper(*a, **k):
                    return function(*a, **k)
                return wrapper

            @Endpoint(name="inside")
            @traced
            def inside(text: str): ...

            @Endpoint(name="nameless")
            @bare
            def nameless(text: str): ...
        """
    )
    found = {name: endpoint["functions"][0] for name, endpoint in app.found().items()}
    assert (found["inside"]["name"], found["nameless"]["name"]) == ("inside", "nameless")
    assert [one["name"] for one in found["inside"]["parameters"]] == ["text"]
    assert [one["name"] for one in found["nameless"]["parameters"]] == ["text"]
