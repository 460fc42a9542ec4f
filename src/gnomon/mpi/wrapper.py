"""A function of an MPI that is wrapped, with what the header and the standard say of it."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.mpi.header import Function
    from gnomon.mpi.routines import Routine


class Wrapper(NamedTuple):
    """A function of an MPI that is wrapped: as its header has it, and as the standard has it."""

    function: Function
    routine: Routine

    @property
    def identifier(self) -> str:
        """The constant of its number in C."""
        return identifier(self.routine.name)

    @property
    def arguments(self) -> dict[str, str]:
        """The header's names of its parameters by the standard's."""
        if len(self.routine.parameters) != len(self.function.arguments):
            return {}
        pairs = zip(self.routine.parameters, self.function.arguments, strict=True)
        return {parameter.name: argument.name for parameter, argument in pairs}

    def argument(self, position: int | None) -> str:
        """Return the header's name of a parameter, "" for none."""
        if position is None or not self.arguments:
            return ""
        return self.function.arguments[position].name


def identifier(name: str) -> str:
    """Return the constant in C for a routine's number: GN_MPI_ID_Send, GN_MPI_ID_X_Comm_agree."""
    return "GN_MPI_ID_" + name.replace("MPIX_", "X_", 1).replace("MPI_", "", 1)
