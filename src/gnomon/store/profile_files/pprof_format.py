"""The format of pprof: the numbers of fields, names of sample types, and how a file begins.

Source: google/pprof, proto/profile.proto.
"""

from __future__ import annotations

from typing import NoReturn

from gnomon.store.profile_files import profile_file
from gnomon.store.profile_files.protobuf import Wire

SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING = 1, 2, 3, 4, 5, 6
DROP_FRAMES, TIME, DURATION, PERIOD_TYPE, PERIOD, COMMENT = 7, 9, 10, 11, 12, 13
DEFAULT_SAMPLE_TYPE = 14
"""Fields of Profile."""
STACK, VALUES, LABEL = 1, 2, 3
"""Fields of Sample."""
LINE = 4
"""A field of Location."""
SAMPLES, COUNT = "samples", "count"
"""The sample type that says how many samples there are, and its unit."""
CPU = "cpu"
"""What Go, and pprof's own tools, call CPU time."""
EXPORTER = "gnomon "
"""How the first comment of a file begins that Gnomon has written."""
# Of each field of Profile whether it may be a number.
_IS_NUMBER = {
    **dict.fromkeys((SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING), (False,)),
    **dict.fromkeys((DROP_FRAMES, 8, TIME, DURATION, PERIOD, DEFAULT_SAMPLE_TYPE, 15), (True,)),
    PERIOD_TYPE: (False,),
    COMMENT: (True, False),
}


def is_pprof(start: bytes) -> bool:
    """Return whether a file begins as a profile does, packed or not: it has a sample type.

    Writers have the fields of a profile in any order.
    """
    if start.startswith(profile_file.GZIP):
        import zlib

        try:
            start = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(start, len(start))
        except zlib.error:
            return False
    try:
        for number, value, end in Wire(start, _end_sniffing).fields(0, len(start)):
            if (end < 0) not in _IS_NUMBER.get(number, ()):
                return False
            if number == SAMPLE_TYPE:
                return _is_value_type(start[value:end])
    except ValueError:
        pass
    return False


def _end_sniffing(offset: int, problem: str) -> NoReturn:
    raise ValueError(offset, problem)


def _is_value_type(content: bytes) -> bool:
    """Return whether a message has nothing but the numbers of the strings for type and unit."""
    fields = Wire(content, _end_sniffing).fields(0, len(content))
    return all(number in (1, 2) and end < 0 for number, _, end in fields)
