"""What x86 processors say of themselves: the answers of the instruction cpuid.

The answers are gathered at once into a table, so that those of another machine can be read from a
recorded text: `cpuid` under the root, in the form of `cpuid -r`:

    CPU 0:
       0x00000002 0x00: eax=0x00feff01 ebx=0x000000f0 ecx=0x00000000 edx=0x00000000

Source: Intel SDM vol. 2A, CPUID; AMD64 Architecture Programmer's Manual vol. 3, appendix E.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from gnomon.counters.procfs import read_text
from gnomon.named_tuple import NamedTuple

_ROOT = Path("/")
_MOST_BYTES = 1 << 22
_MOST_SUBLEAVES = 32
_PLAIN_LEAVES = (
    0x0, 0x1, 0x2, 0xA, 0x15, 0x16, 0x1A, 0x40000000,
    0x80000000, 0x80000001, 0x80000005, 0x80000006, 0x80000008, 0x80000019, 0x80000022,
)  # fmt: skip
_LEAVES_WITH_PARTS = (0x4, 0x18, 0x8000001D)
_CPU = re.compile(r"CPU\s+(\d{1,6}):?")
_ANSWER = re.compile(
    r"(?:0x)?([0-9a-f]{1,8})\s+(?:0x)?([0-9a-f]{1,8}):\s+"
    r"eax=0x([0-9a-f]{1,8})\s+ebx=0x([0-9a-f]{1,8})\s+ecx=0x([0-9a-f]{1,8})\s+edx=0x([0-9a-f]{1,8})",
    re.IGNORECASE,
)


class Registers(NamedTuple):
    """One answer: four registers of 32 bits."""

    eax: int
    ebx: int
    ecx: int
    edx: int


Answers = Mapping[tuple[int, int], Registers]
"""Answers by (leaf, subleaf); none on processors other than x86."""


def bits(register: int, high: int, low: int) -> int:
    """Return the bits high..low of a register, as the manuals write [high:low]."""
    return register >> low & (1 << high - low + 1) - 1


def answers(root: Path = _ROOT, cpu: int | None = None) -> Answers:
    """Return the cpuid answers of a CPU, {} where it has none or may not be asked.

    Args:
        root: "/" for this machine, else the tree that its `cpuid` was recorded in.
        cpu: which CPU; None is the one at hand. The calling thread moves there for a moment: a CPU
            that it may not use says nothing.
    """
    if root != _ROOT:
        return _recorded(read_text(root / "cpuid", most_bytes=_MOST_BYTES) or "", cpu)
    from gnomon import _core

    def ask(leaf: int, part: int) -> Registers | None:
        answer = _core.cpuid(leaf, part)
        return None if answer is None else Registers(*answer)

    if cpu is None:
        return _gathered(ask)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        return {}
    try:
        return _gathered(ask)
    finally:
        os.sched_setaffinity(0, before)


def vendor(known: Answers) -> str:
    """Return the vendor's signature ("GenuineIntel"), "" if unknown."""
    first = known.get((0, 0))
    return "" if first is None else _text(first.ebx, first.edx, first.ecx)


def hypervisor_signature(known: Answers) -> str:
    """Return the hypervisor's signature in cpuid ("KVMKVMKVM"), "" if there is none."""
    first = known.get((0x40000000, 0))
    return "" if first is None else _text(first.ebx, first.ecx, first.edx)


def parts(registers_of: Answers, leaf: int) -> list[Registers]:
    """Return the answers of a leaf's subleaves, from 0 to the first that is missing."""
    registers: list[Registers] = []
    while (leaf, len(registers)) in registers_of:
        registers.append(registers_of[leaf, len(registers)])
    return registers


def _text(*registers: int) -> str:
    raw = b"".join(register.to_bytes(4, "little") for register in registers)
    return "".join(chr(byte) for byte in raw if 0x20 <= byte < 0x7F).strip()


def _gathered(ask: Callable[[int, int], Registers | None]) -> Answers:
    gathered: dict[tuple[int, int], Registers] = {}
    wanted = [(leaf, 0) for leaf in _PLAIN_LEAVES]
    wanted += [(leaf, part) for leaf in _LEAVES_WITH_PARTS for part in range(_MOST_SUBLEAVES)]
    for leaf, part in wanted:
        answer = ask(leaf, part)
        if answer is not None:
            gathered[leaf, part] = answer
    return gathered


def _recorded(text: str, cpu: int | None) -> Answers:
    """Return the answers of one CPU in a recorded text, of the first where none is named."""
    recorded: dict[tuple[int, int], Registers] = {}
    current: int | None = None
    for line in text.split("\n"):
        head = _CPU.fullmatch(line.strip())
        if head is not None:
            if cpu is None and current is not None:
                break
            current = int(head[1])
            continue
        answer = _ANSWER.fullmatch(line.strip())
        if answer is not None and (cpu is None or current == cpu):
            leaf, part, *registers = (int(word, 16) for word in answer.groups())
            recorded.setdefault((leaf, part), Registers(*registers))
    return recorded
