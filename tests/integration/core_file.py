"""An ELF core file of one thread, from its registers and a piece of its stack.

Source: the System V ABI, "Program Header"; Linux, fs/binfmt_elf.c and include/linux/elfcore.h
(struct elf_prstatus); DWARF's numbers of registers by the psABI of x86-64, figure 3.36.
"""

from __future__ import annotations

import struct
from pathlib import Path

from gnomon.sampling.kept_stacks import KeptStack

_CORE, _X86_64 = 4, 62
_LOAD, _NOTE = 1, 4
_PAGE = 4096
_HEADER, _PROGRAM = 64, 56
_PRSTATUS = 1
# struct user_regs_struct: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs
# flags rsp ss fs_base gs_base ds es fs gs; None: not in a sample.
_ORDER = (15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, None, 16, None, None, 7, None, None,
          None, None, None, None, None)  # fmt: skip
STACK_POINTER = 7


def write_core(path: Path, kept: KeptStack) -> None:
    """Write the core file of a kept stack of x86-64."""
    status = _status(kept)
    notes = struct.pack("<III", 5, len(status), _PRSTATUS) + b"CORE\0\0\0\0" + status
    stack_offset = _aligned(_HEADER + 2 * _PROGRAM + len(notes))
    address = kept.registers[STACK_POINTER]
    # Segments and their addresses agree modulo the size of a page.
    stack_offset += address % _PAGE
    programs = struct.pack("<IIQQQQQQ", _NOTE, 0, _HEADER + 2 * _PROGRAM, 0, 0, len(notes), 0, 4)
    programs += struct.pack("<IIQQQQQQ", _LOAD, 6, stack_offset, address, 0, len(kept.stack),
                            len(kept.stack), 1)  # fmt: skip
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", _CORE, _X86_64, 1, 0, _HEADER, 0, 0, _HEADER, _PROGRAM, 2, 0, 0, 0
    )  # fmt: skip
    content = header + programs + notes
    path.write_bytes(content + bytes(stack_offset - len(content)) + kept.stack)


def _status(kept: KeptStack) -> bytes:
    """Return struct elf_prstatus: signal, pid and registers; the rest is zero."""
    values = [0 if number is None else kept.registers[number] for number in _ORDER]
    before = struct.pack("<iiihHQQ", 5, 0, 0, 5, 0, 0, 0) + struct.pack("<iiii", kept.tid, 0, 0, 0)
    return before + bytes(64) + struct.pack("<27Q", *values) + bytes(8)


def _aligned(offset: int) -> int:
    return (offset + _PAGE - 1) // _PAGE * _PAGE
