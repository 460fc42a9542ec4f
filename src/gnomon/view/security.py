"""Who may send requests: a client with the token, on this machine, from our own page.

- The server listens on loopback, and the kernel tells it whose each connection is: only the user
  who started it, and root, get an answer.
- Every request needs the token, in the address at first, then as a cookie that scripts cannot read
  and other sites' pages do not send.
- A name in `Host` that is not the loopback's own is refused: a page of another site whose name
  somebody lets point to 127.0.0.1 gets nothing, token or not.
- Requests that change something must come from our own page (`Origin`), as JSON.
- The page runs nothing but its own files (Content-Security-Policy) and is in no frame.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gnomon.view.peer_credentials import user_of

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_BODY_LIMIT_BYTES = 1 << 20
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_ENTER = "/enter.js"
_SCRIPT = "location.replace(location.pathname + location.hash);\n"
_PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Gnomon</title>
<script src="{_ENTER}"></script>
<noscript>The page needs scripts, its own ones alone.</noscript></html>
"""
NONCE = "GNOMON_NONCE"
"""What the built page has where the nonce of each answer belongs."""


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy of a page whose styles may have a nonce."""
    return _POLICY.format(nonce=nonce)


class Guard:
    """Refuses every request without the token, with a foreign `Host` or `Origin`, or too large."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to the app."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        if scope["path"] == _ENTER:
            script = Response(_SCRIPT, media_type="text/javascript")
            await script(scope, receive, _with_headers(send))
            return
        if scope["method"] == "GET" and "token" in _query(scope):
            # The token goes into a cookie and out of the address, its history and screenshots.
            # By a page: after a redirect that began elsewhere browsers send no strict cookie.
            page = Response(_PAGE, media_type="text/html")
            page.set_cookie(
                cookie_name(headers), self._token, httponly=True, samesite="strict", path="/"
            )
            await page(scope, receive, _with_headers(send))
            return
        await self._app(scope, _limited(receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or _name(host) not in _LOOPBACK:
            return refused(403, "this server answers to 127.0.0.1, [::1] and localhost alone")
        owner = _owner(scope)
        if owner not in (None, os.getuid(), 0):
            return refused(
                403, f"this page belongs to another user; you are user {owner} of this machine"
            )
        if not self._has_token(scope, headers):
            return refused(
                403, "the token is missing or wrong; open the address that gnomon view printed"
            )
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
                return refused(403, "requests of other sites' pages are refused")
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return refused(415, "the body has to be JSON")
            length = headers.get("content-length", "")
            if not length.isdigit() or int(length) > _BODY_LIMIT_BYTES:
                return refused(413, f"a body has {_BODY_LIMIT_BYTES} bytes at most")
        return None

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        offered = [_query(scope).get("token"), headers.get("x-gnomon-token")]
        offered += _cookies(headers, cookie_name(headers))
        wanted = self._token.encode()
        return any(secrets.compare_digest(one.encode(), wanted) for one in offered if one)


def _query(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1")))


def _owner(scope: Scope) -> int | None:
    """Return the user at the other end, None where the kernel does not tell."""
    client, server = scope.get("client"), scope.get("server")
    return user_of(tuple(client), tuple(server)) if client and server else None


def cookie_name(headers: Mapping[str, str]) -> str:
    """Return the cookie's name, which has the port: browsers keep cookies of all ports together."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"gnomon-{port if port.isdigit() else '80'}"


def refused(status: int, why: str) -> JSONResponse:
    """Return an answer that says why there is none."""
    return JSONResponse({"error": why}, status)


def _name(host: str) -> str:
    """Return the name in a `Host`, without its port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def _cookies(headers: Headers, name: str) -> list[str]:
    values = []
    for line in headers.getlist("cookie"):
        for part in line.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                values.append(value.strip('"'))
    return values


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Content-Security-Policy", policy("none"))
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending


def _limited(receive: Receive) -> Receive:
    """Return a body that ends where it has become too large, whatever its length was said to be."""
    read = 0

    async def receiving() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > _BODY_LIMIT_BYTES:
            return {"type": "http.disconnect"}
        return message

    return receiving
