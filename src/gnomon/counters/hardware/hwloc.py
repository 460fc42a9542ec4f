"""What hwloc, where it is installed, sees of this machine: a second opinion on the topology.

It is loaded only when asked for. Source: hwloc.h of hwloc 2 (libhwloc.so.15), hwloc2.dtd.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_LIBRARY = "libhwloc.so.15"
_MOST_BYTES = 1 << 26


class Hwloc(NamedTuple):
    """What hwloc found.

    Attributes:
        version: of its interface, "" where it is not available.
        counts: how many objects of each type there are, outermost first.
        cache_bytes: the total size of the caches by type ("L2": bytes).
        unknown: why it says nothing.
    """

    version: str
    counts: tuple[tuple[str, int], ...]
    cache_bytes: tuple[tuple[str, int], ...]
    unknown: str = ""


def hwloc() -> Hwloc:
    """Return this machine's topology as hwloc sees it."""
    try:
        library = ctypes.CDLL(_LIBRARY)
        library.hwloc_get_api_version.restype = ctypes.c_uint
        number = library.hwloc_get_api_version()
    except (OSError, AttributeError) as error:
        return Hwloc("", (), (), f"hwloc 2 is not installed ({error})")
    version = f"{number >> 16}.{number >> 8 & 0xFF}"
    xml = _export(library)
    if xml is None:
        return Hwloc(version, (), (), "hwloc could not look at this machine")
    return parse(version, xml)


def parse(version: str, xml: bytes) -> Hwloc:
    """Return the content of an exported topology (hwloc's XML)."""
    from xml.etree.ElementTree import ParseError, fromstring

    if len(xml) > _MOST_BYTES or b"<!ENTITY" in xml:
        return Hwloc(version, (), (), "hwloc's XML is none that it would write")
    try:
        tree = fromstring(xml.rstrip(b"\0"))
    except ParseError as error:
        return Hwloc(version, (), (), f"hwloc's XML cannot be read: {error}")
    counts: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for topology_object in _objects(tree):
        kind = topology_object.get("type", "")
        counts[kind] = counts.get(kind, 0) + 1
        size = topology_object.get("cache_size", "")
        if size.isascii() and size.isdigit() and len(size) <= 20:
            sizes[kind] = sizes.get(kind, 0) + int(size)
    return Hwloc(version, tuple(counts.items()), tuple(sizes.items()))


def _objects(tree: Element) -> Iterator[Element]:
    """Yield the objects level by level, so that the outermost come first."""
    level = [one for one in tree if one.tag == "object"]
    while level:
        yield from level
        level = [inner for one in level for inner in one if inner.tag == "object"]


def _export(library: ctypes.CDLL) -> bytes | None:
    topology = ctypes.c_void_p()
    if library.hwloc_topology_init(ctypes.byref(topology)) < 0:
        return None
    try:
        if library.hwloc_topology_load(topology) < 0:
            return None
        text, size = ctypes.c_void_p(), ctypes.c_int()
        failed = library.hwloc_topology_export_xmlbuffer(
            topology, ctypes.byref(text), ctypes.byref(size), ctypes.c_ulong(0)
        )
        if failed < 0 or not text.value:
            return None
        xml = ctypes.string_at(text.value, size.value)
        library.hwloc_free_xmlbuffer(topology, text)
        return xml
    finally:
        library.hwloc_topology_destroy(topology)
