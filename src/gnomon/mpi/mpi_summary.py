"""What the summary of `gnomon run` says of MPI: its share of the time, and where most of it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.mpi import mpi_text
from gnomon.mpi.mpi_metrics import OUTSIDE
from gnomon.mpi.mpi_sums import MpiSums
from gnomon.terminal_text import filled, share
from gnomon.units import number, printable

if TYPE_CHECKING:
    from gnomon.store.run import Run

_SITES = 5


def lines(run: Run, width: int, *, with_sites: bool = False) -> list[str]:
    """Return it in a sentence, none for a program without MPI.

    Args:
        run: the run.
        width: columns of the terminal.
        with_sites: add the sites with most time between MPI_Init and MPI_Finalize.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    sums = MpiSums(run)
    if not sums.is_there:
        return []
    brief = sums.heaviest()
    n = round(brief.processes / sums.executions)
    text = f"MPI: {number(n)} rank{'' if n == 1 else 's'}"
    if brief.mean is not None:
        text += (
            f", {share(brief.mean, 1)} of {'its' if n == 1 else 'their'} time in MPI "
            f"({share(brief.least, 1)} to {share(brief.most, 1)})"
        )
    if brief.site is not None:
        place = mpi_text.site_label(brief.site)
        text += f"; most, {share(brief.part, 1)}, in {place}"
    told = filled(printable(text), width, "  ", "    ")
    if with_sites:
        inside = [site for site in sums.sites() if site.routine not in OUTSIDE]
        table = mpi_text.site_table(inside, max(n, 1), width - 2, _SITES)
        # The last line counts the others, which the report has.
        told += ["  sites with most time in MPI:", *(f"  {line}" for line in table[: _SITES + 1])]
    return told
