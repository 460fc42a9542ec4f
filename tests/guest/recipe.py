"""Which machines there are: what each is made of, and what it is to show.

QEMU's own emulation (TCG) counts instructions and cycles in the PMUs of some processors; of these,
Debian's kernel drives ARM's PMUv3 and the PMUs of POWER9 and POWER10. Source: QEMU 7.2,
target/arm/helper.c (pm_events) and target/ppc/power8-pmu.c (pmc_get_event).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """A Debian architecture, and the tools of the host that make and run programs for it.

    Attributes:
        name: Debian's name of it.
        kernel: the package that brings its kernel.
        console: the kernel's name of the serial line.
        compiler: the cross compiler.
        processor: CMake's name of it.
        qemu: the emulator.
        options: what the emulator is told of every machine of this architecture.
        wheels: for which platforms PyPI has the packages with which runs are stored; none: runs
            cannot be stored on it.
    """

    name: str
    kernel: str
    console: str
    compiler: str
    processor: str
    qemu: str
    options: tuple[str, ...]
    wheels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """A machine to test on.

    Attributes:
        name: for the command line and the table of figures.
        architecture: what it is made of.
        cpu: QEMU's name of its processor.
        cpus: how many.
        tests: files of `inside/`, in the order in which they run.
        options: what the emulator is told besides.
    """

    name: str
    architecture: Architecture
    cpu: str
    cpus: int
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()


ARM64 = Architecture(
    name="arm64",
    kernel="linux-image-arm64",
    console="ttyAMA0",
    compiler="aarch64-linux-gnu-gcc",
    processor="aarch64",
    qemu="qemu-system-aarch64",
    options=("-machine", "virt"),
    wheels=("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"),
)

PPC64EL = Architecture(
    name="ppc64el",
    kernel="linux-image-powerpc64le",
    console="hvc0",
    compiler="powerpc64le-linux-gnu-gcc",
    processor="ppc64le",
    qemu="qemu-system-ppc64",
    # TCG has none of these mitigations of speculation, and QEMU refuses to start without being
    # told that this is known.
    options=("-machine", "pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,"
             "cap-ccf-assist=off"),
)  # fmt: skip

_POWER_TESTS = (
    "test_core.py",
    "test_counting.py",
    "test_inherit.py",
    "test_power.py",
    "test_no_sampling.py",
    "test_preset_encoding.py",
    "test_fit.py",
    "test_group_counters.py",
)

# QEMU counts instructions only while it also makes the time from them: here 2^6 ns each, whatever
# the host is doing meanwhile. With 1 ns each a tick of the kernel would be millions of instructions
# apart, and a test of multiplexing would take minutes.
_INSTRUCTION_CLOCK = ("-icount", "shift=6,sleep=off")

MACHINES = (
    Machine(
        name="arm64",
        architecture=ARM64,
        cpu="neoverse-n1",
        cpus=1,
        tests=(
            "test_core.py",
            "test_counting.py",
            "test_exact.py",
            "test_domains.py",
            "test_groups.py",
            "test_fit.py",
            "test_multiplexing.py",
            "test_user_reads.py",
            "test_inherit.py",
            "test_behaviours.py",
            "test_turns.py",
            "test_preset_encoding.py",
            "test_group_counters.py",
        ),
        options=_INSTRUCTION_CLOCK,
    ),
    # To store and read a run takes such a machine minutes.
    Machine("arm64-samples", ARM64, "neoverse-n1", 1, ("test_sampling.py",), _INSTRUCTION_CLOCK),
    Machine("power9", PPC64EL, "power9", 1, _POWER_TESTS),
    Machine("power10", PPC64EL, "power10", 1, _POWER_TESTS),
)
