"""Items as bytes: rank files, and what goes to and from plug-ins in other processes.

native/hpm/item_codec.h has the layout, and its C reads and writes it here, too. A file may hold
several, one after the other.
"""

from __future__ import annotations

from gnomon import _core
from gnomon.measurement.items import EventInfo, Item, RankFile, Spread

MAGIC = _core.ITEMS_MAGIC.encode()
BYTES_MAX = _core.ITEMS_BYTES_MAX
"""What no measurement has more of; writers and readers refuse it."""

_TYPES = (RankFile, Item, EventInfo, Spread)


def encoded(file: RankFile) -> bytes:
    """Encode a rank's measurement as bytes, in this machine's byte order.

    Raises:
        ValueError: a member has no room in the layout; the message names it.
    """
    return _core.items_write(file)


def decoded(content: bytes, name: str, offset: int = 0) -> tuple[RankFile, int]:
    """Decode a rank's measurement; return it and the offset behind it.

    Args:
        content: bytes of one or several files.
        name: of the file, for messages.
        offset: where it begins.

    Raises:
        FormatError: it is truncated, damaged, of another kind or version; says at which byte.
    """
    return _core.items_read(_TYPES, content, name, offset)


def owner_of(content: bytes, name: str) -> tuple[int, int, float]:
    """Return the task and process that a file is of, and when that began, without its items.

    Raises:
        FormatError: as `decoded`.
    """
    return _core.items_owner(content, name)
