"""perf.data files, read by native/perf_data."""

from typing import Any

class FileError(Exception):
    """A file is damaged; its args are the offset and what is wrong there."""

class PerfFile:
    """A perf.data file, of which everything but the samples has been read.

    It keeps using the descriptor, and another one of a file without a name, to which records that
    are compressed are unpacked.
    """

    def __new__(cls, descriptor: int, unpacked: int) -> PerfFile:
        """Read it.

        Raises:
            FileError: it is damaged.
        """

    def facts(self) -> dict[str, Any]:
        """Return what records there are, and how the file ends."""

    def events(self) -> list[tuple[int, int, int, int, int, int, int]]:
        """Return type, config, period, sample type, flags, branch type and id of each event."""

    def notes(self) -> list[tuple[int, int, int]]:
        """Return kind, offset and bytes of what perf itself wrote: features, or 1024 + type."""

    def modules(self) -> list[tuple[int, bytes, bytes, int, int]]:
        """Return kind, path, build id, inode and pid of each module."""

    def symbols(self) -> list[tuple[int, int, bytes]]:
        """Return address, bytes and name of functions that were made in the kernel."""

    def place(self, module: int, path: bytes, segments: bytes) -> None:
        """Say where a module's file is here.

        Args:
            module: its number.
            path: of the file.
            segments: of what is loaded, each as offset, bytes and address, 64 bits each.
        """

    def read(self, machine: int) -> dict[str, Any]:
        """Return the samples, as bytes of the rows of native/perf_data/profile_reader.h.

        Args:
            machine: enum gn_unwind_machine of the recording one; -1: stacks are not unwound.

        Raises:
            FileError: it is damaged.
        """
