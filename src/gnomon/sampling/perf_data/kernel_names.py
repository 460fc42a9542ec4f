"""Names of the kernel's functions in a perf.data file: from a list of symbols of that very kernel.

Such a list is /proc/kallsyms, if the kernel that runs has the build id of the recorded one, or the
copy that perf record puts in its cache. A kernel is loaded at another address each time it starts:
the file says where one symbol was.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.sampling.perf_data.module_files import cache_folder
from gnomon.symbols.elf_file import build_id_of_notes
from gnomon.symbols.kernel_symbols import kernel_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.sampling.perf_data.header_features import HeaderFeatures

EVENT = "names of [kernel]"
_NOTES = Path("/sys/kernel/notes")
_RUNNING = Path("/proc/kallsyms")
_WHOLE = 1 << 64


class KernelNames(NamedTuple):
    """Names of the kernel's functions by addresses, and why there are none."""

    names: dict[int, str]
    missing: Unavailable | None = None


class RecordedKernel(NamedTuple):
    """A kernel as it was recorded.

    Attributes:
        build_id: "" where it is not known.
        is_here: it ran on this machine in this release, as far as the file says.
        symbol, start: a symbol and where it was; "" and 0 where that is not known.
        generated: address, bytes and name of functions that were made while it ran.
    """

    build_id: str
    is_here: bool
    symbol: str
    start: int
    generated: Sequence[tuple[int, int, bytes]] = ()


def recorded_kernel(
    features: HeaderFeatures,
    symbol: str,
    start: int,
    generated: Sequence[tuple[int, int, bytes]],
    build_id: str = "",
) -> RecordedKernel:
    """Return the kernel of a file.

    Args:
        features: what the header says.
        symbol: as of `RecordedKernel`.
        start: likewise.
        generated: likewise.
        build_id: which its mapping has; "" where it has none.
    """
    in_header = (
        one.build_id
        for one in features.build_ids
        if one.is_kernel and one.path.startswith("[kernel")
    )
    build_id = build_id or next(in_header, "")
    here = os.uname()
    is_here = features.host == here.nodename and features.release == here.release
    return RecordedKernel(build_id, is_here, symbol, start, generated)


def kernel_names(kernel: RecordedKernel, addresses: NDArray[np.uint64]) -> KernelNames:
    """Return the names of addresses in the kernel and its modules.

    Args:
        kernel: which one it was.
        addresses: as it had them, each once.
    """
    if not len(addresses):
        return KernelNames({})
    names = _generated_names(kernel, addresses)
    source = _symbols_of(kernel)
    if source is None:
        reason = (
            "the recorded kernel is not the one that runs here" if kernel.build_id
            else "the file does not say which kernel it was"
        )  # fmt: skip
        missing = Unavailable(
            EVENT, reason,
            "read it on the machine where it was recorded, before that starts another kernel, or "
            "take its perf cache along (~/.debug)",
        )  # fmt: skip
        return KernelNames(names, missing)
    try:
        shift = _shift(kernel, source)
        moved = addresses - addresses.dtype.type(shift % _WHOLE)
        frames = kernel_frames(source, moved)
    except GnomonError as error:
        reason, _, remedy = str(error).partition("; ")
        return KernelNames(names, Unavailable(EVENT, reason, remedy))
    for address, own in zip(addresses.tolist(), moved.tolist(), strict=True):
        chain = frames.at(own)
        if chain and chain[0].function and address not in names:
            # "name [module]": the module is known by its mapping.
            names[address] = chain[0].function.partition(" [")[0]
    return KernelNames(names)


def _generated_names(kernel: RecordedKernel, addresses: NDArray[np.uint64]) -> dict[int, str]:
    import numpy as np

    names: dict[int, str] = {}
    ordered = np.sort(addresses)
    for start, size, name in kernel.generated:
        begin = int(np.searchsorted(ordered, np.uint64(start)))
        end = int(np.searchsorted(ordered, np.uint64(min(start + size, _WHOLE - 1))))
        if begin < end:
            text = name.decode(errors="replace")
            names |= dict.fromkeys(ordered[begin:end].tolist(), text)
    return names


def _symbols_of(kernel: RecordedKernel) -> Path | None:
    """Return the list of symbols of a kernel, None if there is none here."""
    if kernel.build_id:
        if kernel.build_id == _running_build_id():
            return _RUNNING
        own = cache_folder() / ".build-id" / kernel.build_id[:2] / kernel.build_id[2:] / "kallsyms"
        return own if own.is_file() else None
    # Without a build id: its place in memory is another one each time it starts.
    if (
        kernel.is_here
        and kernel.symbol
        and _symbol_address(_RUNNING, kernel.symbol) == kernel.start
    ):
        return _RUNNING
    return None


def _running_build_id() -> str:
    try:
        return build_id_of_notes(_NOTES.read_bytes())
    except (OSError, ValueError):
        return ""


def _shift(kernel: RecordedKernel, source: Path) -> int:
    """Return by how much the recorded kernel lay behind the addresses of a list of symbols."""
    if not kernel.symbol:
        return 0
    own = _symbol_address(source, kernel.symbol)
    return kernel.start - own if own else 0


def _symbol_address(source: Path, symbol: str) -> int:
    """Return where a symbol is by a list of them, 0 if it is not there."""
    wanted = f" {symbol}\n"
    try:
        with source.open(errors="replace") as file:
            for line in file:
                if line.endswith(wanted):
                    return int(line.split()[0], 16)
    except (OSError, ValueError, IndexError):
        return 0
    return 0
