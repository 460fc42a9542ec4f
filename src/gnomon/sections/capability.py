"""The capability of this folder: sections that a program marks with libhpm."""

from __future__ import annotations

from gnomon.launch.capability import Capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.model.capability_result import Collected


class Sections(Capability):
    """What programs with libhpm mark; one without it has no sections."""

    name = "sections"
    title = "sections that the program marks with libhpm"
    is_default = True

    def collect(self, folder: Path) -> Collected:
        """Return the sections of every process, of killed ones as far as they had come."""
        if not any(".hpm" in path.name for path in folder.iterdir()):
            return super().collect(folder)
        from gnomon.sections import section_tables

        return section_tables.collect(folder)


SECTIONS = Sections()
