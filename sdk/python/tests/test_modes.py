"""Decorators, routes and clients: what an Endpoint may be used as, and as what not."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from edgerun import Endpoint, ServerlessScalerType
from edgerun.declarations import recording


def client() -> Endpoint:
    return Endpoint(id="abc")


# Queue


def test_the_name_of_the_function_names_the_endpoint() -> None:
    endpoint = Endpoint()
    assert endpoint.name is None

    @endpoint
    def resize(width: int) -> int:
        return width

    assert endpoint.name == "resize"


def test_a_decorated_plain_function_is_to_be_awaited_and_keeps_its_signature() -> None:
    endpoint = Endpoint(name="resize")

    @endpoint
    def resize(width: int, height: int = 2) -> int:
        """Makes it smaller."""
        return width * height

    assert inspect.iscoroutinefunction(resize)
    assert str(inspect.signature(resize)) == "(width: 'int', height: 'int' = 2) -> 'int'"
    assert resize.__doc__ == "Makes it smaller."
    assert endpoint.target is inspect.unwrap(resize)


def test_one_endpoint_takes_one_function() -> None:
    endpoint = Endpoint(name="a")

    @endpoint
    def first() -> None: ...

    with pytest.raises(
        ValueError, match=r"first\(\) \(.*test_modes.py:\d+\) already, and cannot .*second\(\) \("
    ):

        @endpoint
        def second() -> None: ...


def test_what_is_no_function_cannot_be_decorated() -> None:
    with pytest.raises(ValueError, match="decorates functions and classes, not 3"):
        Endpoint(name="a")(3)  # type: ignore[call-overload]


def test_a_function_name_that_no_endpoint_can_have_is_rejected() -> None:
    with pytest.raises(ValueError, match="name='größe'"):

        @Endpoint()
        def größe() -> None: ...


@pytest.mark.parametrize("variable", ["RUNPOD_ENDPOINT_ID", "RUNPOD_POD_ID"])
@pytest.mark.parametrize("resource", ["resize", "live-resize"])
def test_in_a_worker_of_the_endpoint_the_function_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, variable: str, resource: str
) -> None:
    monkeypatch.setenv(variable, "x")
    monkeypatch.setenv("FLASH_RESOURCE_NAME", resource)

    def resize() -> int:
        return 1

    assert Endpoint(name="resize")(resize) is resize
    assert Endpoint(name="live-resize")(resize) is resize
    assert Endpoint(name="resize2")(resize) is not resize


def test_outside_of_workers_the_name_alone_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASH_RESOURCE_NAME", "resize")

    def resize() -> int:
        return 1

    assert Endpoint(name="resize")(resize) is not resize


# Concurrency


def test_much_concurrency_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="max_concurrency=101 is above 100") as warned:

        @Endpoint(name="a", max_concurrency=101)
        async def work() -> None: ...

    assert warned[0].filename == __file__


def test_concurrency_of_a_plain_function_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="max_concurrency=4 of .*work, which is not async"):

        @Endpoint(name="a", max_concurrency=4)
        def work() -> None: ...


def test_concurrency_is_ignored_with_routes() -> None:
    api = Endpoint(name="a", max_concurrency=4)
    with pytest.warns(UserWarning, match="max_concurrency=4 is ignored"):

        @api.get("/x")
        async def x() -> None: ...

    @api.get("/y")  # Said once is enough.
    async def y() -> None: ...

    assert "max_concurrency" not in api.resource()


# Routes


def test_routes_are_kept_in_order_and_their_functions_are_left_alone() -> None:
    api = Endpoint(name="api", cpu="cpu3c-1-2")

    @api.get("/items/{item_id}")
    def read(item_id: int) -> int:
        return item_id

    @api.post("/items")
    def write(name: str) -> str:
        return name

    @api.put("/items")
    @api.patch("/items")
    @api.delete("/items")
    async def change() -> None: ...

    assert read(3) == 3
    assert api.is_load_balanced
    assert api.scaler_type is ServerlessScalerType.REQUEST_COUNT
    assert [(route.method, route.path) for route in api.routes] == [
        ("GET", "/items/{item_id}"),
        ("POST", "/items"),
        ("DELETE", "/items"),
        ("PATCH", "/items"),
        ("PUT", "/items"),
    ]
    assert api.routes[0].function is read


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("items", r"path='items' must be a text that begins with \"/\""),
        (3, r"path=3 must be a text"),
        ("/ping", r"path='/ping' is reserved"),
        ("/execute", r"path='/execute' is reserved"),
    ],
)
def test_a_wrong_path_is_rejected(path: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Endpoint(name="api").get(path)


@pytest.mark.parametrize("path", ["/items/{id}", "/{item}/{id}", "/{item:path}", "/{}"])
def test_a_path_names_parameters_of_its_function_only(path: str) -> None:
    api = Endpoint(name="api")
    with pytest.raises(ValueError, match=r"which must be a parameter of .*read\(\)"):

        @api.get(path)
        def read(item: int) -> None: ...

    @api.get(path.replace(":path", "").replace("{}", "{any}"))
    def whatever(**names: str) -> None: ...


def test_a_method_and_path_have_one_function() -> None:
    api = Endpoint(name="api")

    @api.get("/x")
    def first() -> None: ...

    @api.post("/x")
    def other() -> None: ...

    with pytest.raises(
        ValueError, match=r"GET /x of .*second\(\) is taken already, by .*first\(\) \(.*test_modes.py:"
    ):

        @api.get("/x")
        def second() -> None: ...


def test_routes_need_a_name() -> None:
    with pytest.raises(ValueError, match="an endpoint with routes needs a name"):
        Endpoint().get("/x")


def test_routes_take_their_path_only() -> None:
    for call in (
        lambda: Endpoint(name="a").post("/x", {"a": 1}),
        lambda: Endpoint(name="a").post("/x", timeout=3),
        lambda: Endpoint(name="a").post("/x", headers={}),
    ):
        with pytest.raises(TypeError, match="is a route and takes its path only"):
            call()


def test_routes_have_no_queue_to_scale_by() -> None:
    with pytest.raises(ValueError, match="scaler_type=ServerlessScalerType.QUEUE_DELAY does not fit"):
        Endpoint(name="a", scaler_type=ServerlessScalerType.QUEUE_DELAY).get("/x")


def test_routes_and_a_queue_do_not_mix() -> None:
    with_function = Endpoint(name="a")

    @with_function
    def work() -> None: ...

    with pytest.raises(ValueError, match=r"decorates .*work\(\) .* and cannot have routes too"):
        with_function.get("/x")

    with_route = Endpoint(name="b")

    @with_route.get("/x")
    def x() -> None: ...

    with pytest.raises(ValueError, match=r"has routes \(GET /x\) and cannot be a decorator too"):
        with_route(x)


def test_a_route_cannot_be_awaited() -> None:
    with pytest.raises(TypeError, match=r"declares a route and cannot be awaited.*Endpoint\(id=…\)"):
        Endpoint(name="a").post("/x").__await__()


# Clients


def test_a_client_is_no_decorator() -> None:
    for endpoint in (client(), Endpoint(name="a", image="me/worker:1")):
        assert endpoint.is_client
        with pytest.raises(ValueError, match="is a client and cannot be a decorator"):

            @endpoint
            def work() -> None: ...


def test_a_request_of_a_client_is_no_decorator() -> None:
    with pytest.raises(
        TypeError, match=r"Endpoint\(id='abc'\).post\('/x'\) is a request of a client, .* no decorator"
    ):

        @client().post("/x")
        def work() -> None: ...


def test_unknown_arguments_of_clients_are_rejected() -> None:
    for call in (
        lambda: client().post("/x", json={}),  # type: ignore[call-arg]
        lambda: client().run({}, wait=3),  # type: ignore[call-arg]
        lambda: client().runsync({}, webhook=""),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call()


@pytest.mark.parametrize("method", ["run", "runsync", "status", "cancel"])
def test_an_endpoint_with_code_is_no_client(method: str) -> None:
    with pytest.raises(TypeError, match=rf"Endpoint\('a'\).{method}\(\) belongs to clients"):
        asyncio.run(getattr(Endpoint(name="a"), method)("x"))


def test_an_own_image_is_marked_in_the_manifest() -> None:
    resource = Endpoint(name="a", image="me/worker:1", cpu="cpu3c-1-2").resource()
    assert resource["imageName"] == "me/worker:1"
    assert resource["client_mode"] is True
    assert "client_mode" not in Endpoint(name="a").resource()


# Recording


def test_a_recording_has_every_endpoint_in_order_with_its_place() -> None:
    with recording() as declared:
        first = Endpoint(name="a")
        second = Endpoint(id="b")
    Endpoint(name="c")
    assert [(one.endpoint, one.file) for one in declared] == [(first, __file__), (second, __file__)]
    assert declared[1].line == declared[0].line + 1


def test_the_recorded_function_is_async_only_when_it_is() -> None:
    with recording() as declared:

        @Endpoint(name="plain")
        def plain() -> None: ...

        @Endpoint(name="async")
        async def other() -> None: ...

    targets = [one.endpoint.target for one in declared]
    assert [inspect.iscoroutinefunction(target) for target in targets] == [False, True]
