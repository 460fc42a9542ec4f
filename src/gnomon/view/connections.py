"""Connections that end when nothing comes: a browser that is gone must not hold one for ever."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE_S = 30.0
"""How long a request may take to arrive, its body too."""


def patient(patience_s: float) -> type[H11Protocol]:
    """Return the protocol of connections on which a request has to arrive within some time."""

    class Patient(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_request()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._await_request()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _await_request(self) -> None:
            self._stop()
            self._late = self.loop.call_later(patience_s, self._give_up)

        def _stop(self) -> None:
            if self._late is not None:
                self._late.cancel()

        def _give_up(self) -> None:
            answered = self.cycle is None or self.cycle.response_complete
            if answered or self.conn.their_state is h11.SEND_BODY:
                # It has nothing to say to, or nobody is there to hear.
                self.transport.abort()

    return Patient
