"""Functions of the kernel, from a copy of /proc/kallsyms.

Source: Linux kernel, kernel/kallsyms.c: an address of 16 or 8 hexadecimal digits, a letter for the
type, a name, and behind a tab the module in brackets.
"""

from __future__ import annotations

from gnomon.errors import GnomonError
from gnomon.symbols.frames import FRAME_FIELDS, ModuleFrames
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

_BYTES_MAX = 256 << 20
# No function is longer: what lies further behind the last symbol is something else.
_FUNCTION_MAX = 1 << 22


def kernel_frames(kallsyms: Path, addresses: npt.ArrayLike) -> ModuleFrames:
    """Return the functions of kernel addresses; those of kernel modules as `name [module]`.

    Raises:
        GnomonError: the copy cannot be read, or has no addresses.
    """
    import numpy as np

    name = printable(str(kallsyms))
    try:
        with kallsyms.open("rb") as file:
            content = file.read(_BYTES_MAX)
    except OSError as error:
        raise GnomonError(f"{name} cannot be read: {error.strerror}; see why") from None
    text = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    begins = np.concatenate((np.zeros(1, ends.dtype), ends + 1))[: len(ends)]
    width = content.find(b" ") if ends.size else 0
    if width not in (8, 16):
        raise GnomonError(f"{name}: byte 0: it does not begin as /proc/kallsyms; record again")
    has_room = ends - begins > width + 3
    begins, ends = begins[has_room], ends[has_room]
    digits = _digit_values()[text[begins[:, None] + np.arange(width)]]
    is_function = np.isin(text[begins + width + 1], np.frombuffer(b"tTwW", np.uint8))
    is_sound = (digits < 16).all(axis=1) & is_function
    weights = np.uint64(16) ** np.arange(width - 1, -1, -1, dtype=np.uint64)
    starts = (digits[is_sound].astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
    begins, ends = begins[is_sound] + width + 3, ends[is_sound]
    if not starts.any():
        raise GnomonError(
            f"{name}: it has no addresses; as root: sysctl kernel.kptr_restrict=1, and record again"
        )
    order = np.argsort(starts, kind="stable")
    starts, begins, ends = starts[order], begins[order], ends[order]
    wanted = np.unique(np.asarray(addresses, np.uint64))
    position = np.searchsorted(starts, wanted, side="right") - 1
    # Of several names of one function, the first.
    position = np.searchsorted(starts, starts[position])
    is_inside = (wanted >= starts[0]) & (wanted - starts[position] < _FUNCTION_MAX)
    texts = {"": 0}
    frames = np.zeros(len(wanted), [(field, kind) for field, kind in FRAME_FIELDS])
    for number in np.flatnonzero(is_inside).tolist():
        symbol = int(position[number])
        label = content[int(begins[symbol]) : int(ends[symbol])].decode(errors="replace")
        frames[number]["function"] = texts.setdefault(label.replace("\t", " "), len(texts))
        frames[number]["start"] = starts[symbol]
    first = np.arange(len(wanted) + 1, dtype=np.uint32)
    return ModuleFrames(wanted, first, frames, tuple(texts), has_symbols=True)


def _digit_values() -> npt.NDArray[np.uint8]:
    """Return the value of each byte as a hexadecimal digit, 255 of those that are none."""
    import numpy as np

    values = np.full(256, 255, np.uint8)
    for value, digit in enumerate(b"0123456789abcdef"):
        values[digit] = value
    return values
