"""Connections to the view: those on which nothing comes end, large answers are compressed."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.responses import Response, StreamingResponse
from uvicorn.server import ServerState
from view_runs import ranks
from view_server import TOKEN, Client, serving

from gnomon.view.connections import CONNECTIONS_MOST, patient
from gnomon.view.server import Server
from gnomon.view.session import Session

PATIENCE_S = 0.5


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Serve with little patience."""
    server = Server(Session(), token=TOKEN, patience_s=PATIENCE_S)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server.address.port
    server.stop()
    thread.join(30)


HEAD = f"Host: 127.0.0.1\r\nX-Gnomon-Token: {TOKEN}\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET /api/state HTTP/1.1\r\nHost: 127",
        f"POST /api/open HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\n"
        "Content-Length: 20\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_half_open_connections_end(port: int, sent: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(sent.encode())
        with suppress(ConnectionResetError):
            assert connection.recv(1000) == b""


def test_a_request_after_another_is_answered() -> None:
    # With the usual patience: this process may have to wait for a CPU between two requests.
    with serving(Session()) as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        for _ in range(3):
            connection.request("GET", "/api/folder?path=/", headers={"X-Gnomon-Token": TOKEN})
            answer = connection.getresponse()
            assert (answer.status, answer.read()[:1]) == (200, b"{")
        connection.close()


def asked(client: Client, path: str, encoding: str) -> tuple[str, bytes]:
    answer = client.ask(path, headers={"Accept-Encoding": encoding})
    assert answer.status == 200
    return answer.headers.get("content-encoding", ""), answer.body


def test_large_answers_are_compressed_and_small_ones_not(tmp_path: Path) -> None:
    session = Session()
    session.open([str(ranks(tmp_path / "run", threads=40, count=100))])
    with serving(session) as client:
        path = "/api/runs/1/tree?by=rank"
        kind, packed = asked(client, path, "gzip, br")
        assert kind == "gzip"
        plain_kind, plain = asked(client, path, "identity")
        assert plain_kind == ""
        assert gzip.decompress(packed) == plain
        assert len(packed) < len(plain) / 4
        assert asked(client, "/api/runs/1/tables", "gzip")[0] == ""


def test_more_connections_than_it_keeps_are_told_to_come_later() -> None:
    with serving(Session()) as client, ExitStack() as idle:
        for _ in range(CONNECTIONS_MOST):
            idle.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=60))
        assert client.ask("/api/state").status == 503
        idle.close()
        while client.ask("/api/state").status == 503:
            time.sleep(0.01)
        assert client.ask("/api/state").status == 200


# More than the kernel keeps of a connection for who does not read.
AT_ONCE_BYTES = 64 << 20
AT_ONCE = Response(bytes(AT_ONCE_BYTES))
WITHOUT_END = StreamingResponse(itertools.repeat(bytes(1 << 16)))


class Asked:
    """A client that has begun to read what a server in its own loop answers."""

    def __init__(self, answer: Response, patience_s: float) -> None:
        config = uvicorn.Config(answer, lifespan="off", log_level="critical")
        config.load()
        self.state = ServerState()
        self._protocol: Any = partial(patient(patience_s), config, self.state, {})

    async def __aenter__(self) -> Asked:
        self.loop = asyncio.get_running_loop()
        self.server = await self.loop.create_server(self._protocol, "127.0.0.1", 0)
        self.socket = socket.socket()
        self.socket.setblocking(False)
        await self.loop.sock_connect(self.socket, self.server.sockets[0].getsockname())
        await self.loop.sock_sendall(self.socket, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        self.size = await self.read()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.socket.close()
        self.server.close()
        while self.state.connections:
            await asyncio.sleep(0.001)

    async def read(self) -> int:
        """Return how many bytes were read."""
        return len(await self.loop.sock_recv(self.socket, 1 << 20))


@pytest.mark.parametrize("answer", [AT_ONCE, WITHOUT_END], ids=["at once", "without end"])
def test_who_does_not_read_the_answer_is_left(answer: Response) -> None:
    async def stalled() -> None:
        async with Asked(answer, PATIENCE_S) as asked:
            while asked.state.connections:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(stalled(), 120))


def test_who_reads_slowly_is_waited_for() -> None:
    async def slow() -> None:
        async with Asked(AT_ONCE, 3600) as asked:
            protocol: Any = next(iter(asked.state.connections))
            size = asked.size
            while left := protocol.transport.get_write_buffer_size():
                while left == protocol.transport.get_write_buffer_size():
                    size += await asked.read()
                    await asyncio.sleep(0)
                if protocol.transport.get_write_buffer_size():
                    protocol.look()
                    assert not protocol.transport.is_closing()
            while size < AT_ONCE_BYTES and (more := await asked.read()):
                size += more
            assert size >= AT_ONCE_BYTES

    asyncio.run(asyncio.wait_for(slow(), 120))
