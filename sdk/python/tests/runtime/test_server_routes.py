"""What a load-balanced worker makes of requests: routes, parameters, answers."""

from __future__ import annotations

import pytest

SHOP = """
    from __future__ import annotations

    import enum
    from typing import Literal, Optional

    from edgerun import Endpoint

    api = Endpoint(name="api", cpu="cpu3c-1-2")

    class Size(enum.Enum):
        SMALL = "s"
        LARGE = "l"

    @api.get("/items/{item_id}")
    async def item(item_id: int, tag: list[str] = [], size: Size = Size.SMALL, deep: bool = False):
        return {"id": item_id, "tag": tag, "size": size.name, "deep": deep}

    @api.get("/items/first")
    def first():
        return "the first"

    @api.post("/items")
    def create(name: str, price: float, kind: Literal["a", "b"] = "a", note: Optional[str] = None):
        return [name, price, kind, note]

    @api.put("/items/{item_id}")
    def create(item_id: int, name: str):
        return {"put": [item_id, name]}

    @api.delete("/items/{item_id}")
    async def remove(item_id: str, force: bool):
        return None

    @api.post("/process")
    async def process(input_data: dict):
        return {"got": input_data}

    @api.post("/upload")
    def upload(file: bytes, title: str, count: int = 1, extra: dict = {}, more: list[bytes] = []):
        return {"bytes": len(file), "sum": sum(file), "title": title, "count": count, "extra": extra, "more": len(more)}

    @api.patch("/any")
    def anything(**fields):
        return fields
"""
ROUTES = {
    "GET /items/{item_id}": "item",
    "GET /items/first": "first",
    "POST /items": "create",
    "PUT /items/{item_id}": "create",
    "DELETE /items/{item_id}": "remove",
    "POST /process": "process",
    "POST /upload": "upload",
    "PATCH /any": "anything",
}


@pytest.fixture(scope="module")
def shop(listen_for_all):
    return listen_for_all(SHOP, ROUTES)


def test_requests_reach_the_function_of_their_method_and_path(shop):
    assert shop.ask("GET", "/items/7?tag=a&tag=b&size=l&deep=yes&unknown=1").json == {
        "id": 7,
        "tag": ["a", "b"],
        "size": "LARGE",
        "deep": True,
    }
    assert shop.ask("GET", "/items/first").json == "the first"
    assert shop.ask("POST", "/items", {"name": "né", "price": 2, "ignored": 1}).json == ["né", 2.0, "a", None]
    assert shop.ask("PUT", "/items/3", {"name": "x"}).json == {"put": [3, "x"]}
    assert shop.ask("DELETE", "/items/a%2Fb?force=true").body == b"null"
    assert shop.ask("PATCH", "/any", {"a": 1}).json == {"a": 1}


def test_the_health_is_told_on_ping(shop):
    reply = shop.ask("GET", "/ping")
    assert (reply.status, reply.json) == (200, {"status": "healthy"})


def test_there_is_no_execute(shop):
    for method in ("GET", "POST", "PUT"):
        reply = shop.ask(
            method, "/execute", {"module": "os", "function_name": "system", "args": ["touch /tmp/x"]}
        )
        assert (reply.status, reply.json) == (404, {"detail": "Not Found"})


def test_an_unknown_path_is_404_and_a_wrong_method_405(shop):
    assert shop.ask("GET", "/other").status == 404
    assert shop.ask("GET", "/items/7/8").status == 404
    reply = shop.ask("POST", "/items/7")
    assert (reply.status, reply.json) == (405, {"detail": "Method Not Allowed"})
    assert reply.headers["allow"] == "DELETE, GET, HEAD, PUT"


def test_head_is_get_without_a_body(shop):
    whole, bare = shop.ask("GET", "/items/7"), shop.ask("HEAD", "/items/7")
    assert bare.body == b""
    assert bare.headers["content-length"] == str(len(whole.body)) == whole.headers["content-length"]


@pytest.mark.parametrize(
    ("method", "path", "body", "details"),
    [
        ("GET", "/items/x", None, [("int_parsing", ["path", "item_id"], "x")]),
        ("GET", "/items/1?deep=maybe&size=m", None, [("enum", ["query", "size"], "m"), ("bool_parsing", ["query", "deep"], "maybe")]),
        ("DELETE", "/items/1", None, [("missing", ["query", "force"], {})]),
        ("POST", "/items", {"price": "dear"}, [("missing", ["body", "name"], {"price": "dear"}), ("float_parsing", ["body", "price"], "dear")]),
        ("POST", "/items", {"name": 1, "price": 1}, [("string_type", ["body", "name"], 1)]),
        ("POST", "/items", {"name": "a", "price": 1, "kind": "c"}, [("literal_error", ["body", "kind"], "c")]),
        ("POST", "/items", {"name": "a", "price": 1, "note": 5}, [("string_type", ["body", "note"], 5)]),
        ("POST", "/items", None, [("missing", ["body", "name"], {}), ("missing", ["body", "price"], {})]),
        ("POST", "/items", [1], [("dict_type", ["body"], [1])]),
        ("POST", "/items", b"{no", [("json_invalid", ["body", 1], {})]),
        ("POST", "/items", b"\xff", [("json_invalid", ["body", 0], {})]),
        ("POST", "/upload", {"file": "x", "title": "t"}, [("bytes_type", ["body", "file"], "x")]),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_422_with_details_as_fastapi_gives_them(shop, method, path, body, details):
    reply = shop.ask(method, path, body)
    assert reply.status == 422
    assert [(one["type"], one["loc"], one["input"]) for one in reply.json["detail"]] == details
    assert all(one["msg"] for one in reply.json["detail"])


@pytest.mark.parametrize("body", [b'{"name": "x", "price": NaN}', b'{"name": "x", "price": 1e400}'])
def test_numbers_that_json_cannot_tell_are_422_and_not_shown(shop, body):
    [detail] = shop.ask("POST", "/items", body, content_type="application/json").json["detail"]
    assert (detail["type"], detail["loc"], detail["input"]) == ("finite_number", ["body", "price"], None)


def test_a_slash_at_the_end_is_passed_over_unless_there_is_a_route_for_it(listen):
    server = listen(
        "def item(x): return x\ndef bare(): return 'bare'\ndef slash(): return 'slash'\n",
        {"GET /items/{x}": "item", "GET /c": "bare", "GET /c/": "slash", "GET /d/": "slash"},
    )
    paths = ("/items/1/", "/c", "/c/", "/d", "/d/")
    assert [server.ask("GET", path).json for path in paths] == ["1", "bare", "slash", "slash", "slash"]
    assert [server.ask("GET", path).status for path in ("/items/", "/items/1//", "/")] == [404] * 3
    assert server.ask("POST", "/d").status == 405


def test_types_that_exist_for_type_checkers_only_leave_the_others_as_they_are(listen):
    server = listen(
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from pydantic import BaseModel

        def typed(model: BaseModel, count: int = None, ratio: "float | None" = None, more: list[int] = []):
            return [model, count, ratio, more]
        """,
        {"POST /typed": "typed"},
    )
    body = {"model": {"a": 1}, "count": "2", "ratio": None, "more": ["3"]}
    assert server.ask("POST", "/typed", body).json == [{"a": 1}, 2, None, [3]]
    assert server.ask("POST", "/typed", {"model": 1}).json == [1, None, None, []]
    assert server.ask("POST", "/typed", {"model": 1, "count": "x"}).status == 422


def test_one_dict_parameter_gets_the_whole_body_unless_it_is_named(shop):
    assert shop.ask("POST", "/process", {"input_data": {"a": 1}}).json == {"got": {"a": 1}}
    assert shop.ask("POST", "/process", {"a": 1, "b": [2]}).json == {"got": {"a": 1, "b": [2]}}
    assert shop.ask("POST", "/process", {}).json == {"got": {}}
    assert shop.ask("POST", "/process").status == 422
    both = shop.ask("POST", "/process", {"input_data": {}, "extra": 1})
    assert (both.status, both.json["detail"][0]["loc"]) == (422, ["body", "extra"])


def test_a_body_that_names_no_parameter_is_422(listen):
    server = listen("def work(steps: int = 4):\n    return steps\n", {"POST /work": "work"})
    assert server.ask("POST", "/work", {"steps": 1, "more": 1}).json == 1
    assert server.ask("POST", "/work").json == 4
    reply = server.ask("POST", "/work", {"stpes": 1})
    assert (reply.status, reply.json["detail"][0]["loc"]) == (422, ["body", "stpes"])


def test_a_body_that_curl_calls_a_form_is_json_where_it_looks_like_it(shop):
    reply = shop.ask("POST", "/process", b' {"a": 1}', content_type="application/x-www-form-urlencoded")
    assert reply.json == {"got": {"a": 1}}
    reply = shop.ask(
        "POST", "/items", b"name=a+b&price=1.5", content_type="application/x-www-form-urlencoded"
    )
    assert reply.json == ["a b", 1.5, "a", None]


def test_files_and_fields_come_from_a_multipart_form(shop):
    content = bytes(range(256)) * 40 + b"\r\n--b\r\n\n\r--"
    parts = [
        b'Content-Disposition: form-data; name="title"\r\n\r\nn\xc3\xa9',
        b'content-disposition: form-data; name="file"; filename="a b.bin"\r\nContent-Type: x/y\r\n\r\n'
        + content,
        b'Content-Disposition: form-data; name="count"\r\n\r\n3',
        b'Content-Disposition: form-data; name="extra"\r\n\r\n{"k": 1}',
        b'Content-Disposition: form-data; name="more"; filename="1"\r\n\r\n1',
        b'Content-Disposition: form-data; name="more"; filename="2"\r\n\r\n',
    ]
    body = b"--bound\r\n" + b"\r\n--bound\r\n".join(parts) + b"\r\n--bound--\r\n"
    reply = shop.ask("POST", "/upload", body, content_type='multipart/form-data; boundary="bound"')
    assert reply.json == {
        "bytes": len(content),
        "sum": sum(content),
        "title": "né",
        "count": 3,
        "extra": {"k": 1},
        "more": 2,
    }


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", b"--b--"),
        ("multipart/form-data; boundary=b", b"--b\r\nno disposition\r\n\r\nx\r\n--b--"),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\nx'),
        ("multipart/form-data; boundary=b", b"--b\r\n\r\nx\r\n--b--"),
        ("multipart/form-data; boundary=b", b""),
    ],
)
def test_a_form_that_cannot_be_read_is_400(shop, content_type, body):
    assert shop.ask("POST", "/upload", body, content_type=content_type).status == 400


# Answers


def test_results_are_json_and_bytes_are_themselves(listen):
    server = listen(
        """
        def plain(): return "text"
        def pair(): return ("body", 201)
        def raw(): return b"\\x00\\xff"
        """,
        {"GET /plain": "plain", "GET /pair": "pair", "GET /raw": "raw"},
    )
    plain = server.ask("GET", "/plain")
    assert (plain.body, plain.headers["content-type"]) == (b'"text"', "application/json")
    assert server.ask("GET", "/pair").json == ["body", 201]
    raw = server.ask("GET", "/raw")
    assert (raw.body, raw.headers["content-type"]) == (b"\x00\xff", "application/octet-stream")


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("{1, 2}", "the answer is of type set, which JSON cannot carry"),
        ("{'v': float('inf')}", "the answer['v'] is inf, which JSON cannot carry"),
        ("[1, float('nan')]", "the answer[1] is nan, which JSON cannot carry"),
    ],
)
def test_a_result_that_is_no_json_is_said_to_the_caller(listen, result, why):
    server = listen(f"def bad(): return {result}\n", {"GET /bad": "bad"})
    reply = server.ask("GET", "/bad")
    assert (reply.status, list(reply.json)) == (500, ["detail"])
    assert reply.json["detail"].startswith(why)
    assert why in server.messages


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_traceback_goes_to_the_log_and_never_to_the_caller(listen, app, kind):
    server = listen(
        f"{kind} work():\n    raise ValueError('secret')\n", {"GET /work": "work"}, RUNPOD_ENDPOINT_ID="e1"
    )
    reply = server.ask("GET", "/work")
    assert (reply.status, reply.json) == (500, {"detail": "Internal Server Error"})
    lines = server.messages.splitlines()
    begin = lines.index("GET /work failed.")
    assert lines[begin + 2] == f'  File "{app.directory}/main.py", line 2, in work'
    assert server.ask("GET", "/ping").status == 200


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_no_error_of_a_function_ends_the_server(listen, kind):
    errors = ["SystemExit(1)", "StopIteration()", "KeyboardInterrupt()", "asyncio.CancelledError()"]
    functions = [f"{kind} work{at}():\n    raise {error}\n" for at, error in enumerate(errors)]
    routes = {f"GET /{at}": f"work{at}" for at in range(len(errors))}
    server = listen("import asyncio\n\n" + "\n".join(functions), routes)
    for at, error in enumerate(errors):
        assert server.ask("GET", f"/{at}").status == 500, error
        assert server.ask("GET", "/ping").status == 200, error


def test_an_error_with_a_status_and_a_detail_is_what_the_caller_sees(listen):
    server = listen(
        """
        class HTTPException(Exception):
            def __init__(self, status_code, detail, headers=None):
                self.status_code, self.detail, self.headers = status_code, detail, headers

        def work(status: int):
            raise HTTPException(status, {"why": "none left"}, {"X-Left": "0"})
        """,
        {"GET /work": "work"},
    )
    reply = server.ask("GET", "/work?status=409")
    assert (reply.status, reply.json) == (409, {"detail": {"why": "none left"}})
    assert reply.headers["x-left"] == "0"
    assert server.ask("GET", "/work?status=200").status == 500


def test_response_objects_of_frameworks_are_sent_as_they_are(listen):
    server = listen(
        """
        class Response:
            def __init__(self, status_code, body, **headers):
                self.status_code, self.body, self.headers = status_code, body, headers

        class Stream:
            status_code = 200
            headers = {"Content-Type": "text/csv"}

            def __init__(self):
                self.body_iterator = self.rows()

            async def rows(self):
                yield "a,b\\n"
                yield b"1,2\\n"

        def image(): return Response(201, b"png", **{"Content-Type": "image/png", "Content-Length": "9"})
        def empty(): return Response(204, b"")
        def table(): return Stream()
        def bad(): return Response(200, b"", **{"X-Bad": "a\\r\\nb: c"})
        """,
        {f"GET /{name}": name for name in ("image", "empty", "table", "bad")},
    )
    image = server.ask("GET", "/image")
    assert (image.status, image.body, image.headers["content-type"]) == (201, b"png", "image/png")
    assert (server.ask("GET", "/empty").status, server.ask("GET", "/empty").body) == (204, b"")
    assert (server.ask("GET", "/table").body, server.ask("GET", "/table").headers["content-type"]) == (
        b"a,b\n1,2\n",
        "text/csv",
    )
    assert server.ask("GET", "/bad").status == 500


STREAMS = [
    ('"a", "é", b"c"', "aéc", "text/plain; charset=utf-8"),
    ('"data: 1\\n\\n", "data: 2\\n\\n"', "data: 1\n\ndata: 2\n\n", "text/event-stream"),
    ('{"n": 1}, "two", None', 'data: {"n":1}\n\ndata: "two"\n\ndata: null\n\n', "text/event-stream"),
    ('b"1", b"2"', "12", "application/octet-stream"),
]


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_generators_are_streamed(listen, kind):
    functions = [
        f"{kind} work{at}():\n    for value in ({values}):\n        yield value\n"
        for at, (values, _, _) in enumerate(STREAMS)
    ]
    server = listen("\n".join(functions), {f"GET /{at}": f"work{at}" for at in range(len(STREAMS))})
    for at, (_, body, content_type) in enumerate(STREAMS):
        reply = server.ask("GET", f"/{at}")
        assert (reply.body.decode(), reply.headers["content-type"]) == (body, content_type)
        assert reply.headers["transfer-encoding"] == "chunked"
        assert server.send(f"GET /{at} HTTP/1.0\r\n\r\n".encode()).endswith(b"\r\n\r\n" + body.encode())


def test_a_stream_is_sent_piece_by_piece_and_closed_when_its_reader_goes(listen, tmp_path):
    file = tmp_path / "closed"
    server = listen(
        f"""
        import asyncio, pathlib

        async def work():
            try:
                while True:
                    yield "x"
                    await asyncio.sleep(0.01)
            finally:
                pathlib.Path({str(file)!r}).touch()
        """,
        {"GET /work": "work"},
    )
    with server.connect() as peer:
        peer.sendall(b"GET /work HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while received.count(b"1\r\nx\r\n") < 2:
            received += peer.recv(1_000)
    while not file.exists():
        server.ask("GET", "/ping")


def test_a_stream_that_fails_does_not_look_complete(listen):
    server = listen(
        "def work(at: int):\n    for n in range(3):\n        if n == at:\n            raise ValueError\n        yield 'x'\n",
        {"GET /work": "work"},
    )
    assert server.ask("GET", "/work?at=0").status == 500
    answer = server.send(b"GET /work?at=2 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.endswith(b"1\r\nx\r\n1\r\nx\r\n")


def test_empty_streams_are_empty(listen):
    server = listen("async def work():\n    return\n    yield\n", {"GET /work": "work"})
    assert (server.ask("GET", "/work").status, server.ask("GET", "/work").body) == (200, b"")
