"""Whose connection it is: the kernel tells the user of a socket on the same machine.

Every process of a machine can connect to its loopback, and a command line, where an address with
its token may stand while a browser starts, can be read by all users.

Source: sock_diag(7), inet_diag_req_v2 and inet_diag_msg in linux/inet_diag.h.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST = 1
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
# Family, protocol, extensions, padding, states; the socket is ports, addresses, interface, cookie.
_ASKED = struct.Struct("=BBBBI")
_SOCKET = struct.Struct("=2s2s16s16sIII")
_TOLD = struct.Struct("=BBBB48sIIIII")
_BUFFER_BYTES = 8192
_PATIENCE_S = 1.0


def user_of(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the number of the user who has the client's end of a TCP connection.

    None where the kernel does not tell: there is no such connection, or it has no socket
    diagnostics.

    Args:
        client: address and port of the end that connected.
        server: address and port of the end that listened.
    """
    try:
        family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
        ends = [
            (struct.pack("!H", port), socket.inet_pton(family, host).ljust(16, b"\0"))
            for host, port in (client, server)
        ]
        asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE)
        asked += _SOCKET.pack(
            ends[0][0], ends[1][0], ends[0][1], ends[1][1], 0, _NO_COOKIE, _NO_COOKIE
        )
        whole = _HEADER.pack(_HEADER.size + len(asked), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_PATIENCE_S)
            kernel.sendto(whole + asked, (0, 0))
            answer = kernel.recv(_BUFFER_BYTES)
    except (OSError, struct.error):
        return None
    with suppress(struct.error):
        _, kind, _, _, _ = _HEADER.unpack_from(answer)
        told = _TOLD.unpack_from(answer, _HEADER.size)
        if kind == _SOCK_DIAG_BY_FAMILY and told[4][:4] == ends[0][0] + ends[1][0]:
            return int(told[8])
    return None
