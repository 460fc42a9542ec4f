"""Connections that end when nothing moves: a browser that is gone must not hold one for ever."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE_S = 30.0
"""How long a request may take to arrive, its body too; and an answer, until more of it is read."""

CONNECTIONS_MOST = 128
"""Open at once, and answers with them: a page has six at most. More are told to come later."""


def patient(patience_s: float) -> type[H11Protocol]:
    """Return the protocol of connections that end where nothing moves for some time."""

    class Patient(H11Protocol):
        _late: asyncio.TimerHandle | None = None
        _unread_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._stop()
            self._unread_bytes = self.transport.get_write_buffer_size()
            self._late = self.loop.call_later(patience_s, self.look)

        def _stop(self) -> None:
            if self._late is not None:
                self._late.cancel()

        def look(self) -> None:
            """End the connection if nothing has moved since the last look."""
            unread = self.transport.get_write_buffer_size()
            if unread:
                if unread < self._unread_bytes:
                    self._wait()
                else:
                    self.transport.abort()
                return
            answered = self.cycle is None or self.cycle.response_complete
            if answered or self.conn.their_state is h11.SEND_BODY:
                # It has nothing to say to, or nobody is there to hear.
                self.transport.abort()

    return Patient
