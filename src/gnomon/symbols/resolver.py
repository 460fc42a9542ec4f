"""Addresses of modules to functions, files and lines: from the cache, else by gnomon-symbols."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gnomon.errors import GnomonError
from gnomon.installation import user_cache_folder
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.answer_cache import load_answer, save_answer
from gnomon.symbols.debuginfod import fetch_debug_file
from gnomon.symbols.frames import ModuleFrames
from gnomon.symbols.reader_process import CodeAnswer, ReaderProcess, TextSymbols
from gnomon.symbols.vdso import VDSO, own_vdso
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gnomon.symbols.frames import Addresses

DEBUG_FOLDERS = "/usr/lib/debug"
_BUILD_ID = re.compile(r"(?:[0-9a-f]{2}){2,64}")


class Module(NamedTuple):
    """A program or library as it ran.

    Attributes:
        path: of its file; "[vdso]" is the kernel's code in every process, of the running kernel.
        build_id: of the file that ran, in hexadecimal digits; "" where it is not known.
        ended: when the program ended, 0 if just now: a file without a build id that was written
            since may be another one.
    """

    path: str
    build_id: str = ""
    ended: float = 0


class Resolution(NamedTuple):
    """The frames of each module that could be read, and why others could not."""

    frames: dict[Module, ModuleFrames]
    unavailable: dict[Module, Unavailable]


def resolve(
    addresses: Mapping[Module, npt.ArrayLike], *, debug_folders: str = DEBUG_FOLDERS,
    uses_debuginfod: bool | None = None,
) -> Resolution:  # fmt: skip
    """Return the frames of addresses: functions, files and lines, inlined ones too.

    Args:
        addresses: of each module, in any order, as its file has them (link-time addresses).
        debug_folders: where separate files of debug information are, separated by ":".
        uses_debuginfod: whether files of debug information that are missing here are fetched; by
            default as GNOMON_DEBUGINFOD says.
    """
    import numpy as np

    if uses_debuginfod is None:
        uses_debuginfod = os.environ.get("GNOMON_DEBUGINFOD", "") not in ("", "0", "off")
    resolution = Resolution({}, {})
    cache = user_cache_folder("symbols") if debug_folders == DEBUG_FOLDERS else None
    with ReaderProcess(debug_folders) as reader:
        for module, offsets in addresses.items():
            wanted = np.unique(np.asarray(offsets, np.uint64))
            try:
                resolution.frames[module] = _frames_of(
                    module, wanted, reader, cache, uses_debuginfod=uses_debuginfod
                )
            except GnomonError as error:
                reason, _, remedy = str(error).partition("; ")
                resolution.unavailable[module] = Unavailable("names", reason, remedy)
    return resolution


def code_of(
    addresses: Mapping[Module, npt.ArrayLike],
) -> tuple[dict[Module, CodeAnswer], dict[Module, str]]:
    """Return the functions that addresses of modules are in, with their code; and what failed, why.

    Args:
        addresses: as of `resolve`.
    """
    import numpy as np

    answers: dict[Module, CodeAnswer] = {}
    failed: dict[Module, str] = {}
    with ReaderProcess(DEBUG_FOLDERS) as reader:
        for module, offsets in addresses.items():
            wanted = np.unique(np.asarray(offsets, np.uint64))
            try:
                _check_same(module)
                answers[module] = reader.ask_code(module.path, module.build_id, wanted)
            except GnomonError as error:
                failed[module] = str(error)
    return answers, failed


def text_symbols(path: str, *, with_files: bool = False) -> TextSymbols:
    """Return the text symbols of a program, as GNU gprof chooses them.

    Args:
        path: of its file.
        with_files: with the source files of those that are known in one object file only; without
            them where debug information is too much, or is damaged.

    Raises:
        GnomonError: it cannot be read, or has no code.
    """
    with ReaderProcess(DEBUG_FOLDERS) as reader:
        try:
            return reader.ask_text_symbols(path, with_files=with_files)
        except GnomonError:
            if not with_files:
                raise
        return reader.ask_text_symbols(path)


def _frames_of(
    module: Module, wanted: Addresses, reader: ReaderProcess, cache: Path | None, *,
    uses_debuginfod: bool,
) -> ModuleFrames:  # fmt: skip
    """Return the frames of a module's addresses.

    Raises:
        GnomonError: it cannot be read, or is not the file that ran.
    """
    import numpy as np

    if module.path == VDSO:
        with own_vdso() as path:
            return reader.ask(path, module.build_id, wanted).frames
    build = module.build_id if _BUILD_ID.fullmatch(module.build_id) else ""
    kept = load_answer(cache, build, module.path) if cache and build else None
    if kept is not None and uses_debuginfod and not kept.has_debug:
        kept = None
    if kept is not None:
        missing = np.setdiff1d(wanted, kept.addresses, assume_unique=True)
        if not len(missing):
            return kept.chosen(wanted)
    else:
        missing = wanted
    _check_same(module)
    answer = reader.ask(module.path, module.build_id, missing)
    if uses_debuginfod and build and not answer.frames.has_debug:
        fetched = fetch_debug_file(build)
        if fetched:
            frames = reader.ask(module.path, module.build_id, missing, fetched).frames
            answer = answer._replace(frames=frames, inputs=(*answer.inputs, fetched))
    all_frames = answer.frames if kept is None else kept.merged(answer.frames)
    if cache and build:
        save_answer(cache, build, module.path, answer.inputs, all_frames)
    return answer.frames if kept is None else all_frames.chosen(wanted)


def _check_same(module: Module) -> None:
    """Make sure that a file is there; of one without a build id, that it is as old as it should be.

    Raises:
        GnomonError: it is not.
    """
    name = printable(module.path)
    path = Path(module.path)
    try:
        if not path.is_file():
            raise GnomonError(f"{name} is missing; keep programs where they ran")
        is_other = not module.build_id and module.ended and path.stat().st_mtime > module.ended
    except (OSError, ValueError) as error:
        raise GnomonError(f"{name} cannot be read: {error}; see why") from None
    if is_other:
        raise GnomonError(f"{name} is not the file that ran; measure again after a new build")
