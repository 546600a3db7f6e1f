"""Requests to a live worker of a load-balanced endpoint."""

from __future__ import annotations

import base64
import json
import os
import threading

import pytest
from edge import Edge
from live_worker import LiveServer, Project
from worker_process import App, Server

MAIN = """
    import asyncio
    import os

    from edgerun import Endpoint

    api = Endpoint(name="api", cpu="cpu3c-1-2")


    class Refused(Exception):
        status_code = 418
        detail = "teapot"


    class Response:
        status_code = 201
        headers = {"X-Flash-Live": "raised", "X-Own": "yes"}
        body = b"made"


    @api.post("/items")
    async def create(name: str, price: float):
        return {"name": name, "price": price}

    @api.get("/items/{item_id}")
    def read(item_id: int, deep: bool = False):
        return {"id": item_id, "deep": deep}

    @api.get("/stream")
    async def stream(fifo: str):
        yield "one"
        await asyncio.to_thread(lambda: open(fifo).read())
        yield "two"

    @api.get("/raises")
    def raises():
        raise LookupError("nö")

    @api.get("/refuses")
    def refuses():
        raise Refused()

    @api.get("/responds")
    def responds():
        return Response()
"""
ROUTES = {
    "POST /items": "create",
    "GET /items/{item_id}": "read",
    "GET /stream": "stream",
    "GET /raises": "raises",
    "GET /refuses": "refuses",
    "GET /responds": "responds",
}


@pytest.fixture(scope="module")
def edge():
    edge = Edge()
    yield edge
    edge.close()


@pytest.fixture(scope="module")
def server(edge, tmp_path_factory):
    """One for all of these tests."""
    environment = {
        "EDGERUN_URL": edge.url,
        "SVC_API_KEY": "key-of-environment",
        "FLASH_APP": "shop",
        "FLASH_ENV": "live-abcdef",
    }
    server = LiveServer(tmp_path_factory.mktemp("live"), environment)
    yield server
    server.close()


@pytest.fixture
def made() -> Project:
    return Project(main=MAIN)


def outcome(reply) -> tuple[int, str | None]:
    return reply.status, reply.headers.get("x-flash-live")


def test_a_request_is_answered_by_the_route_of_the_code_that_it_brings(server, made):
    reply = server.execute(made.route(ROUTES, "POST", "/items", b'{"name": "tea", "price": 3}'))
    assert (outcome(reply), reply.json) == ((200, None), {"name": "tea", "price": 3.0})
    reply = server.execute(made.route(ROUTES, "GET", "/items/5", query="deep=true", sources={}))
    assert reply.json == {"id": 5, "deep": True}
    made.files["main.py"] = made.files["main.py"].replace('{"id": item_id', '{"number": item_id')
    assert server.execute(made.route(ROUTES, "GET", "/items/5")).json == {"number": 5, "deep": False}


def test_what_does_not_fit_is_answered_as_by_a_deployed_worker(server, made):
    reply = server.execute(made.route(ROUTES, "POST", "/items", b'{"name": "tea"}'))
    assert (outcome(reply), reply.json["detail"][0]["loc"]) == ((422, None), ["body", "price"])
    assert outcome(server.execute(made.route(ROUTES, "GET", "/none"))) == (404, None)
    assert outcome(server.execute(made.route(ROUTES, "DELETE", "/items"))) == (405, None)
    reply = server.execute(made.route(ROUTES, "GET", "/refuses"))
    assert (outcome(reply), reply.json) == ((418, None), {"detail": "teapot"})


def test_a_route_cannot_speak_for_the_worker(server, made):
    reply = server.execute(made.route(ROUTES, "GET", "/responds"))
    assert (outcome(reply), reply.body, reply.headers["x-own"]) == ((201, None), b"made", "yes")


def test_an_answer_to_head_has_no_body(server, made):
    reply = server.execute(made.route(ROUTES, "HEAD", "/items/5"))
    assert (outcome(reply), reply.body) == ((200, None), b"")


def test_a_streamed_answer_comes_piece_by_piece(server, made, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    request = json.dumps(made.route(ROUTES, "GET", "/stream", query=f"fifo={fifo}")).encode()
    with server.connect() as peer:
        peer.sendall(
            b"POST /execute HTTP/1.1\r\nhost: x\r\nx-flash-live-token: live-token-of-this-worker\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(request), request)
        )
        received = b""
        while b"one" not in received:
            received += peer.recv(65_536)
        assert b"two" not in received
        fifo.write_text("go on")
        while b"two" not in received:
            received += peer.recv(65_536)


def test_a_route_that_raises_is_told_with_its_place_and_traceback(server, made):
    reply = server.execute(made.route(ROUTES, "GET", "/raises"))
    line = made.files["main.py"].splitlines().index('    raise LookupError("nö")') + 1
    assert outcome(reply) == (500, "raised")
    assert reply.json["detail"] == f"LookupError: nö (main.py:{line})"
    assert f'  File "main.py", line {line}, in raises' in reply.json["traceback"]


def test_code_that_cannot_be_loaded_is_reported_and_fixed_by_the_next_request(server, made):
    text = made.files["main.py"]
    made.files["main.py"] = text + "\nimport nowhere\n"
    reply = server.execute(made.route(ROUTES, "GET", "/items/5"))
    assert outcome(reply) == (500, "not-loaded")
    assert "No module named 'nowhere' at main.py:" in reply.json["detail"]
    assert 'add it to the endpoint\'s dependencies=["nowhere"]' in reply.json["detail"]
    made.files["main.py"] = text
    assert outcome(server.execute(made.route(ROUTES, "GET", "/items/5"))) == (200, None)


def test_missing_texts_are_asked_for_by_their_hash(server, made):
    made.files["main.py"] += "\n# never seen\n"
    reply = server.execute(made.route(ROUTES, "GET", "/items/5", sources={}))
    assert outcome(reply) == (409, "missing-modules")
    assert reply.json == {"missing_modules": [made.modules["main.py"]]}


@pytest.mark.parametrize("token", ["", "wrong", "live-token-of-this-worke", "é"])
def test_without_the_token_nothing_runs(server, made, token):
    reply = server.execute(made.route(ROUTES, "GET", "/items/5"), token=token)
    assert (outcome(reply), reply.json) == (
        (403, "refused"),
        {"detail": "The live token is wrong, or missing."},
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"protocol": 2, "execution_type": "route"}', b"1"])
def test_what_is_no_request_is_rejected(server, body):
    assert outcome(server.execute(body)) == (400, "refused")


def test_a_body_above_the_limit_is_rejected(server, made):
    request = made.route(ROUTES, "POST", "/items")
    request["http"]["body_base64"] = base64.b64encode(b"x" * 10_000_001).decode()
    reply = server.execute(request)
    assert (outcome(reply), "may have 10000000 bytes" in reply.json["detail"]) == ((400, "refused"), True)


def test_nothing_but_its_health_and_live_requests_is_answered(server):
    assert server.ask("GET", "/ping").json == {"status": "healthy"}
    assert server.ask("GET", "/execute").status == 405
    reply = server.ask("GET", "/items/5")
    assert (reply.status, "called through `flash dev`" in reply.json["detail"]) == (404, True)


def test_a_worker_says_that_it_is_healthy_while_it_loads_code(server, made, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    made.files["main.py"] += f"\nopen({str(fifo)!r}).read()\n"
    replies = []
    asked = threading.Thread(
        target=lambda: replies.append(server.execute(made.route(ROUTES, "GET", "/items/5")))
    )
    asked.start()
    with fifo.open("w"):  # the module is being imported
        assert server.ask("GET", "/ping").status == 200
    asked.join()
    assert replies[0].json == {"id": 5, "deep": False}


def test_a_route_calls_a_function_with_a_queue(server, edge):
    made = Project(
        main="""
        from edgerun import Endpoint

        api = Endpoint(name="api", cpu="cpu3c-1-2")

        @api.get("/sum")
        async def total():
            from adder import add
            return await add(1, b=2)
        """,
        adder="""
        from edgerun import Endpoint

        @Endpoint(name="adder", cpu="cpu3c-1-2")
        def add(a, b):
            return a + b
        """,
    )
    peer = made.code(module="adder", function_name="add", modules={"adder.py": made.modules["adder.py"]})
    edge.on("POST /v2/flash/runsync", {"id": "j1", "status": "COMPLETED", "output": 3})
    reply = server.execute(made.route({"GET /sum": "total"}, "GET", "/sum", peers={"adder": peer}))
    assert reply.json == 3
    [call] = edge.seen("POST /v2/flash/runsync")
    assert call.headers["authorization"] == "Bearer key-of-environment"
    assert (call.headers["x-flash-environment"], call.headers["x-flash-endpoint"]) == ("live-abcdef", "adder")
    sent = call.body["input"]
    assert (sent["module"], sent["function_name"], sent["kwargs"]) == ("adder", "add", {"a": 1, "b": 2})
    assert sent["sources"][made.modules["adder.py"]] == made.files["adder.py"]
    # Its own endpoint may be called in turn.
    assert sent["peers"]["api"]["modules"] == made.modules


def test_a_worker_without_a_token_does_not_start(tmp_path):
    with pytest.raises(
        AssertionError, match="FLASH_LIVE_TOKEN is not set: live workers are started by the service"
    ):
        LiveServer(tmp_path, {"FLASH_LIVE_TOKEN": ""})


def test_a_deployed_worker_has_no_such_path_for_any_request(tmp_path, made):
    app = App(tmp_path / "app")
    app.write("main.py", MAIN)
    app.balanced("api", ROUTES)
    for live in ({}, {"FLASH_LIVE": "false"}, {"FLASH_LIVE": "1"}):
        deployed = Server(app, {"FLASH_LIVE_TOKEN": "t", **live})
        try:
            request = made.route(ROUTES, "GET", "/items/5")
            reply = deployed.ask("POST", "/execute", request, x_flash_live_token="t")
            assert (reply.status, reply.json) == (404, {"detail": "Not Found"})
        finally:
            deployed.close()
