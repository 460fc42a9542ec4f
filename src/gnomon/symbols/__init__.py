"""Functions, files and lines of addresses in programs and libraries: the toolkit's one resolver."""

from gnomon.symbols.frames import Frame, ModuleFrames
from gnomon.symbols.kernel_symbols import kernel_frames
from gnomon.symbols.perf_map import perf_map_frames
from gnomon.symbols.reader_process import IS_STATIC, CodeAnswer, FunctionCode, TextSymbols
from gnomon.symbols.resolver import Module, Resolution, code_of, resolve, text_symbols
from gnomon.symbols.source_lines import Address, SourceLine, resolve_lines

__all__ = [
    "IS_STATIC",
    "Address",
    "CodeAnswer",
    "Frame",
    "FunctionCode",
    "Module",
    "ModuleFrames",
    "Resolution",
    "SourceLine",
    "TextSymbols",
    "code_of",
    "kernel_frames",
    "perf_map_frames",
    "resolve",
    "resolve_lines",
    "text_symbols",
]
