"""Machine code as instructions: as binutils and the manuals have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from symbol_programs import compile_program, run, symbol_of

from gnomon.errors import GnomonError
from gnomon.symbols import Module, code_of
from gnomon.symbols.disassembly import (
    AARCH64,
    ARM,
    CALL,
    JUMP,
    PPC64,
    RETURN,
    RISCV,
    S390,
    X86,
    X86_64,
    Encoding,
    Instruction,
    disassembled,
)

OBJDUMP = ("objdump", "-d", "-j", ".text", "-M", "intel", "--no-show-raw-insn")
START = 0x1000
# Of each instruction set: bytes, and what they are. Encoded by hand from the manuals.
KNOWN = {
    "aarch64": (
        Encoding(AARCH64), "41000054 20000014 40000094 c0035fd6 60000034 00001fd6 1f2003d5",
        [(JUMP, True, 0x1008), (JUMP, False, 0x1084), (CALL, True, 0x1108), (RETURN, False, None),
         (JUMP, True, 0x101C), (JUMP, False, None), ("", True, None)],
    ),
    "arm": (
        Encoding(ARM, is_wide=False),
        "0200000a 020000ea 100000eb 0200009a 020000ba 1eff2fe1 1080bde8 0000a0e1",
        [(JUMP, True, 0x1010), (JUMP, False, 0x1014), (CALL, True, 0x1050), (JUMP, True, 0x101C),
         (JUMP, True, 0x1020), (RETURN, False, None), (RETURN, False, None), ("", True, None)],
    ),
    "arm big": (
        Encoding(ARM, is_wide=False, byte_order=">"), "0a000002 e12fff1e",
        [(JUMP, True, 0x1010), (RETURN, False, None)],
    ),
    "ppc64 big": (
        Encoding(PPC64, byte_order=">"),
        "41820010 4800000c 48000011 4e800020 4e800420 4e800421 42000010 60000000",
        [(JUMP, True, 0x1010), (JUMP, False, 0x1010), (CALL, True, 0x1018), (RETURN, False, None),
         (JUMP, False, None), (CALL, True, None), (JUMP, True, 0x1028), ("", True, None)],
    ),
    "ppc64 little": (
        Encoding(PPC64), "10008241 0c000048 2000804e",
        [(JUMP, True, 0x1010), (JUMP, False, 0x1010), (RETURN, False, None)],
    ),
    "s390x": (
        Encoding(S390, byte_order=">"),
        "a7840008 c0f400000010 c0e500000020 07fe a7f40008 a7160008 0de1",
        [(JUMP, True, 0x1010), (JUMP, False, 0x1024), (CALL, True, 0x104A), (RETURN, False, None),
         (JUMP, False, 0x1022), (JUMP, True, 0x1026), (CALL, True, None)],
    ),
    "riscv": (
        Encoding(RISCV), "63080500 6f000001 ef000002 67800000 8280 11a0 13050000",
        [(JUMP, True, 0x1010), (JUMP, False, 0x1014), (CALL, True, 0x1028), (RETURN, False, None),
         (RETURN, False, None), (JUMP, False, 0x1016), ("", True, None)],
    ),
    "x86": (
        Encoding(X86, is_wide=False), "750e e8fb0f0000 c3 eb00 90",
        [(JUMP, True, 0x1010), (CALL, True, 0x2002), (RETURN, False, None), (JUMP, False, 0x100A),
         ("", True, None)],
    ),
    "x86-64": (
        Encoding(X86_64), "750e e8fb0f0000 f3c3 ff2500100000 e2f0 f2e900000000 ffd0 3effe0 90",
        [(JUMP, True, 0x1010), (CALL, True, 0x2002), (RETURN, False, None), (JUMP, False, None),
         (JUMP, True, 0x1001), (JUMP, False, 0x1017), (CALL, True, None), (JUMP, False, None),
         ("", True, None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_branches_of_each_instruction_set_are_known(name: str) -> None:
    encoding, code, wanted = KNOWN[name]
    found = disassembled(START, bytes.fromhex(code), encoding)
    assert [(one.kind, one.is_conditional, one.target) for one in found] == wanted


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(GnomonError, match="ELF machine 42 cannot be disassembled"):
        disassembled(START, b"\0", Encoding(42))


@given(st.binary(max_size=200), st.sampled_from(sorted(KNOWN)), st.integers(0, 2**64 - 1))
@examples(300)
def test_any_bytes_are_all_there(code: bytes, name: str, start: int) -> None:
    found = disassembled(start, code, KNOWN[name][0])
    assert b"".join(one.code for one in found) == code
    at = start
    for one in found:
        assert one.code
        assert one.address % 2**64 == at % 2**64
        at += len(one.code)


def functions(program: Path) -> dict[int, list[tuple[int, str, str]]]:
    """Return the instructions of each function that binutils find: address, name, the rest."""
    found: dict[int, list[tuple[int, str, str]]] = {}
    own: list[tuple[int, str, str]] = []
    for line in run(*OBJDUMP, program).splitlines():
        if head := re.match(r"([0-9a-f]+) <.+>:$", line):
            own = found.setdefault(int(head[1], 16), [])
        elif match := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            own.append((int(match[1], 16), match[2], match[3]))
    return found


@pytest.mark.parametrize("language", ["c", "cxx", "fortran"])
def test_instructions_are_those_of_objdump(language: str, tmp_path: Path) -> None:
    program = compile_program(tmp_path, language, "-g", "-O2")
    if run("objdump", "-f", program).find("x86-64") < 0:
        pytest.skip("objdump's Intel syntax is of x86 alone")
    wanted = functions(program)
    module = Module(str(program))
    starts = [symbol_of(program, "main")]
    starts += [one for one in wanted if one in {int(s, 16) for s in text_starts(program)}]
    answers, failed = code_of({module: starts})
    assert not failed
    n = 0
    for part in answers[module].functions:
        own = disassembled(part.start, part.code, Encoding(X86_64), is_intel=True)
        expected = [one for one in wanted[part.start] if one[0] < part.start + len(part.code)]
        assert [one.address for one in own] == [address for address, *_ in expected]
        for one, (_, name, rest) in zip(own, expected, strict=True):
            check_branch(one, name, rest)
        n += len(own)
    assert n > 30


def text_starts(program: Path) -> list[str]:
    return [line.split()[0] for line in run("nm", program).splitlines() if " t " in line.lower()]


def check_branch(one: Instruction, name: str, rest: str) -> None:
    """Hold a branch to what binutils say of it."""
    target = re.match(r"([0-9a-f]+) <", rest)
    if name.startswith("j") or name == "loop":
        assert one.kind == JUMP
        assert one.is_conditional == (name != "jmp")
        assert one.target == (int(target[1], 16) if target else None)
    elif name == "call":
        assert one.kind == CALL
        assert one.target == (int(target[1], 16) if target else None)
    elif name.startswith("ret"):
        assert one.kind == RETURN
    elif name not in ("hlt", "ud2", "notrack", "bnd", "repz"):
        assert one.kind == ""


def test_thumb_code_is_told_from_arm_code() -> None:
    # What LLVM's assembler made of: 1: nop; b 1b; bne 1b; bl 1b; bx lr; nop; pop {r4, pc}.
    pieces = ["00bf", "fde7", "fcd1", "fff7fbff", "7047", "00bf", "10bd"]
    code = bytes.fromhex("".join(pieces))
    instructions = disassembled(0x1000, code, Encoding(40, is_wide=False))
    assert [one.code.hex() for one in instructions] == pieces
    assert [(one.kind, one.target) for one in instructions] == [
        ("", None), ("jump", 0x1000), ("jump", 0x1000), ("call", 0x1000), ("return", None),
        ("", None), ("return", None),
    ]  # fmt: skip
