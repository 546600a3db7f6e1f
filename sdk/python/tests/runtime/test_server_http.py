"""The HTTP of a load-balanced worker, as clients of all kinds speak it."""

from __future__ import annotations

import concurrent.futures
import http.client
import os
import random
import socket
from urllib.parse import quote

import pytest
from worker_process import WAIT_S, Server, Worker, free_port, read_all

ECHO = """
    import threading

    arrived = threading.Barrier(200)

    def echo(text: str):
        return text

    def size(data: bytes):
        return len(data)

    def meet():
        arrived.wait(20)
        return "met"

    async def quick(number: int):
        return number
"""
ROUTES = {
    "GET /echo": "echo",
    "POST /echo": "echo",
    "POST /size": "size",
    "GET /meet": "meet",
    "GET /quick": "quick",
}
PING = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(scope="module")
def echo(listen_for_all):
    return listen_for_all(ECHO, ROUTES)


def statuses(answers: bytes) -> list[int]:
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def test_a_connection_serves_one_request_after_the_other(echo):
    connection = http.client.HTTPConnection("127.0.0.1", echo.port, timeout=WAIT_S)
    for number in range(5):
        connection.request("GET", f"/quick?number={number}")
        sock = connection.sock
        assert connection.getresponse().read() == str(number).encode()
        assert connection.sock is sock
    connection.close()


def test_requests_that_come_together_are_answered_in_order(echo):
    requests = b"".join(f"GET /quick?number={n} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for n in range(50))
    answers = echo.send(requests)
    bodies = [part.split(b"\r\n\r\n")[1] for part in answers.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [str(n).encode() for n in range(50)]


def test_chunked_bodies_are_understood(echo):
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b'5;ext="1"\r\n{"tex\r\n00005\r\nt":"a\r\n2\r\n"}\r\n0\r\nTrailer: x\r\n\r\n'
    answers = echo.send(head + body + PING)
    assert statuses(answers) == [200, 200]
    assert b'"a"' in answers


def test_a_client_that_waits_for_100_is_told_to_go_on(echo):
    with echo.connect() as peer:
        peer.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n")
        assert peer.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(b'{"text":"y"}')
        assert peer.recv(1_000).endswith(b'"y"')


def test_a_body_that_is_too_large_is_rejected_before_it_is_sent(echo):
    with echo.connect() as peer:
        peer.sendall(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 30000001\r\nExpect: 100-continue\r\n\r\n"
        )
        peer.shutdown(socket.SHUT_WR)
        assert statuses(read_all(peer)) == [413]


def test_a_body_that_is_too_large_is_rejected_while_it_is_sent(echo):
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"989680\r\n" + b"x" * 10_000_000 + b"\r\n"
    with echo.connect() as peer:
        peer.sendall(head)
        for _ in range(3):
            peer.sendall(chunk)
        peer.sendall(b"1\r\n")
        assert statuses(read_all(peer)) == [413]


def test_bodies_of_30_mb_arrive(echo):
    form = b'--b\r\nContent-Disposition: form-data; name="data"; filename="f"\r\n\r\n%b\r\n--b--\r\n'
    content = os.urandom(1_000) * 29_999
    reply = echo.ask("POST", "/size", form % content, content_type="multipart/form-data; boundary=b")
    assert reply.json == len(content)


def test_200_requests_run_at_a_time(echo):
    with concurrent.futures.ThreadPoolExecutor(200) as clients:
        replies = list(clients.map(lambda _: echo.ask("GET", "/meet").json, range(200)))
    assert replies == ["met"] * 200


def test_requests_of_http_1_0_are_answered_and_the_connection_closed(echo):
    answer = echo.send(b"GET /quick?number=1 HTTP/1.0\r\n\r\n" + PING)
    assert statuses(answer) == [200]
    assert b"connection: close" in answer


def test_a_client_may_ask_to_close(echo):
    answer = echo.send(PING.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n") + PING)
    assert statuses(answer) == [200]


def test_targets_may_be_whole_addresses_and_hold_escapes(echo):
    assert statuses(echo.send(b"GET http://host:1/ping HTTP/1.1\r\nHost: x\r\n\r\n")) == [200]
    assert statuses(echo.send(b"GET /p%69ng?x HTTP/1.1\r\nHost: x\r\n\r\n")) == [404]
    assert echo.ask("GET", "/echo?text=" + quote("ä b+&")).json == "ä b+&"


@pytest.mark.parametrize(
    ("status", "request_"),
    [
        (400, b"nonsense\r\n\r\n"),
        (400, b"GET /ping\r\n\r\n"),
        (400, b"GET  /ping HTTP/1.1\r\nHost: x\r\n\r\n"),
        (400, b"GET /ping HTTP/1.1\r\n\r\n"),
        (400, b"GET /ping HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
        (400, b"GET /ping HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n"),
        (400, b"GET /ping HTTP/1.1\r\nHost : x\r\n\r\n"),
        (400, b"GET /ping HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n"),
        (400, b"GET /ping HTTP/1.1\nHost: x\n\n"),
        (400, b"GET /ping HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n"),
        (400, b"GET /p\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n"),
        (400, b"GET ping HTTP/1.1\r\nHost: x\r\n\r\n"),
        (400, b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
        (400, b"CONNECT host:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
        (505, b"PRI * HTTP/2.0\r\n\r\n"),
        (400, b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        (400, b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
        (400, b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1_0\r\n\r\n"),
        (400, b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (501, b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        (400, b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (400, b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        (400, b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n"),
        (400, b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 70_000),
        (413, b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"),
        (431, b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
        (431, b"GET /ping HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 20_000 + b"\r\n"),
        (400, b"GET /ping HTTP/1.1\r\nHost: x"),
    ],
)  # fmt: skip
def test_what_is_no_request_is_rejected_and_its_connection_closed(echo, status, request_):
    answers = echo.send(request_ + PING)
    assert statuses(answers) == [status]
    assert b'{"detail":"' in answers
    assert echo.ask("GET", "/ping").status == 200


def test_a_request_that_breaks_off_leaves_no_trace(echo):
    assert echo.send(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab") == b""
    assert echo.send(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab") == b""
    assert echo.send(b"") == b""
    assert echo.output.count("\n") == 1


def test_random_requests_never_break_the_server(echo):
    source = random.Random(2026)
    seeds = [
        PING,
        b'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{"text":"y"}',
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"GET /quick?number=%31&x=%zz HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
        b'POST /size HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 66\r\n\r\n'
        b'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\nx\r\n--b--\r\n',
    ]  # fmt: skip
    for _ in range(600):
        request = bytearray(source.choice(seeds) + source.choice(seeds + [b""]))
        for _ in range(source.randrange(1, 6)):
            mutate(request, source)
        answers = echo.send(bytes(request))
        assert answers == b"" or answers.startswith(b"HTTP/1.1 ")
        assert 500 not in statuses(answers)
    assert echo.ask("GET", "/ping").status == 200
    assert "failed" not in echo.output


def mutate(request: bytearray, source: random.Random) -> None:
    place = source.randrange(len(request)) if request else 0
    match source.randrange(4):
        case 0 if request:
            request[place] = source.randrange(256)
        case 1:
            request[place:place] = source.choice(
                [b"\r\n", b"\n", b"\0", b":", b" ", b"\r\n\r\n", b"%", b"\xff\xfe"]
            )
        case 2:
            del request[place : place + source.randrange(1, 20)]
        case 3:
            request[place:place] = request[place : place + source.randrange(1, 40)]


# Ports and the end


def test_health_has_a_port_of_its_own_where_it_is_asked_for(listen):
    port = free_port()
    server = listen(ECHO, ROUTES, PORT_HEALTH=str(port), HEALTH_CHECK_PATH="/healthz")
    assert server.ask("GET", "/healthz", port=port).json == {"status": "healthy"}
    assert server.ask("GET", "/quick?number=1", port=port).status == 404
    assert server.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"PORT": "0"}, "PORT is '0'; it must be a port from 1 to 65535."),
        ({"PORT": "x"}, "PORT is 'x'; it must be"),
        ({"PORT_HEALTH": "70000"}, "PORT_HEALTH is '70000'; it must be"),
    ],
)
def test_ports_that_are_none_are_named(listen, environment, message):
    with pytest.raises(AssertionError, match="does not listen") as raised:
        listen(ECHO, ROUTES, **environment)
    assert message in str(raised.value)


def test_a_port_that_is_taken_is_named(app):
    app.write("main.py", ECHO)
    app.balanced("api", ROUTES)
    with socket.create_server(("0.0.0.0", 0)) as other:
        port = other.getsockname()[1]
        worker = Worker(app, {"PORT": str(port), "FLASH_RESOURCE_NAME": "api"})
        assert worker.wait() == 1
    assert worker.messages == f"Port {port} cannot be listened on: Address already in use."


def test_an_endpoint_without_routes_does_not_start(listen):
    with pytest.raises(AssertionError, match="The manifest has no routes for 'api'"):
        listen(ECHO, {})


def test_sigterm_ends_idle_connections_and_lets_requests_end(listen, tmp_path):
    file = tmp_path / "go"
    server = listen(
        f"""
        import pathlib, time

        def slow():
            print("begun")
            while not pathlib.Path({str(file)!r}).exists():
                time.sleep(0.01)
            return "done"
        """,
        {"GET /slow": "slow"},
    )
    with server.connect() as idle, server.connect() as busy:
        busy.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        while "begun" not in server.output:
            server.ask("GET", "/ping")
        server.terminate()
        assert reads_nothing_more(idle)
        assert refuses(server)
        file.touch()
        answer = read_all(busy)
    assert answer.endswith(b'"done"')
    assert b"connection: close" in answer
    assert server.wait() == 0


def reads_nothing_more(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True


def refuses(server: Server) -> bool:
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_process_that_a_function_forks_ends_without_the_server(listen):
    server = listen(
        """
        import multiprocessing, time

        def work():
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,))
            child.start()
            child.terminate()
            child.join(20)
            return child.exitcode
        """,
        {"GET /work": "work"},
    )
    assert server.ask("GET", "/work").json == -15
    assert server.ask("GET", "/work").json == -15


def test_a_client_that_goes_ends_its_request_and_leaves_no_trace(listen):
    server = listen(
        """
        import asyncio, threading

        ended = []
        reached = threading.Event()

        async def wait():
            reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("wait")

        async def stream():
            try:
                yield "first"
                await asyncio.Event().wait()
            finally:
                ended.append("stream")

        def begun():
            return reached.wait(20)

        async def told():
            while len(ended) < 2:
                await asyncio.sleep(0.01)
            return sorted(ended)
        """,
        {"GET /wait": "wait", "GET /stream": "stream", "GET /begun": "begun", "GET /told": "told"},
    )
    waiting = socket.create_connection(("127.0.0.1", server.port), WAIT_S)
    waiting.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
    streaming = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_S)
    streaming.request("GET", "/stream")
    assert streaming.getresponse().read(5) == b"first"
    assert server.ask("GET", "/begun").json is True
    waiting.close()
    streaming.close()
    assert server.ask("GET", "/told").json == ["stream", "wait"]
    assert "Traceback" not in server.messages
