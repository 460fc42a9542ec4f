"""The capability of this folder: sections that a program marks with libhpm."""

from __future__ import annotations

from gnomon.launch.capability import Capability, Execution
from gnomon.launch.options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.launch.observer import Observer
    from gnomon.model.capability_result import Collected


class Sections(Capability):
    """What programs with libhpm mark; one without it has no sections."""

    name = "sections"
    title = "sections that the program marks with libhpm"
    is_default = True
    options = (
        Option("call-paths", "keep a section's values for each call path that starts it, below the "
               "functions of that path (HPM_CALL_PATHS)"),
    )  # fmt: skip

    def observe(self, execution: Execution) -> Observer:
        """Return what tells libhpm how to keep values."""
        if not execution.options["call-paths"]:
            return super().observe(execution)
        from gnomon.sections.call_path_observer import CallPathObserver

        return CallPathObserver()

    def collect(self, folder: Path) -> Collected:
        """Return the sections of every process, of killed ones as far as they had come."""
        if not any(".hpm" in path.name for path in folder.iterdir()):
            return super().collect(folder)
        from gnomon.sections import section_tables

        return section_tables.collect(folder)


SECTIONS = Sections()
