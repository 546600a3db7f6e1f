"""Which endpoints call functions of others."""

from __future__ import annotations

import pytest

from .conftest import App

GPU = "from edgerun import Endpoint\n@Endpoint(name='gpu')\ndef hello(): ...\ndef helper(): ...\n"
API = """
from edgerun import Endpoint
{head}
api = Endpoint(name="api", cpu="cpu3c-1-2")

@api.post("/x")
async def route():
    {body}
"""


def calls(app: App) -> dict[str, bool]:
    return {name: endpoint["makesRemoteCalls"] for name, endpoint in app.found().items()}


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("", "from gpu import hello; return await hello()"),
        ("", "from gpu import hello as greet; return await greet()"),
        ("", "import gpu; return await gpu.hello()"),
        ("", "import gpu as g; m = g; return await m.hello()"),
        ("import gpu", "return await gpu.hello()"),
        ("from gpu import *", "return await hello()"),
        ("import gpu\ngreet = gpu.hello", "return await greet()"),
        ("import gpu", "return await getattr(gpu, 'hello')()"),
        ("import importlib", "return await importlib.import_module('gpu').hello()"),
        ("from gpu import hello", "return [hello]"),
        ("import between", "return await between.ask()"),
        ("from between import ask", "return await ask()"),
    ],
)
def test_any_reference_to_a_function_of_another_endpoint_is_a_remote_call(
    app: App, head: str, body: str
) -> None:
    app.write(
        gpu=GPU,
        api=API.format(head=head, body=body),
        between="import gpu\ndef ask():\n    return gpu.hello()\n",
    )
    assert calls(app) == {"api": True, "gpu": False}


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("", "return {}"),
        ("import gpu", "return gpu.helper()"),
        ("from gpu import helper", "return helper()"),
        ("def hello(): ...", "return hello()"),
        ("if __name__ == '__main__':\n    from gpu import hello\n    hello()", "return {}"),
    ],
)
def test_without_such_a_reference_there_is_none(app: App, head: str, body: str) -> None:
    app.write(gpu=GPU, api=API.format(head=head, body=body))
    assert calls(app) == {"api": False, "gpu": False}


def test_a_call_within_one_file_counts_for_the_caller_alone(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint

            @Endpoint(name="called")
            def called(): ...

            @Endpoint(name="caller")
            async def caller():
                return await called()

            @Endpoint(name="third")
            def third():
                return third.__name__

            if __name__ == "__main__":
                called(), caller(), third()
        """
    )
    assert calls(app) == {"called": False, "caller": True, "third": False}


def test_a_module_level_use_counts_for_all_that_import_it(app: App) -> None:
    app.write(gpu=GPU, shared="import gpu\ndef ask():\n    return gpu.hello()\n")
    text = "from edgerun import Endpoint\nimport shared\n@Endpoint(name='{}')\ndef work(): ...\n"
    app.write(a=text.format("a"), b=text.format("b"))
    assert calls(app) == {"a": True, "b": True, "gpu": False}


def test_names_that_a_package_gives_on_are_followed_to_who_uses_them(app: App) -> None:
    use = "from edgerun import Endpoint\n@Endpoint(name='{}')\nasync def work():\n    {}\n"
    app.add(
        {
            "pkg/__init__.py": "from .gpu import hello\n",
            "pkg/gpu.py": GPU,
            "pkg/quiet.py": use.format("quiet", "return 1"),
            "user.py": use.format("user", "from pkg import hello; return await hello()"),
            "other.py": use.format("other", "import pkg; return await pkg.hello()"),
        }
    )
    assert calls(app) == {"gpu": False, "other": True, "quiet": False, "user": True}


def test_the_use_of_an_endpoint_of_an_own_image_is_a_remote_call(app: App) -> None:
    app.write(
        images="from edgerun import Endpoint\nvllm = Endpoint(name='vllm', image='a/b:1')\n",
        worker="from edgerun import Endpoint\nfrom images import vllm\n"
        "@Endpoint(name='x')\nasync def x():\n    return await vllm.runsync({})\n",
    )
    assert calls(app) == {"vllm": False, "x": True}


def test_a_method_that_is_called_like_a_function_of_the_file_is_no_call_of_it(app: App) -> None:
    app.write(
        worker="""
            from edgerun import Endpoint

            @Endpoint(name="predict")
            def predict(): ...

            @Endpoint(name="model")
            class Model:
                def run(self, thing):
                    return thing.predict()
        """
    )
    assert calls(app) == {"model": False, "predict": False}


def test_a_deep_expression_is_no_hindrance(app: App) -> None:
    app.write(gpu=GPU, numbers=f"x = {' + '.join(['1'] * 900)}\n")
    assert calls(app) == {"gpu": False}
