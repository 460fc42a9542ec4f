"""The names that programs call MPI by, in C and Fortran: what preloaded stubs have.

One stub goes into every process, whatever MPI it will have, if any: it has the names that every
MPI has. For the others there is a stub of each MPI with what this one has beyond: a program may ask
by a weak symbol whether a function is there, as mpi4py does.
"""

from __future__ import annotations

import re

from gnomon.mpi.fortran_source import fortran_names
from gnomon.mpi.routines import routines
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.mpi.header import Header

# What came after MPI 3.1, was removed before, or is a macro in some headers.
_NOT_EVERYWHERE = re.compile(
    r"""MPI_(?:
        \w+_(?:c|c2f|f2c|fromint|toint)
      | (?:Abi|Aint|Buffer|Session)_\w+
      | (?:All\w+|Barrier|Bcast|Exscan|Gatherv?|Neighbor_\w+|Reduce\w*|Scan|Scatterv?)_init
      | (?:Psend|Precv)_init | Pready\w* | Parrived | Isendrecv\w*
      | Address | Type_(?:extent|hindexed|hvector|lb|struct|ub|get_value_index)
      | Errhandler_(?:create|get|set) | Info_(?:create_env|get_string)
      | Comm_(?:create_from_group|idup_with_info|(?:attach|detach|flush|iflush)_buffer)
      | Intercomm_create_from_groups | Group_from_session_pset
      | Request_get_status_\w+ | Remove_error_\w+ | Get_hw_resource_info
      | Status_(?:c2f08|f082c|f082f|f2f08|[gs]et_(?:error|source|tag))
    )""",
    re.VERBOSE,
)


class EntryPoint(NamedTuple):
    """A function of MPI.

    Attributes:
        name: as the linker sees it.
        aliases: other names of it, by which other Fortran compilers call it.
    """

    name: str
    aliases: tuple[str, ...]


def common_entry_points() -> tuple[EntryPoint, ...]:
    """Return the functions that every MPI has.

    Raises:
        MpiError: the standard's data is not usable.
    """
    points: dict[str, EntryPoint] = {}
    for routine in routines():
        if not _NOT_EVERYWHERE.fullmatch(routine.name):
            points[routine.name] = EntryPoint(routine.name, ())
            for name, aliases in fortran_names(routine):
                points.setdefault(name, EntryPoint(name, aliases))
    return tuple(points.values())


def further_entry_points(header: Header) -> tuple[EntryPoint, ...]:
    """Return the functions of an MPI that others may lack.

    Raises:
        MpiError: the standard's data is not usable.
    """
    from gnomon.mpi.wrapper_source import wrappers

    points = {it.routine.name: EntryPoint(it.routine.name, ()) for it in wrappers(header)}
    for routine in routines():
        for name, aliases in fortran_names(routine, header):
            points.setdefault(name, EntryPoint(name, aliases))
    common = {point.name for point in common_entry_points()}
    return tuple(point for name, point in points.items() if name not in common)


def c_table(points: tuple[EntryPoint, ...]) -> str:
    """Return functions as the table that `native/entry_points.c` includes.

    It has no addresses, so that loading the library relocates nothing: a name is an offset in one
    long string.
    """
    lines = [f"#define GN_ENTRY_POINTS {len(points)}"]
    lines += ["#define GN_EACH_ENTRY_POINT(ENTRY, ALIAS)\\"]
    for number, (name, aliases) in enumerate(points):
        lines.append(f"\tENTRY({number}, {name})\\")
        lines += [f"\tALIAS({alias}, {name})\\" for alias in aliases]
    lines += ["", "static const char gn_entry_names[] ="]
    lines += [f'\t"{name}\\0"' for name, _ in points]
    offsets, offset = [], 0
    for name, _ in points:
        offsets.append(str(offset))
        offset += len(name) + 1
    lines[-1] += ";"
    lines += ["static const unsigned int gn_entry_name[] = {"]
    lines += [f"\t{', '.join(offsets[row : row + 12])}," for row in range(0, len(offsets), 12)]
    return "\n".join([*lines, "};", ""])
