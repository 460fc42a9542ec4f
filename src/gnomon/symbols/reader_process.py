"""gnomon-symbols, the program that reads programs and libraries (native/symbols/main.c).

It is a process of its own: whatever a damaged file does to it, Gnomon sees a process that ended.
"""

from __future__ import annotations

import os
import struct
import sys
from functools import cached_property

from gnomon.errors import GnomonError
from gnomon.installation import LIBRARY_FOLDER
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.frames import ModuleFrames, parse_frames
from gnomon.symbols.piped_process import PipedProcess
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    import numpy.typing as npt

    from gnomon.symbols.frames import Addresses, Numbers

    Got = TypeVar("Got")
    Given = TypeVar("Given", Addresses, None)

SECONDS_MAX = 60
_PROGRAM = LIBRARY_FOLDER / "gnomon-symbols"
_VERSION = 1
_QUESTION = struct.Struct("=4sII4I")
_ANSWER = struct.Struct("=4s9I2Q")
_CODE_ANSWER = struct.Struct("=4s7IQ")
_SYMBOLS_ANSWER = struct.Struct("=4s7I3Q")
_SYMBOL_WORDS, _FILE_WORD = 6, 5
_HAS_SYMBOLS, _HAS_DEBUG = 1, 2
_RESOLVED, _UNREADABLE, _NOT_ELF, _OTHER_BUILD = range(4)
_NO_MEMORY = 3  # GN_EXIT_NO_MEMORY
_TEXT_MAX = (1 << 16) - 1
_IS_WIDE, _IS_SWAPPED, _HAS_TEXT = 1, 2, 4
IS_STATIC, IS_FUNCTION = 1, 2
"""Flags of text symbols: known in one object file only; a function, not a label."""


class Answer(NamedTuple):
    """The frames, and the files that they depend on: those looked for in vain, too."""

    frames: ModuleFrames
    inputs: tuple[str, ...]


class FunctionCode(NamedTuple):
    """The code of a function: where it begins in its module, and its bytes."""

    start: int
    code: bytes


class CodeAnswer(NamedTuple):
    """Functions of a module.

    Attributes:
        machine: ELF's number of the instruction set.
        functions: in the order of their addresses.
        function_of: the position of each address's function, -1 where none is known.
    """

    machine: int
    functions: tuple[FunctionCode, ...]
    function_of: list[int]


class TextSymbols:
    """The text symbols of a program as GNU gprof chooses them, ascending by address, n of them.

    Arrays are made when somebody asks for them.

    Attributes:
        records: of each start and end (uint64), flags and a number (uint32), as C has them.
        start, end: addresses in the file, uint64 each; `end` is where the next one begins.
        flags: IS_STATIC and IS_FUNCTION, uint32.
        names: as the file has them.
        titles: as people write them.
        files: of those that are static the file of the source, if it is known and was asked for;
            "" of others.
        machine: ELF's number of the instruction set.
        is_wide: addresses have 64 bits, else 32.
        byte_order: of the program: "<" or ">".
    """

    def __init__(
        self, records: bytes, names: tuple[str, ...], titles: tuple[str, ...],
        files: tuple[str, ...], machine: int, *, is_wide: bool, byte_order: str,
    ) -> None:  # fmt: skip
        self.records = records
        self.names = names
        self.titles = titles
        self.files = files
        self.machine = machine
        self.is_wide = is_wide
        self.byte_order = byte_order

    @property
    def start(self) -> Addresses:  # noqa: D102
        start: Addresses = self._columns["start"]
        return start

    @property
    def end(self) -> Addresses:  # noqa: D102
        end: Addresses = self._columns["end"]
        return end

    @property
    def flags(self) -> Numbers:  # noqa: D102
        flags: Numbers = self._columns["flags"]
        return flags

    @cached_property
    def _columns(self) -> npt.NDArray[Any]:
        import numpy as np

        symbol = np.dtype([("start", "u8"), ("end", "u8"), ("flags", "u4"), ("file", "u4")])
        return np.frombuffer(self.records, symbol)


class ReaderProcess:
    """A process that answers questions about modules, one after the other.

    Args:
        folders: where separate files of debug information are looked for.
    """

    def __init__(self, folders: str) -> None:
        self._folders = folders
        self._process: PipedProcess | None = None

    def __enter__(self) -> ReaderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
        self._end()

    def ask(self, path: str, build_id: str, addresses: Addresses, debug_path: str = "") -> Answer:
        """Return the frames of addresses, which ascend.

        Raises:
            GnomonError: the module cannot be read, is not the one that ran, or was too much.
        """
        texts = (path, build_id, debug_path, self._folders)
        return self._asked(b"GNSQ", texts, addresses, self._answer)

    def ask_code(self, path: str, build_id: str, addresses: Addresses) -> CodeAnswer:
        """Return the functions that addresses, which ascend, are in, with their code.

        Raises:
            GnomonError: as `ask`.
        """
        return self._asked(b"GNCQ", (path, build_id, "", ""), addresses, self._code_answer)

    def ask_text_symbols(self, path: str, *, with_files: bool = False) -> TextSymbols:
        """Return the text symbols of a program.

        Args:
            path: of its file.
            with_files: with the source files of static ones.

        Raises:
            GnomonError: as `ask`, or it has no section .text.
        """
        words = (path, "", "", self._folders if with_files else "")
        return self._asked(b"GNTQ", words, None, _text_symbols)

    def _asked(
        self, kind: bytes, words: Sequence[str], addresses: Given,
        read: Callable[[PipedProcess, str, Given], Got],
    ) -> Got:  # fmt: skip
        path = words[0]
        texts: list[bytes] = [os.fsencode(text) for text in words]
        if any(len(text) > _TEXT_MAX or b"\0" in text for text in texts):
            raise GnomonError(f"{printable(path[:200])}: no path of a file; see where it is from")
        content = b"" if addresses is None else addresses.tobytes()
        head = _QUESTION.pack(kind, _VERSION, len(content) // 8, *map(len, texts))
        try:
            process = self._running()
            process.stdin.write(b"".join((head, content, *texts)))
            process.stdin.flush()
            return read(process, path, addresses)
        except (OSError, EOFError):
            raise GnomonError(self._ended(path)) from None
        except ValueError as error:
            self._end()
            raise GnomonError(f"{printable(path)}: {error}; install Gnomon again") from None

    def _running(self) -> PipedProcess:
        if self._process is None:
            try:
                self._process = PipedProcess(_PROGRAM, str(SECONDS_MAX))
            except OSError as error:
                raise GnomonError(
                    f"{_PROGRAM} cannot be run: {error.strerror}; install Gnomon again"
                ) from None
        return self._process

    def _answer(self, process: PipedProcess, path: str, addresses: Addresses) -> Answer:
        (magic, version, outcome, error, flags, n, n_frames, n_texts, _, _, texts_size,
         inputs_size) = _ANSWER.unpack(_read(process, _ANSWER.size))  # fmt: skip
        if (magic, version) != (b"GNSA", _VERSION):
            raise ValueError("its answer is of another version")
        size = 4 * (n + 1) + 24 * n_frames + 8 * n_texts + texts_size if n_texts else 0
        content = memoryview(_read(process, size))
        inputs = os.fsdecode(_read(process, inputs_size)).split("\0")[:-1]
        if outcome != _RESOLVED:
            raise GnomonError(_reason(path, outcome, error))
        frames = parse_frames(content, addresses, n_frames, n_texts, texts_size)
        frames.has_symbols = bool(flags & _HAS_SYMBOLS)
        frames.has_debug = bool(flags & _HAS_DEBUG)
        return Answer(frames, tuple(inputs))

    def _code_answer(self, process: PipedProcess, path: str, addresses: Addresses) -> CodeAnswer:
        import numpy as np

        (magic, version, outcome, error, machine, n, n_functions, _, size) = _CODE_ANSWER.unpack(
            _read(process, _CODE_ANSWER.size)
        )
        if (magic, version) != (b"GNCA", _VERSION):
            raise ValueError("its answer is of another version")
        if outcome != _RESOLVED:
            raise GnomonError(_reason(path, outcome, error))
        function_of = np.frombuffer(_read(process, 4 * n), np.uint32).astype(np.int64)
        places = np.frombuffer(_read(process, 16 * n_functions), np.uint64).reshape(-1, 2).tolist()
        code = _read(process, size)
        is_known = function_of < n_functions
        if n != len(addresses) or sum(size for _, size in places) != size:
            raise ValueError("its answer is damaged: the parts do not fit together")
        functions, offset = [], 0
        for start, length in places:
            functions.append(FunctionCode(start, code[offset : offset + length]))
            offset += length
        return CodeAnswer(machine, tuple(functions), np.where(is_known, function_of, -1).tolist())

    def _ended(self, path: str) -> str:
        """Return why the process ended while it read a module."""
        import signal

        status = self._end()
        name = printable(path)
        if status == -signal.SIGALRM:
            return (
                f"{name} took more than {SECONDS_MAX} s to read; see what is wrong with its "
                "debug information"
            )
        if status == _NO_MEMORY:
            return f"{name} needs more memory to be read than there is; see how large it is"
        what = f"ended with status {status}"
        if status < 0:
            what = f"was ended by {signal.strsignal(-status) or f'signal {-status}'}"
        return f"{name} cannot be read: gnomon-symbols {what} over it; see whether it is damaged"

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        return process.wait()


def _text_symbols(process: PipedProcess, path: str, _: None) -> TextSymbols:
    (magic, version, outcome, error, machine, flags, n, n_files, _, _, size) = (
        _SYMBOLS_ANSWER.unpack(_read(process, _SYMBOLS_ANSWER.size))
    )
    if (magic, version) != (b"GNTA", _VERSION):
        raise ValueError("its answer is of another version")
    records = _read(process, 4 * _SYMBOL_WORDS * n)
    texts = _read(process, size).decode(errors="surrogateescape").split("\0")[:-1]
    if outcome != _RESOLVED:
        raise GnomonError(_reason(path, outcome, error))
    if not flags & _HAS_TEXT:
        raise GnomonError(f"{printable(path)} has no code (section .text); name the program")
    if len(texts) != 2 * n + n_files:
        raise ValueError("its answer is damaged: the parts do not fit together")
    names = ("", *texts[2 * n :])
    files = ("",) * n
    if n_files:
        numbers = memoryview(records).cast("I")[_FILE_WORD::_SYMBOL_WORDS]
        files = tuple(map(names.__getitem__, numbers.tolist()))
    # Source: struct.h of Python: "=" is this machine's order.
    is_little = (sys.byteorder == "little") != bool(flags & _IS_SWAPPED)
    return TextSymbols(
        records, tuple(texts[: 2 * n : 2]), tuple(texts[1 : 2 * n : 2]), files, machine,
        is_wide=bool(flags & _IS_WIDE), byte_order="<" if is_little else ">",
    )  # fmt: skip


def _read(process: PipedProcess, size: int) -> bytes:
    content = process.stdout.read(size) if size else b""
    if len(content) < size:
        raise EOFError
    return content


def _reason(path: str, outcome: int, error: int) -> str:
    name = printable(path)
    if outcome == _UNREADABLE:
        return f"{name} cannot be read: {os.strerror(error)}; see why"
    if outcome == _NOT_ELF:
        return f"{name} is no ELF file; see what is there now"
    if outcome == _OTHER_BUILD:
        return f"{name} is not the file that ran; measure again after a new build"
    return f"{name} has too many inlined calls; see what is wrong with its debug information"
