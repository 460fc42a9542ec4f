"""Write the names of functions that every MPI has as a table in C, for the preloaded stub.

    compile_mpi_entry_points.py OUT.h

The package is that of the source tree, which need not be built for it.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from gnomon.mpi.entry_points import c_table, common_entry_points

Path(sys.argv[1]).write_text(c_table(common_entry_points()), encoding="utf-8")
