"""The capability of this folder: samples of the program's call paths."""

from __future__ import annotations

from gnomon.launch.capability import Capability, Execution
from gnomon.launch.options import Option, choice, whole_number
from gnomon.sampling.perf_data.reader import PerfDataReader
from gnomon.sampling.stack_size import STACK_KB, STACK_KB_MOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gnomon.counters.component import Availability
    from gnomon.launch.observer import Observer
    from gnomon.model.capability_result import Collected

RATE_HZ = 249
"""Samples per second of CPU time: the timer's interrupt is the cost, about 14 µs each."""
KEEP_MB_MOST = 100_000
# Source: perf_event_open(2) refuses periods with the highest bit set.
_MOST = (1 << 63) - 1
_TOO_LARGE = "the kernel counts to 2 to the power of 63"
BRANCHES_HELP = (
    "also record the branches taken before each sample: which are frequent, which mispredicted; "
    "needs a PMU with branch records (samples cycles, unless PMU events are named)"
)


def by_trampoline(word: str) -> bool:
    """Return whether Python functions are told by trampolines of their interpreter.

    Raises:
        ValueError: the word is neither that nor how it is done otherwise.
    """
    return choice("frames", "trampoline")(word) == "trampoline"


class Samples(Capability):
    """Samples of all threads of a program, with their call paths."""

    name = "samples"
    title = "where the program spends its time: samples of its call paths"
    is_default = True
    readers = (PerfDataReader(),)
    excludes: Mapping[str, str] = {
        "emulated": "samples would be of the emulator, not of the program",
    }
    options = (
        Option("rate", "take so many samples per second of CPU time, or of an event", "HZ",
               whole_number(1, _MOST, _TOO_LARGE), RATE_HZ),
        Option("period", "take a sample every N events; of a clock, every N nanoseconds", "N",
               whole_number(1, _MOST, _TOO_LARGE)),
        Option("event", "sample these events, separated by commas (default: cpu-clock; see gnomon "
               "events)", "LIST", many=True),
        Option("stack", "copy so many kilobytes of stack with each sample (default: "
               f"{STACK_KB}, of Python processes {STACK_KB_MOST})", "KB",
               whole_number(1, STACK_KB_MOST, f"the kernel copies {STACK_KB_MOST} KB at most")),
        Option("python", "how Python functions are told: frames, read at each sample (the "
               "default), or trampoline, of CPython 3.12 and newer", "HOW",
               by_trampoline, False),
        Option("branches", BRANCHES_HELP),
        Option("off-cpu", "also record where threads wait, for how long and for what: yes, no, or "
               "auto (the default): where the kernel lets stacks be taken, and as long as it costs "
               "little", "WHEN", choice("yes", "no", "auto"), "auto"),
        Option("keep-stacks", "keep the registers and stacks of samples in the run, until they are "
               "so many megabytes: for bug reports and tests of the unwinder", "MB",
               whole_number(1, KEEP_MB_MOST, f"at most {KEEP_MB_MOST} MB")),
    )  # fmt: skip

    def availability(self) -> Availability:
        """Return whether the kernel lets this user sample programs."""
        from gnomon.sampling import rights

        return rights.availability()

    def observe(self, execution: Execution) -> Observer:
        """Return the sampler of an execution.

        Raises:
            GnomonError: an event cannot be sampled.
        """
        from gnomon.sampling.sampling_observer import SamplingObserver, SamplingOptions

        return SamplingObserver(
            execution.folder, SamplingOptions.of(execution.options), is_needed=execution.is_asked
        )

    def collect(self, folder: Path) -> Collected:
        """Return the samples of every task, of a killed `gnomon run` those up to then."""
        from gnomon.sampling.empty_files import may_have_samples

        files = list(folder.glob(f"*.{self.name}.gnrec"))
        if not any(map(may_have_samples, files)):
            return super().collect(folder)
        from gnomon.sampling import sample_tables

        return sample_tables.collect(folder)

    def files_to_keep(self, folder: Path) -> Mapping[str, Path]:
        """Return the files of kept stacks."""
        from gnomon.sampling.kept_files import kept_files

        return kept_files(folder)


SAMPLES = Samples()
