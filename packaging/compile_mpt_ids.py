"""Write the header of the IDs of MPI's routines: compile_mpt_ids.py OUT.h."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from gnomon.mpi.trace_ids import ids_header

Path(sys.argv[1]).write_text(ids_header(), encoding="utf-8")
