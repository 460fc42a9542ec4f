"""Connections to the view: those on which nothing comes end, large answers are compressed."""

from __future__ import annotations

import gzip
import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from view_runs import ranks
from view_server import TOKEN, Client, serving

from gnomon.view.app import Server
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
