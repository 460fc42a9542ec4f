"""The capabilities of Gnomon: what `gnomon run` can measure with.

A new one is a folder with an object of `Capability`, and a line here: the commands, the help and
the reports take their lists from this tuple, and what it hands over are rows of the model's tables.
"""

from __future__ import annotations

from gnomon.count.capability import COUNTERS, EMULATED, TIMES
from gnomon.io.capability import IO
from gnomon.launch.capability import Capability
from gnomon.mpi.capability import MPI
from gnomon.sampling.capability import SAMPLES
from gnomon.sections.capability import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.store.reports.report_part import ReportPart
    from gnomon.store.run_files import Reader

CAPABILITIES: tuple[Capability, ...] = (COUNTERS, SECTIONS, SAMPLES, MPI, IO, EMULATED)


def report_parts() -> tuple[ReportPart, ...]:
    """Return the parts of `gnomon report`: those of any run, then those of capabilities."""
    from gnomon.store.reports.report_parts import PARTS

    return (*PARTS, *(part for one in CAPABILITIES for part in one.report_parts))


def readers() -> tuple[Reader, ...]:
    """Return the readers of files that stand for a run: the store's, then those of capabilities."""
    from gnomon.store.run_files import READERS

    return (*READERS, *(reader for one in CAPABILITIES for reader in one.readers))


__all__ = ["CAPABILITIES", "SAMPLES", "TIMES", "readers", "report_parts"]
