"""Classes of deployed workers, as their callers see them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from edge import Edge

from edgerun import Endpoint

RUNSYNC = "POST /v2/flash/runsync"


class Loaded:
    """Base of the class below."""

    def warm_up(self) -> None: ...


@Endpoint(name="model", cpu="cpu3c-1-2")
class Model(Loaded):
    """A model."""

    weights = "w"

    def __init__(self, size: int = 1) -> None:
        self.size = size

    def predict(self, text: str, top: int = 3) -> list[str]:
        """Says what comes next."""
        return []

    async def train(self, *, epochs: int) -> None: ...

    @staticmethod
    def version() -> str:
        return "1"

    def _private(self) -> None: ...


@Endpoint(name="single")
class Single:
    def predict(self, text: str) -> str:
        return text


pytestmark = pytest.mark.usefixtures("app")


def test_a_class_with_one_method_is_given_its_arguments_only(edge: Edge) -> None:
    edge.on(RUNSYNC, {"id": "j1", "status": "COMPLETED", "output": "x"})
    assert asyncio.run(Single().predict("x")) == "x"  # type: ignore[arg-type]
    assert edge.requests[0].body == {"input": {"text": "x"}}


def test_with_several_the_job_says_which(edge: Edge) -> None:
    edge.on(RUNSYNC, {"id": "j1", "status": "COMPLETED"})
    model: Any = Model()
    for call in (model.predict("a", top=1), model.train(epochs=2), model.version(), model.warm_up()):
        asyncio.run(call)
    assert [seen.body["input"] for seen in edge.requests] == [
        {"method": "predict", "text": "a", "top": 1},
        {"method": "train", "epochs": 2},
        {"method": "version"},
        {"method": "warm_up"},
    ]


def test_private_and_unknown_attributes_are_attribute_errors() -> None:
    model: Any = Model()
    for name in ("_private", "__len__", "_endpoint_"):
        with pytest.raises(AttributeError, match="is private"):
            getattr(model, name)
    with pytest.raises(
        AttributeError, match="'Model' has no method 'weights' .*; it has warm_up, predict, train, version"
    ):
        _ = model.weights


def test_constructor_arguments_are_rejected() -> None:
    with pytest.raises(
        TypeError, match=r"Model\(\) was given arguments, but workers of Endpoint\('model'\) construct"
    ):
        Model(3)
    with pytest.raises(TypeError, match="without any"):
        Model(size=3)


def test_wrong_arguments_of_a_method_are_a_type_error(edge: Edge) -> None:
    model: Any = Model()
    with pytest.raises(TypeError):
        asyncio.run(model.predict())
    assert edge.requests == []


def test_the_stand_in_is_known_by_the_name_of_the_class() -> None:
    assert (Model.__name__, Model.__doc__, Model.__module__) == ("Model", "A model.", __name__)
    assert repr(Model) == "<remote class Model of Endpoint('model')>"
    assert repr(Model()) == "<remote Model of Endpoint('model')>"
    assert Model().predict.__doc__ == "Says what comes next."


def test_a_parameter_that_would_hide_the_method_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"Two.second\(\) has a parameter 'method'"):

        @Endpoint(name="two")
        class Two:
            def first(self) -> None: ...
            def second(self, method: str) -> None: ...


def test_in_its_own_worker_the_class_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNPOD_POD_ID", "w1")
    monkeypatch.setenv("FLASH_RESOURCE_NAME", "single")

    class Plain: ...

    assert Endpoint(name="single")(Plain) is Plain
