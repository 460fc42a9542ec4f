"""The server: one process on loopback, for as long as a page is open."""

from __future__ import annotations

import errno
import secrets
import socket
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from gnomon.errors import UsageError, ViewError
from gnomon.named_tuple import NamedTuple
from gnomon.view.api import routes
from gnomon.view.connections import CONNECTIONS_MOST, PATIENCE_S, patient
from gnomon.view.security import NONCE, Guard, policy, refused
from gnomon.view.session import Session

HOSTS = ("127.0.0.1", "::1")
"""Where it listens: the first of them that the machine has."""
STATIC = Path(__file__).with_name("static")
_TYPES = {
    ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2",
    ".woff": "font/woff", ".png": "image/png", ".map": "application/json",
    ".wasm": "application/wasm", ".txt": "text/plain; charset=utf-8",
}  # fmt: skip
# What is smaller goes as it is. The least effort: on loopback it costs more than it saves, over ssh
# a tree of 100,000 nodes is a tenth.
_COMPRESSED_BYTES = 1 << 15
_EFFORT = 1
# Names of built files have a digest of their content in them.
_FOREVER = "private, max-age=31536000, immutable"


class Address(NamedTuple):
    """Where a server listens (`host` as addresses have it), and the address that lets one in."""

    host: str
    port: int
    url: str


def application(session: Session, token: str) -> ASGIApp:
    """Return the app: the API and the page, behind the guard.

    Raises:
        ViewError: the page was not built.
    """
    page = STATIC / "index.html"
    if not page.is_file():
        raise ViewError(
            f"{page}: the page is missing; install Gnomon again, or build it with make build"
        )
    text = page.read_text(encoding="utf-8")
    files = {
        file.relative_to(STATIC).as_posix(): file for file in STATIC.rglob("*") if file.is_file()
    }

    async def index(_: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        return Response(
            text.replace(NONCE, nonce),
            media_type="text/html",
            headers={"Content-Security-Policy": policy(nonce)},
        )

    async def static(request: Request) -> Response:
        # Only what was there at the start, by its exact name: no path is ever put together.
        file = files.get(request.path_params["name"])
        if file is None or file == page:
            return refused(404, "no such page")
        kind = _TYPES.get(file.suffix, "application/octet-stream")
        kept = {"Cache-Control": _FOREVER} if file.parent.name == "assets" else {}
        return FileResponse(file, media_type=kind, headers=kept)

    async def nothing(_: Request, __: Exception) -> Response:
        return refused(404, "no such address")

    async def broken(_: Request, error: Exception) -> Response:
        return refused(500, f"internal error: {type(error).__name__}; please report this bug")

    app = Starlette(
        routes=[Route("/", index), *routes(session), Route("/{name:path}", static)],
        exception_handlers={404: nothing, 500: broken},
    )
    return Guard(GZipMiddleware(app, _COMPRESSED_BYTES, _EFFORT), token)


class Server:
    """A server that listens when it is made, and answers while it runs."""

    def __init__(
        self, session: Session, port: int = 0, token: str = "", patience_s: float = PATIENCE_S
    ) -> None:
        """Listen on loopback; connections on which nothing moves for `patience_s` end.

        Raises:
            UsageError: the port is taken or not allowed.
            ViewError: the page was not built.
        """
        token = token or secrets.token_urlsafe(32)
        app = application(session, token)
        self._socket = _listening(port)
        name, number = self._socket.getsockname()[:2]
        host = f"[{name}]" if ":" in name else name
        self.address = Address(host, number, f"http://{host}:{number}/?token={token}")
        self._server = uvicorn.Server(
            uvicorn.Config(
                app, log_level="critical", access_log=False, server_header=False,
                date_header=False, lifespan="off", ws="none", timeout_graceful_shutdown=1,
                proxy_headers=False, http=patient(patience_s),
                h11_max_incomplete_event_size=1 << 16, limit_concurrency=CONNECTIONS_MOST,
            )
        )  # fmt: skip

    def run(self) -> None:
        """Answer until a signal ends it."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Let `run` return soon; may be called from another thread."""
        self._server.should_exit = True


def _listening(port: int) -> socket.socket:
    for host in HOSTS:
        try:
            return _bound(host, port)
        except OSError as error:
            why = error
            # Without an address of this kind there may be one of the other.
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                break
    if why.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
        raise UsageError(
            f"this machine has neither {' nor '.join(HOSTS)}; bring its loopback up: "
            "ip link set lo up"
        )
    raise UsageError(f"--port {port}: cannot listen there: {why.strerror}; choose another, or none")


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except OSError:
        listener.close()
        raise
    return listener
