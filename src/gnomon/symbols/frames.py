"""The frames of a module's addresses, as columns: what gnomon-symbols answers, and the cache keeps.

addresses   uint64, ascending, each once
first       uint32, one more than addresses: the first frame of each, then the end
frames      FRAME, those of an address one after the other, innermost first
texts       the texts that `function` and `file` number, 0 is ""
"""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    Addresses = npt.NDArray[np.uint64]
    Numbers = npt.NDArray[np.uint32]

IS_INLINED = 1
IS_FROM_BOUNDS = 2
FRAME_FIELDS = (
    ("start", "u8"), ("function", "u4"), ("file", "u4"), ("line", "u4"), ("flags", "u4")
)  # fmt: skip


class Frame(NamedTuple):
    """A function that an address is in, its own or one that another is inlined in.

    Attributes:
        function: its name as people wrote it; of a stripped one `liblzma.so.5+0x16900`, the module
            and where its unwind entry begins; "" where nothing tells.
        file: of the source, "" where that is not known.
        line: of the address, in outer frames of the call; 0 where it is not known.
        is_inlined: whether its code stands in the next frame's function.
        start: where its code begins in the module; 0 of inlined ones, and where it is not known.
    """

    function: str
    file: str
    line: int
    is_inlined: bool
    start: int


class ModuleFrames:
    """The frames of a module's addresses.

    Attributes:
        addresses: ascending, each once.
        first: the first frame of each, and the end of all.
        frames: records of FRAME_FIELDS.
        texts: what their fields `function` and `file` number.
        has_debug: whether there was debug information of the module.
        has_symbols: whether it had a symbol table with functions.
    """

    def __init__(
        self, addresses: Addresses, first: Numbers, frames: npt.NDArray[Any],
        texts: Sequence[str], *, has_debug: bool = False, has_symbols: bool = False,
    ) -> None:  # fmt: skip
        self.addresses = addresses
        self.first = first
        self.frames = frames
        self.texts = texts
        self.has_debug = has_debug
        self.has_symbols = has_symbols

    def at(self, address: int) -> tuple[Frame, ...]:
        """Return the frames of an address, innermost first; () if it was not asked for."""
        import numpy as np

        # Not by a list: addresses above 2^63 would become floats.
        position = int(np.searchsorted(self.addresses, np.uint64(address)))
        if position == len(self.addresses) or int(self.addresses[position]) != address:
            return ()
        own = self.frames[self.first[position] : self.first[position + 1]]
        return tuple(
            Frame(self.texts[function], self.texts[file], line, bool(flags & IS_INLINED), start)
            for start, function, file, line, flags in own.tolist()
        )

    def merged(self, other: ModuleFrames) -> ModuleFrames:
        """Return the frames of both; where both have an address, the other's are taken."""
        import numpy as np

        own = ~np.isin(self.addresses, other.addresses)
        numbers = {text: number for number, text in enumerate(other.texts)}
        moved = np.array([numbers.setdefault(text, len(numbers)) for text in self.texts], np.uint32)
        frames = self.frames.copy()
        frames["function"] = moved[frames["function"]]
        frames["file"] = moved[frames["file"]]
        addresses = np.concatenate((self.addresses[own], other.addresses))
        counts = np.concatenate((np.diff(self.first)[own], np.diff(other.first)))
        begins = np.concatenate((self.first[:-1][own], other.first[:-1] + np.uint32(len(frames))))
        order = np.argsort(addresses, kind="stable")
        counts, begins = counts[order].astype(np.int64), begins[order].astype(np.int64)
        first = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(begins - first[:-1], counts) + np.arange(first[-1])
        return ModuleFrames(
            addresses[order], first.astype(np.uint32),
            np.concatenate((frames, other.frames))[rows], tuple(numbers),
            has_debug=other.has_debug, has_symbols=other.has_symbols,
        )  # fmt: skip

    def chosen(self, addresses: Addresses) -> ModuleFrames:
        """Return the frames of some of the addresses: ascending, each once, all of them there."""
        import numpy as np

        positions = np.searchsorted(self.addresses, addresses)
        begins = self.first[positions].astype(np.int64)
        counts = self.first[positions + 1].astype(np.int64) - begins
        first = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(begins - first[:-1], counts) + np.arange(first[-1])
        return ModuleFrames(
            addresses, first.astype(np.uint32), self.frames[rows], self.texts,
            has_debug=self.has_debug, has_symbols=self.has_symbols,
        )  # fmt: skip


def parse_frames(content: memoryview, addresses: Addresses, n_frames: int, n_texts: int,
                 texts_size: int) -> ModuleFrames:  # fmt: skip
    """Return the frames in what gnomon-symbols or the cache wrote behind its head.

    Raises:
        ValueError: it makes no sense.
    """
    from itertools import pairwise

    import numpy as np

    n = len(addresses)
    frame = np.dtype([(name, kind) for name, kind in FRAME_FIELDS])
    ends_begin = 4 * (n + 1) + frame.itemsize * n_frames
    texts_begin = ends_begin + 8 * n_texts
    if len(content) < texts_begin + texts_size or n_texts < 1:
        raise ValueError("its answer is damaged: the parts are cut off")
    first = np.frombuffer(content, np.uint32, n + 1)
    frames = np.frombuffer(content, frame, n_frames, 4 * (n + 1))
    ends = np.frombuffer(content, np.uint64, n_texts, ends_begin)
    makes_sense = (
        first[0] == 0
        and first[-1] == n_frames
        and bool((first[1:] >= first[:-1]).all())
        and ends[-1] == texts_size
        and bool((ends[1:] >= ends[:-1]).all())
        and all(bool((frames[name] < n_texts).all()) for name in ("function", "file"))
    )
    if not makes_sense:
        raise ValueError("its answer is damaged: the parts do not fit together")
    whole = bytes(content[texts_begin : texts_begin + texts_size])
    bounds = [0, *ends.tolist()]
    texts = tuple(
        whole[begin:end].decode(errors="surrogateescape") for begin, end in pairwise(bounds)
    )
    return ModuleFrames(addresses, first, frames, texts)


def frames_bytes(frames: ModuleFrames) -> tuple[bytes, int, int]:
    """Return what parse_frames reads, the number of texts and the size of them all."""
    import numpy as np

    texts = [text.encode(errors="surrogateescape") for text in frames.texts]
    ends = np.cumsum([len(text) for text in texts], dtype=np.uint64)
    whole = b"".join(texts)
    parts = (frames.first.tobytes(), frames.frames.tobytes(), ends.tobytes(), whole)
    return b"".join(parts), len(texts), len(whole)
