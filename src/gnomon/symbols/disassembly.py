"""Machine code as instructions, by capstone, and where those that branch go."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import capstone

JUMP, CALL, RETURN = "jump", "call", "return"
"""Kinds of instructions that do not go on with the next one, or need not; "" is all others."""

# Source: the numbers of <elf.h>.
X86, PPC, PPC64, S390, ARM, X86_64, AARCH64, RISCV = 3, 20, 21, 22, 40, 62, 183, 243

_HEAD_BYTES = 52
# Source: elf.h: EF_ARM_BE8, instructions of big-endian programs in little-endian order.
_ARM_BE8 = 0x00800000


class Encoding(NamedTuple):
    """How a module's instructions are encoded.

    Attributes:
        machine: ELF's number of the instruction set.
        is_wide: it is of 64 bits.
        byte_order: of instructions, "<" or ">".
    """

    machine: int
    is_wide: bool = True
    byte_order: str = "<"


def encoding_of(path: str, machine: int) -> Encoding:
    """Return how instructions are encoded, by the head of an ELF file.

    Raises:
        GnomonError: it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise GnomonError(f"{printable(path)} cannot be read: {error.strerror}; see why") from None
    if len(head) < _HEAD_BYTES:
        raise GnomonError(f"{printable(path)} is no ELF file; see what is there now")
    is_wide, order = head[4] == 2, ">" if head[5] == 2 else "<"
    if machine == ARM and order == ">":
        (flags,) = struct.unpack_from(">I", head, 36)
        order = "<" if flags & _ARM_BE8 else ">"
    return Encoding(machine, is_wide, order)


class Instruction(NamedTuple):
    """An instruction.

    Attributes:
        address: of its first byte.
        code: its bytes.
        mnemonic: what it does; ".byte" for what is no instruction.
        operands: as the assembler has them.
        kind: JUMP, CALL, RETURN or "".
        is_conditional: it may go on with the next one.
        target: where it goes, None where that is known only when it runs.
    """

    address: int
    code: bytes
    mnemonic: str
    operands: str
    kind: str = ""
    is_conditional: bool = True
    target: int | None = None

    @property
    def text(self) -> str:
        """The instruction as the assembler has it."""
        return f"{self.mnemonic} {self.operands}".rstrip()


class _Branches(NamedTuple):
    """The mnemonics of an instruction set that branch; of `final` ones none goes on.

    Others branch with some operands: those that begin as `by_operands`.
    """

    call: re.Pattern[str]
    leave: re.Pattern[str]
    jump: re.Pattern[str]
    final: re.Pattern[str]
    is_relative: bool = False
    by_operands: tuple[str, ...] = ()


def _branches(
    call: str, leave: str, jump: str, final: str, *, is_relative: bool = False,
    by_operands: tuple[str, ...] = (),
) -> _Branches:  # fmt: skip
    return _Branches(
        re.compile(call), re.compile(leave), re.compile(jump), re.compile(final), is_relative,
        by_operands,
    )  # fmt: skip


# Of mnemonic and operands. Sources: the manuals of the instruction sets (Intel SDM 2, Arm ARM,
# Power ISA 2.4 and its extended mnemonics, z/Architecture Principles of Operation, RISC-V).
_X86 = _branches(
    r"((bnd|notrack) )?l?call", r"((repz|rep|bnd|notrack) )?(l?ret|iret|sysret|sysexit)|hlt|ud2",
    r"((bnd|notrack) )?(j|ljmp|loop)", r"((bnd|notrack) )?l?jmp",
)  # fmt: skip
_POWER = _branches(
    r"(b\w*l|b\w*la|b\w*lrl|b\w*ctrl)[+-]? |b(lr|ctr)l$|b(?!dnzl?r?$)\w*(lr|ctr)l$", r"blr$|rfid",
    r"b(?!permd|cd|rinc|r[hwd] )", r"(b|ba|bctr)\b(?![+-])",
)  # fmt: skip
_OF = {
    X86: _X86,
    X86_64: _X86,
    AARCH64: _branches(
        r"bl\b|blr", r"ret|eret|udf|brk|hlt",
        r"(b|br|braa|brab|braaz|brabz|cbn?z|tbn?z)\b|bc?\.", r"(b|bra?a?b?z?) (?!\.)",
    ),
    ARM: _branches(
        r"(bl(?!e |e\.|s |t |s\.|t\.)|blx)",
        r"bx lr|pop \{.*pc\}|ldm\w* sp!, \{.*pc\}|mov pc, lr|udf",
        r"b(x|xj)?(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)?(\.w)? |cbn?z|tb[bh]",
        r"(b|bx|bxj)(\.w)? |tb[bh]", by_operands=("pop", "ldm", "mov"),
    ),
    PPC: _POWER,
    PPC64: _POWER,
    S390: _branches(
        r"bras|basr|bas |bal", r"br %r14", r"j|br|bcr? (?!0, )|c(l?)(g?)[ri]j", r"(j|jg|br|b) ",
    ),
    RISCV: _branches(
        r"(c\.)?jalr?\b", r"ret|(c\.)?jr ra|[msu]ret|ebreak|unimp|c\.unimp",
        r"(c\.)?(j|jr|b(eq|ne|lt|ge|gt|le)\w*) ", r"(c\.)?(j|jr) ", is_relative=True,
    ),
}  # fmt: skip
_TARGET = re.compile(r"(?:^|[ ,])#?(-?(?:0x[0-9a-f]+|[0-9]+))$")


def disassembled(
    start: int, code: bytes, encoding: Encoding, *, is_intel: bool = False
) -> list[Instruction]:
    """Return the instructions of code; what is none of them as `.byte`.

    Args:
        start: the address of the first byte.
        code: the bytes.
        encoding: how they are encoded.
        is_intel: x86 code in Intel's syntax, not in that of AT&T.

    Raises:
        GnomonError: the instruction set is not known here, or capstone is missing.
    """
    branches = _OF.get(encoding.machine)
    if branches is None:
        raise GnomonError(
            f"machine code of ELF machine {encoding.machine} cannot be disassembled; it can be of "
            "x86, Arm, Power, s390x and RISC-V"
        )
    arm = list(_instructions(_engine(encoding, is_intel=is_intel), start, code, branches))
    if encoding.machine != ARM or not _undecoded(arm):
        return arm
    # Symbols of Thumb code have lost the bit that says so: it is what makes sense of more bytes.
    engine = _engine(encoding, is_intel=False, is_thumb=True)
    thumb = list(_instructions(engine, start, code, branches))
    return thumb if _undecoded(thumb) < _undecoded(arm) else arm


def _undecoded(instructions: list[Instruction]) -> int:
    """Return how many bytes are no instructions."""
    return sum(len(one.code) for one in instructions if one.mnemonic == ".byte")


def _engine(encoding: Encoding, *, is_intel: bool, is_thumb: bool = False) -> capstone.Cs:
    try:
        import capstone as cs
    except ImportError:
        raise GnomonError("capstone is missing; install it: pip install capstone") from None
    big = cs.CS_MODE_BIG_ENDIAN if encoding.byte_order == ">" else 0
    power = cs.CS_MODE_64 if encoding.is_wide else cs.CS_MODE_32
    arm = cs.CS_MODE_THUMB if is_thumb else cs.CS_MODE_ARM
    riscv = cs.CS_MODE_RISCV64 if encoding.is_wide else cs.CS_MODE_RISCV32
    architecture, mode = {
        X86: (cs.CS_ARCH_X86, cs.CS_MODE_32),
        X86_64: (cs.CS_ARCH_X86, cs.CS_MODE_64),
        AARCH64: (cs.CS_ARCH_ARM64, cs.CS_MODE_ARM),  # of either order of data
        ARM: (cs.CS_ARCH_ARM, arm | big),
        PPC: (cs.CS_ARCH_PPC, cs.CS_MODE_32 | big),
        PPC64: (cs.CS_ARCH_PPC, power | big),
        S390: (cs.CS_ARCH_SYSZ, cs.CS_MODE_BIG_ENDIAN),
        RISCV: (cs.CS_ARCH_RISCV, riscv | cs.CS_MODE_RISCVC),
    }[encoding.machine]
    engine = cs.Cs(architecture, mode)
    engine.skipdata = True
    if architecture == cs.CS_ARCH_X86 and not is_intel:
        engine.syntax = cs.CS_OPT_SYNTAX_ATT
    return engine


def _instructions(
    engine: capstone.Cs, start: int, code: bytes, branches: _Branches
) -> Iterator[Instruction]:
    # What branches is told by few mnemonics: the others are looked at once.
    plain: set[str] = set()
    end = 0
    for address, size, mnemonic, operands in engine.disasm_lite(code, start):
        own = code[end : end + size]
        end += len(own)
        if mnemonic in plain:
            yield Instruction(address, own, mnemonic, operands)
            continue
        text = f"{mnemonic} {operands}".rstrip()
        kind = _kind(text, branches)
        if not kind:
            if not mnemonic.startswith(branches.by_operands or "\0"):
                plain.add(mnemonic)
            yield Instruction(address, own, mnemonic, operands)
            continue
        target = None
        match = _TARGET.search(operands) if kind != RETURN else None
        if match:
            target = int(match[1], 0) + (address if branches.is_relative else 0)
        is_final = kind == RETURN or (kind == JUMP and bool(branches.final.match(f"{text} ")))
        yield Instruction(address, own, mnemonic, operands, kind, not is_final, target)
    if end < len(code):  # fewer bytes than an instruction has
        rest = ", ".join(f"{byte:#x}" for byte in code[end:])
        yield Instruction(start + end, code[end:], ".byte", rest)


def _kind(text: str, branches: _Branches) -> str:
    if branches.leave.match(text):
        return RETURN
    if branches.call.match(text):
        return CALL
    return JUMP if branches.jump.match(text) else ""
