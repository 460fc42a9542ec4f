"""Functions, files and lines of addresses in programs and libraries: the toolkit's one resolver."""

from gnomon.symbols.frames import Frame, ModuleFrames
from gnomon.symbols.resolver import Module, Resolution, resolve
from gnomon.symbols.source_lines import Address, SourceLine, resolve_lines

__all__ = [
    "Address",
    "Frame",
    "Module",
    "ModuleFrames",
    "Resolution",
    "SourceLine",
    "resolve",
    "resolve_lines",
]
