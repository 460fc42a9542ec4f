"""Which processor this is, how fast it runs and what it computes with.

Source: /proc/cpuinfo as arch/{x86,arm64,powerpc}/kernel/ write it, cpufreq's files in sysfs, cpuid
leaf 0x16, the auxiliary vector (getauxval(3)); Arm's numbers of implementers and parts (MIDR_EL1).
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gnomon.counters.hardware.cpuid import Answers, bits
from gnomon.counters.hardware.topology import CPUS, Cpu
from gnomon.counters.procfs import keyed, read_line, read_number, read_text
from gnomon.counters.virtualization import first_cpu
from gnomon.named_tuple import NamedTuple

_IMPLEMENTERS = {
    0x41: "Arm", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon",
    0x4E: "NVIDIA", 0x50: "Applied Micro", 0x51: "Qualcomm", 0x53: "Samsung", 0x61: "Apple",
    0x6D: "Microsoft", 0xC0: "Ampere",
}  # fmt: skip
_PARTS = {
    (0x41, 0xD03): "Cortex-A53", (0x41, 0xD04): "Cortex-A35", (0x41, 0xD05): "Cortex-A55",
    (0x41, 0xD07): "Cortex-A57", (0x41, 0xD08): "Cortex-A72", (0x41, 0xD09): "Cortex-A73",
    (0x41, 0xD0A): "Cortex-A75", (0x41, 0xD0B): "Cortex-A76", (0x41, 0xD0C): "Neoverse N1",
    (0x41, 0xD0D): "Cortex-A77", (0x41, 0xD40): "Neoverse V1", (0x41, 0xD41): "Cortex-A78",
    (0x41, 0xD44): "Cortex-X1", (0x41, 0xD46): "Cortex-A510", (0x41, 0xD47): "Cortex-A710",
    (0x41, 0xD48): "Cortex-X2", (0x41, 0xD49): "Neoverse N2", (0x41, 0xD4A): "Neoverse E1",
    (0x41, 0xD4D): "Cortex-A715", (0x41, 0xD4E): "Cortex-X3", (0x41, 0xD4F): "Neoverse V2",
    (0x41, 0xD80): "Cortex-A520", (0x41, 0xD81): "Cortex-A720", (0x41, 0xD82): "Cortex-X4",
    (0x41, 0xD84): "Neoverse V3", (0x41, 0xD8E): "Neoverse N3",
    (0x43, 0x0A1): "ThunderX", (0x43, 0x0AF): "ThunderX2", (0x46, 0x001): "A64FX",
    (0x48, 0xD01): "Kunpeng 920", (0x4E, 0x004): "Carmel", (0x50, 0x000): "X-Gene",
    (0xC0, 0xAC3): "AmpereOne", (0xC0, 0xAC4): "AmpereOne A",
}  # fmt: skip
# name: bits of a register; the widest one that is there is said.
_WIDTHS = {"avx512f": 512, "avx10": 512, "avx": 256, "sse": 128, "asimd": 128, "neon": 128,
           "vsx": 128, "altivec": 128, "vx": 128}  # fmt: skip
_VECTOR_STARTS = ("sse", "ssse", "avx", "amx", "sve", "asimd", "vx")
_VECTOR_NAMES = frozenset(
    {"mmx", "fma", "fma4", "f16c", "xop", "gfni", "vaes", "vpclmulqdq", "3dnow", "pni", "neon",
     "fphp", "i8mm", "svei8mm", "bf16", "fcma"}
)  # fmt: skip
# Auxiliary vector: AT_HWCAP, AT_HWCAP2; bits of arch/powerpc/include/uapi/asm/cputable.h.
_AT_HWCAP, _AT_HWCAP2 = 16, 26
_POWER_VECTORS = ((_AT_HWCAP, 0x10000000, "altivec"), (_AT_HWCAP, 0x80, "vsx"),
                  (_AT_HWCAP2, 0x20000, "mma"))  # fmt: skip
_MOST_HZ = 1e12


class Processor(NamedTuple):
    """Which processor it is; "" and None for what is not told.

    Attributes:
        architecture: what the kernel was built for ("x86_64", "aarch64", "ppc64le").
        vendor: in cpuid's or Arm's terms ("GenuineIntel", "Arm").
        model: the name as the processor tells it, or by its part number.
        family, model_number, stepping: x86's; on arm64 architecture, part and revision.
        microcode: revision of the loaded microcode.
        revision: where the processor has another one (POWER's, Arm's rNpN).
        address_bits: physical and virtual, (None, None) if not told.
        byte_order: "little" or "big".
        platform: the machine's own name (DMI or device tree).
        vectors: the vector and matrix extensions, by the kernel's names.
        vector_bits: width of the widest vector registers, None if not told.
        vector_note: what is to be said of that width.
    """

    architecture: str
    vendor: str
    model: str
    family: int | None
    model_number: int | None
    stepping: int | None
    microcode: str
    revision: str
    address_bits: tuple[int | None, int | None]
    byte_order: str
    platform: str
    vectors: tuple[str, ...]
    vector_bits: int | None
    vector_note: str


class Frequency(NamedTuple):
    """How fast the cores of one kind run, in hertz; None for what is not told.

    Attributes:
        cores: name of the kind, "" where all are alike.
        lowest_hz, highest_hz: what the cores may be set to.
        base_hz: what is promised under any load.
        now_hz: the slowest and the fastest CPU at this moment, None if not told.
        governor, driver: cpufreq's, "" without.
        boost: whether frequencies above the base are allowed, None if not told.
        sources: what tells it.
    """

    cores: str
    lowest_hz: float | None
    highest_hz: float | None
    base_hz: float | None
    now_hz: tuple[float, float] | None
    governor: str
    driver: str
    boost: bool | None
    sources: tuple[str, ...]


def processor(root: Path) -> Processor:
    """Return which processor a machine has."""
    info = first_cpu(root)
    architecture = read_line(root / "proc/sys/kernel/arch")
    physical, virtual = _address_bits(info.get("address sizes", ""))
    vectors = _vectors(root, info)
    vector_bits, note = _width(root, vectors)
    own: dict[str, str] = info
    if "CPU implementer" in info:
        own = _arm(info)
    elif "vendor_id" not in info and ("cpu" in info or "clock" in info):
        own = {"vendor_id": "IBM" if info.get("cpu", "").startswith("POWER") else "",
               "model name": info.get("cpu", "").partition(",")[0],
               "revision": info.get("revision", "")}  # fmt: skip
    return Processor(
        architecture,
        own.get("vendor_id", ""),
        own.get("model name", "") or info.get("uarch", ""),
        _integer(own.get("cpu family", "")),
        _integer(own.get("model", "")),
        _integer(own.get("stepping", "")),
        info.get("microcode", ""),
        own.get("revision", ""),
        (physical, virtual),
        _byte_order(architecture),
        platform(root),
        vectors,
        vector_bits,
        note,
    )


def platform(root: Path) -> str:
    """Return the machine's own name, "" if it has none."""
    folder = root / "sys/class/dmi/id"
    words = (read_line(folder / "sys_vendor"), read_line(folder / "product_name"))
    named = " ".join(word for word in words if word)
    return named or read_line(root / "proc/device-tree/model")


def frequencies(root: Path, cpus: Sequence[Cpu], answers: Answers) -> tuple[Frequency, ...]:
    """Return how fast each kind of core runs."""
    online = [cpu for cpu in cpus if cpu.is_online]
    kinds = list(dict.fromkeys(cpu.kind for cpu in online)) or [""]
    return tuple(
        _frequency(
            root, kind, [c.number for c in online if c.kind == kind], answers, len(kinds) > 1
        )
        for kind in kinds
    )


def _frequency(
    root: Path, kind: str, cpus: Sequence[int], answers: Answers, has_kinds: bool
) -> Frequency:
    folders = [root / CPUS / f"cpu{cpu}/cpufreq" for cpu in cpus]
    lowest = _khz(folder / "cpuinfo_min_freq" for folder in folders)
    highest = _khz(folder / "cpuinfo_max_freq" for folder in folders)
    base = _khz(folder / "base_frequency" for folder in folders)
    now = _khz(folder / "scaling_cur_freq" for folder in folders)
    sources = ["cpufreq"] if lowest or highest or now else []
    base_hz, highest_hz = (max(base) if base else None), (max(highest) if highest else None)
    told = answers.get((0x16, 0))
    # On hybrid CPUs cpuid answers for the CPU at hand only.
    if told is not None and not has_kinds and (bits(told.eax, 15, 0) or bits(told.ebx, 15, 0)):
        sources.append("cpuid leaf 0x16")
        base_hz = base_hz or bits(told.eax, 15, 0) * 1e6 or None
        highest_hz = highest_hz or bits(told.ebx, 15, 0) * 1e6 or None
    if not now:
        now = _mhz_of_cpuinfo(root, frozenset(cpus))
        sources += ["/proc/cpuinfo"] if now else []
    governors = {read_line(folder / "scaling_governor") for folder in folders} - {""}
    drivers = {read_line(folder / "scaling_driver") for folder in folders} - {""}
    return Frequency(
        kind,
        min(lowest) if lowest else None,
        highest_hz,
        base_hz,
        (min(now), max(now)) if now else None,
        ", ".join(sorted(governors)),
        ", ".join(sorted(drivers)),
        _boost(root),
        tuple(sources),
    )


def _khz(paths: Iterable[Path]) -> list[float]:
    found = (read_number(path) for path in paths)
    return [hz for number in found if number and (hz := number * 1e3) < _MOST_HZ]


def _mhz_of_cpuinfo(root: Path, cpus: frozenset[int]) -> list[float]:
    """Return the "cpu MHz" (x86) or "clock" (POWER) of the CPUs in /proc/cpuinfo."""
    frequencies_hz = []
    for block in (read_text(root / "proc/cpuinfo", most_bytes=1 << 22) or "").split("\n\n"):
        info = keyed(block)
        number = _integer(info.get("processor", ""))
        text = info.get("cpu MHz") or info.get("clock", "").removesuffix("MHz")
        try:
            hz = float(text) * 1e6
        except ValueError:
            continue
        if number in cpus and 0 < hz < _MOST_HZ:
            frequencies_hz.append(hz)
    return frequencies_hz


def _boost(root: Path) -> bool | None:
    off = read_number(root / CPUS / "intel_pstate/no_turbo")
    if off is not None:
        return not off
    on = read_number(root / CPUS / "cpufreq/boost")
    return None if on is None else bool(on)


def _arm(info: dict[str, str]) -> dict[str, str]:
    implementer, part = _integer(info["CPU implementer"]), _integer(info.get("CPU part", ""))
    variant, revision = _integer(info.get("CPU variant", "")), info.get("CPU revision", "")
    maker = _IMPLEMENTERS.get(implementer or 0, f"implementer {info['CPU implementer']}")
    name = _PARTS.get((implementer or 0, -1 if part is None else part))
    return {
        "vendor_id": maker,
        "model name": f"{maker} {name or 'part ' + info.get('CPU part', '?')}",
        "cpu family": info.get("CPU architecture", ""),
        "model": info.get("CPU part", ""),
        "revision": "" if variant is None else f"r{variant}p{revision}",
    }


def _vectors(root: Path, info: dict[str, str]) -> tuple[str, ...]:
    words = (info.get("flags") or info.get("Features") or info.get("features") or "").split()
    starts = _VECTOR_STARTS if "flags" in info else (*_VECTOR_STARTS, "sme")
    names = [w for w in words if w in _VECTOR_NAMES or w.startswith(starts)]
    if not words:
        have = _hwcaps(root)
        names = [name for kind, bit, name in _POWER_VECTORS if have.get(kind, 0) & bit]
        if not names and "altivec supported" in info.get("cpu", ""):
            names = ["altivec"]
    # "pni" is the kernel's old name of SSE3.
    return tuple(dict.fromkeys("sse3" if word == "pni" else word for word in names))


def _hwcaps(root: Path) -> dict[int, int]:
    """Return the auxiliary vector of this process by its types, on POWER only."""
    if not read_line(root / "proc/sys/kernel/arch").startswith("ppc"):
        return {}
    try:
        with (root / "proc/self/auxv").open("rb") as file:
            raw = file.read(4096)
    except OSError:
        return {}
    raw = raw[: len(raw) // 16 * 16]
    return dict(struct.iter_unpack("=QQ", raw))


def _width(root: Path, vectors: Sequence[str]) -> tuple[int | None, str]:
    widest = max((_WIDTHS[name] for name in vectors if name in _WIDTHS), default=None)
    if "sve" in vectors:
        length = read_number(root / "proc/sys/abi/sve_default_vector_length")
        if length and length < 1 << 16:
            return length * 8, "SVE's, as the kernel gives it to new programs"
        return widest, "SVE's width is not told"
    return widest, ""


def _address_bits(text: str) -> tuple[int | None, int | None]:
    numbers = [_integer(part.strip().partition(" ")[0]) for part in text.split(",")]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (None, None)


def _byte_order(architecture: str) -> str:
    if architecture in ("ppc64", "s390x", "ppc"):
        return "big"
    return "little" if architecture else sys.byteorder


def _integer(text: str) -> int | None:
    """Return a number of few digits, decimal or 0x..., None for other text."""
    if len(text) > 12:
        return None
    try:
        return int(text, 0) if text.startswith("0x") else int(text)
    except ValueError:
        return None
