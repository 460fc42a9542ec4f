"""A real server of the view in a thread, and plain requests to it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from gnomon.view.array_codec import unpack
from gnomon.view.server import Server
from gnomon.view.session import Session

TOKEN = "a-token-of-the-tests"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The body as a header and typed arrays."""
        return unpack(self.body)


class Client:
    """Asks one server; `session` is what it has open."""

    def __init__(self, port: int, session: Session) -> None:
        self.port = port
        self.session = session

    def ask(
        self, path: str, *, method: str = "GET", token: str | None = TOKEN,
        headers: Mapping[str, str] | None = None, body: bytes | None = None,
    ) -> Answer:  # fmt: skip
        """Return the answer to a request that is sent exactly so."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {} if token is None else {"X-Gnomon-Token": token}
        try:
            connection.putrequest(
                method, path, skip_host="host" in (headers or {}), skip_accept_encoding=True
            )
            for name, value in {**sent, **(headers or {})}.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()},
                          answer.read())  # fmt: skip
        finally:
            connection.close()

    def post(self, path: str, content: object, **more: Any) -> Answer:
        """Return the answer to a POST of JSON."""
        headers = {"Content-Type": "application/json", **more.pop("headers", {})}
        body = json.dumps(content).encode()
        return self.ask(path, method="POST", headers=headers, body=body, **more)


@contextmanager
def serving(session: Session) -> Iterator[Client]:
    """Serve what a session has open, on a port of its own."""
    server = Server(session, token=TOKEN)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        client = Client(server.address.port, session)
        for _ in range(200):
            try:
                client.ask("/")
                break
            except OSError:
                time.sleep(0.02)
        yield client
    finally:
        server.stop()
        thread.join(30)
        session.end()
