"""A server that Prometheus scrapes: loopback unless told otherwise, and a token for every request.

Source: RFC 6750 (bearer tokens); OpenMetrics 1.0, section on content negotiation.
"""

from __future__ import annotations

import hmac
import io
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from gnomon.errors import GnomonError, UsageError
from gnomon.stat.openmetrics import OPENMETRICS, TEXT

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Request = socket.socket | tuple[bytes, socket.socket]
LOOPBACK = "127.0.0.1"
_PATH = "/metrics"
_SECONDS = 10
_AT_ONCE = 8
_LONGEST_PATH = 4096


def address(text: str) -> tuple[str, int]:
    """Return host and port of `[HOST:]PORT`; loopback where no host is named.

    Raises:
        UsageError: it is neither.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65536):
        raise UsageError(
            f"--listen {text!a}: must be [HOST:]PORT, with a port from 0 (any free one) to 65535"
        )
    if colon and not host:
        raise UsageError(
            f"--listen {text!a}: name the host, or leave the colon out for {LOOPBACK}; 0.0.0.0 is "
            "every address of this machine"
        )
    return host or LOOPBACK, int(port)


class MetricsServer:
    """Answers `GET /metrics` on a thread of its own until it is closed.

    Attributes:
        host, port: where it listens.
        is_loopback: only this machine can reach it.
    """

    def __init__(
        self,
        host: str,
        port: int,
        token: str,
        text: Callable[[bool], str],
        *,
        seconds: float = _SECONDS,
    ) -> None:
        """Listen, and begin to answer.

        Args:
            host: name or address.
            port: 0 for any that is free.
            token: what a request must have.
            text: returns the metrics, as OpenMetrics for True; called on threads of the server.
            seconds: how long a client may take to ask, and then to take the answer.

        Raises:
            GnomonError: it cannot listen there.
        """
        try:
            family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._server = _Http((str(where[0]), port), _handler(token, text, seconds), family)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise GnomonError(
                f"--listen {host}:{port}: {why}; give another port, or 0 for any free one"
            ) from None
        self.host, self.port = str(self._server.server_address[0]), self._server.server_address[1]
        self.is_loopback = self.host.startswith("127.") or self.host == "::1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 3600}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{_PATH}"

    def close(self) -> None:
        """Stop listening."""
        # Its loop looks for the end of its serving once in its interval: closing the socket of
        # a daemon thread is enough, and the process ends.
        self._server.socket.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self,
        where: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        family: socket.AddressFamily,
    ) -> None:
        self.address_family = family
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__(where, handler)

    def server_bind(self) -> None:
        """Bind, and spare the look-up of our own name, which may take as long as a name server."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Request, client_address: object) -> None:
        # Who opens connections and says nothing must not cost a thread each.
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Request, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Request, client_address: object) -> None:
        """Say nothing: a client that goes away is its own business."""


class _Asking(io.RawIOBase):
    """What a client says, until its time is up: a byte now and then gives it no more of it."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(into)


def _handler(
    token: str, text: Callable[[bool], str], seconds: float
) -> type[BaseHTTPRequestHandler]:
    wanted = token.encode()

    class Handler(BaseHTTPRequestHandler):
        server_version = "gnomon"
        sys_version = ""

        def setup(self) -> None:
            super().setup()
            self.rfile.close()
            self.rfile = io.BufferedReader(_Asking(self.connection, seconds))

        def do_GET(self) -> None:
            self._answer(has_body=True)

        def do_HEAD(self) -> None:
            self._answer(has_body=False)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: requests come every few seconds, and their URLs hold the token."""

        def _answer(self, *, has_body: bool) -> None:
            where = urlsplit(self.path[:_LONGEST_PATH])
            if not self._is_allowed(where.query):
                self._send(401, TEXT, "a token is needed: Authorization: Bearer TOKEN\n", has_body)
                return
            if where.path != _PATH:
                self._send(404, TEXT, f"nothing here; the metrics are at {_PATH}\n", has_body)
                return
            is_open = "application/openmetrics-text" in self.headers.get("Accept", "")
            self._send(200, OPENMETRICS if is_open else TEXT, text(is_open), has_body)

        def _is_allowed(self, query: str) -> bool:
            kind, _, given = self.headers.get("Authorization", "").partition(" ")
            if kind.lower() == "bearer" and _same(given.strip(), wanted):
                return True
            return any(_same(one, wanted) for one in parse_qs(query).get("token", ()))

        def _send(self, status: int, kind: str, body: str, has_body: bool) -> None:
            data = body.encode()
            self.connection.settimeout(seconds)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            if status == 401:
                self.send_header("WWW-Authenticate", 'Bearer realm="gnomon"')
            self.end_headers()
            if has_body:
                self.wfile.write(data)

    return Handler


def _same(given: str, wanted: bytes) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted)


def make_token() -> str:
    """Return a new token."""
    import secrets

    return secrets.token_urlsafe(24)


def read_token(path: str) -> str:
    """Return the token of a file, which is made with a new one where there is none.

    Raises:
        GnomonError: it cannot be read or made, is empty, or others may read it.
    """
    import os

    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read_token(path)
    except OSError as error:
        raise GnomonError(f"{path}: cannot be made: {error.strerror}") from None
    token = make_token()
    with os.fdopen(fd, "w") as file:
        file.write(token + "\n")
    return token


def _read_token(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read(4097).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise GnomonError(f"{path}: the token cannot be read: {why}") from None
    if not 16 <= len(token) <= 4096 or not token.isascii() or not token.isprintable():
        raise GnomonError(
            f"{path}: a token has 16 to 4096 characters on one line; remove the file, and a new "
            "one is made"
        )
    return token
