"""Functions, files and lines of addresses in programs and libraries: the toolkit's one resolver."""

from gnomon.symbols.frames import Frame, ModuleFrames
from gnomon.symbols.kernel_symbols import kernel_frames
from gnomon.symbols.perf_map import perf_map_frames
from gnomon.symbols.reader_process import CodeAnswer, FunctionCode
from gnomon.symbols.resolver import Module, Resolution, code_of, resolve
from gnomon.symbols.source_lines import Address, SourceLine, resolve_lines

__all__ = [
    "Address",
    "CodeAnswer",
    "Frame",
    "FunctionCode",
    "Module",
    "ModuleFrames",
    "Resolution",
    "SourceLine",
    "code_of",
    "kernel_frames",
    "perf_map_frames",
    "resolve",
    "resolve_lines",
]
