"""Every routine of MPI for C, as data: parameters, class, mode and a number that stays.

What the MPI Forum publishes of its interfaces (`pympistandard`, MPI-1 to MPI-5) says of each
parameter what kind of thing it is and which way it goes. What a profiler needs besides is derived
here: the class that PeekPerf groups a routine in, whether it blocks, and which parameter is its
communicator, its request or its status.

Numbers: 1 to 45 are those routines that have an ID in the seed's `mpt.h` (section 4.5.3), in its
order, which is alphabetical. Behind them are all others of the standard with their large-count
twins (`MPI_Send_c`), then those that MPI-3 removed, each lot in alphabetical order, upper case
before lower. What an MPI declares beyond (`MPIX_...`) has numbers behind these, in alphabetical
order of that MPI's header (`gnomon.mpi.header`), so those hold for one MPI only. What a later
standard adds goes behind the rest, in `_ADDED`: a number once given is never another routine's.
"""

from __future__ import annotations

import re
from functools import cache

from gnomon.errors import MpiError
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

POINT_TO_POINT = "point to point"
COLLECTIVE = "collective"
ONE_SIDED = "one-sided"
IO = "I/O"
COMMUNICATOR = "communicator"
PROCESS = "process"
DATATYPE = "datatype"
ENVIRONMENT = "environment"

CLASSES = (
    POINT_TO_POINT,
    COLLECTIVE,
    ONE_SIDED,
    IO,
    COMMUNICATOR,
    PROCESS,
    DATATYPE,
    ENVIRONMENT,
)
"""Classes of routines; PeekPerf's four first, then the rest by what they are about."""

BLOCKING = "blocking"
NONBLOCKING = "nonblocking"
PERSISTENT = "persistent"
PARTITIONED = "partitioned"

WITH_ID = (
    "Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Barrier", "Bcast", "Bsend",
    "Bsend_init", "Buffer_attach", "Buffer_detach", "Comm_rank", "Gather", "Gatherv", "Ibsend",
    "Iprobe", "Irecv", "Irsend", "Isend", "Issend", "Probe", "Recv", "Recv_init", "Reduce",
    "Reduce_scatter", "Rsend", "Rsend_init", "Scatter", "Scatterv", "Send", "Send_init",
    "Sendrecv", "Sendrecv_replace", "Ssend", "Ssend_init", "Start", "Startall", "Test", "Testall",
    "Testany", "Testsome", "Wait", "Waitall", "Waitany", "Waitsome",
)  # fmt: skip
"""Routines with an ID in the seed's `mpt.h`, without `MPI_`: their numbers are 1 to 45."""

# Of MPI-1, removed in MPI-3.0; some MPIs still have them. Their parameters are not in the data.
REMOVED = (
    "Address", "Errhandler_create", "Errhandler_get", "Errhandler_set", "Type_extent",
    "Type_hindexed", "Type_hvector", "Type_lb", "Type_struct", "Type_ub",
)  # fmt: skip
# Of standards later than MPI-5.0, in the order in which this table came to know them.
_ADDED: tuple[str, ...] = ()

# Without a C binding, or no routine at all.
_FORTRAN_ONLY = ("MPI_F_sync_reg", "MPI_Sizeof")
_COLLECTIVES = (
    "Barrier|Bcast|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Reduce|Allreduce"
    "|Reduce_scatter(_block)?|Scan|Exscan"
)
# The first that fits the name without MPI_ is the class.
_CLASS_PATTERNS = (
    (
        POINT_TO_POINT,
        r"I?[bsr]?send(_init)?|I?m?recv(_init)?|I?m?probe|I?sendrecv(_replace)?|P(send|recv)_init"
        r"|Start(all)?|(Wait|Test)(all|any|some)?|Pready.*|Parrived|Cancel|Test_cancelled"
        r"|Request_(free|get_status.*)|((Comm|Session)_)?(Buffer_.*|.*_buffer)|Grequest_.*",
    ),
    (COLLECTIVE, rf"(I?neighbor_|I)?({_COLLECTIVES})(_init)?|Reduce_local"),
    (
        ONE_SIDED,
        r"Win_(?!.*(c2f|f2c|fromint|toint)$).*|R?(put|get|accumulate|get_accumulate)"
        r"|Fetch_and_op|Compare_and_swap",
    ),
    (IO, r"File_(?!.*(c2f|f2c|fromint|toint)$).*|Register_datarep"),
    (
        PROCESS,
        r"Comm_(spawn.*|accept|connect|join|disconnect|get_parent)|(Open|Close)_port"
        r"|(Publish|Lookup|Unpublish)_name",
    ),
    (
        COMMUNICATOR,
        r"(Comm|Group)_(?!.*(c2f|f2c|fromint|toint)$).*|Intercomm_.*|Cart_?.*|Graph_?.*"
        r"|Dist_graph.*|Topo_test|Dims_create|Attr_.*|Keyval_.*",
    ),
    (
        DATATYPE,
        r"Type_(?!.*(c2f|f2c|fromint|toint)$).*|(Un)?pack.*|(Get_)?address|Get_count|Get_elements.*"
        r"|Aint_.*|Status_set_elements.*",
    ),
)
_LARGE = "_c"


class Parameter(NamedTuple):
    """A parameter of a routine.

    Attributes:
        name: the standard's name.
        kind: the standard's kind, such as `BUFFER`, `DATATYPE`, `COMMUNICATOR`, `REQUEST`.
        direction: `in`, `out` or `inout`.
        is_array: it is an array, whose elements are of that kind.
    """

    name: str
    kind: str
    direction: str
    is_array: bool


class Routine(NamedTuple):
    """A routine for C.

    Attributes:
        number: what it is known by; see the module.
        name: with `MPI_`.
        parameters: those of C, in their order; () for routines that MPI-3 removed.
        routine_class: one of `CLASSES`.
        mode: `blocking`, `nonblocking`, `persistent` (its operation begins at MPI_Start) or
            `partitioned` (likewise, and in parts).
        is_neighbourhood: a collective over the neighbours in a topology.
        is_large: a large-count twin, whose counts are MPI_Count.
        fortran_parameters: those of Fortran, in their order, without the error; None where it has
            no such routine.
        fortran_result: what it returns there, as the standard names it; "" for a subroutine.
        is_known: the standard's data has its parameters.
    """

    number: int
    name: str
    parameters: tuple[Parameter, ...]
    routine_class: str
    mode: str
    is_neighbourhood: bool
    is_large: bool
    fortran_parameters: tuple[Parameter, ...] | None
    fortran_result: str
    is_known: bool

    def position(self, kind: str, directions: Iterable[str] = ("in", "out", "inout")) -> int | None:
        """Return where the first parameter of a kind and of one of some directions is."""
        for position, parameter in enumerate(self.parameters):
            if parameter.kind == kind and parameter.direction in directions:
                return position
        return None

    @property
    def is_persistent(self) -> bool:
        """Whether its operation begins with MPI_Start, each time anew."""
        return self.mode in (PERSISTENT, PARTITIONED)

    @property
    def communicator(self) -> int | None:
        """Where the communicator is that it works on; None for one that only makes some."""
        return self.position("COMMUNICATOR", ("in", "inout"))

    @property
    def may_wait_for_all(self) -> bool:
        """Whether it is a collective that all ranks of its communicator call, and wait for."""
        return (
            self.routine_class == COLLECTIVE
            and self.mode == BLOCKING
            and not self.is_neighbourhood
            and self.communicator is not None
        )

    @property
    def window(self) -> int | None:
        """Where its window is."""
        return self.position("WINDOW", ("in", "inout"))

    @property
    def file(self) -> int | None:
        """Where its file is."""
        return self.position("FILE", ("in", "inout"))

    @property
    def requests(self) -> int | None:
        """Where its request is, or the array of them."""
        return self.position("REQUEST")

    @property
    def statuses(self) -> int | None:
        """Where the status is that it sets, or the array of them."""
        return self.position("STATUS", ("out",))

    @property
    def peer(self) -> int | None:
        """Where the rank is that it sends to (point to point only)."""
        if self.routine_class != POINT_TO_POINT:
            return None
        return next((at for at, it in enumerate(self.parameters) if it.name == "dest"), None)


@cache
def routines() -> tuple[Routine, ...]:
    """Return all routines by their numbers: number 1 is the first.

    Raises:
        MpiError: the standard's data is not there, or is not what it should be.
    """
    entries = _entries()
    rest = sorted(
        name
        for entry in entries.values()
        for name in (
            [entry["name"], entry["name"] + _LARGE] if _is_large(entry) else [entry["name"]]
        )
        if name.removeprefix("MPI_") not in {*WITH_ID, *_ADDED}
    )
    names = [*(f"MPI_{name}" for name in WITH_ID), *rest, *(f"MPI_{name}" for name in REMOVED)]
    names += [f"MPI_{name}" for name in _ADDED]
    return tuple(_routine(number, name, entries) for number, name in enumerate(names, start=1))


@cache
def by_name() -> Mapping[str, Routine]:
    """Return all routines by their names with `MPI_`; MpiError as `routines`."""
    return {routine.name: routine for routine in routines()}


def extension(name: str, number: int) -> Routine:
    """Return a routine that the standard does not have: one of MPIX_, or of a later standard.

    One that the standard took over later is known by that.
    """
    twin = by_name().get(name.replace("MPIX_", "MPI_", 1))
    if twin:
        return twin._replace(number=number, name=name)
    return Routine(number, name, (), _class_of(name), BLOCKING, False, False, None, "", False)


@cache
def predefined_functions() -> frozenset[str]:
    """Return the functions that programs pass on and compare by address, as MPI_COMM_DUP_FN."""
    names = {e["name"] for e in _all_entries() if e["attributes"]["predefined_function"]}
    return frozenset(names | {f"{name}{_LARGE}" for name in names})


def _entries() -> dict[str, Any]:
    return {
        entry["name"]: entry
        for entry in _all_entries()
        if not entry["attributes"]["callback"]
        and not entry["attributes"]["predefined_function"]
        and not entry["name"].startswith("MPI_T_")
        and entry["name"] not in _FORTRAN_ONLY
    }


@cache
def _all_entries() -> tuple[dict[str, Any], ...]:
    import json
    from importlib import resources

    try:
        text = resources.files("pympistandard").joinpath("data", "apis.json").read_text()
        return tuple(json.loads(text).values())
    except (ImportError, OSError, ValueError) as error:
        raise MpiError(
            f"pympistandard: the MPI standard's data cannot be read ({error}); "
            "install Gnomon with its requirements"
        ) from error


def _is_large(entry: Mapping[str, Any]) -> bool:
    return any(parameter["kind"].startswith("POLY") for parameter in entry["parameters"])


def _routine(number: int, name: str, entries: Mapping[str, Any]) -> Routine:
    is_large = name not in entries and name.removesuffix(_LARGE) in entries
    entry = entries.get(name.removesuffix(_LARGE) if is_large else name)
    if entry is None:
        return Routine(number, name, (), _class_of(name), BLOCKING, False, False, None, "", False)
    kept = [
        parameter
        for parameter in entry["parameters"]
        if "c_parameter" not in parameter["suppress"].split()
        and (is_large or not parameter["large_only"])
    ]
    parameters = tuple(_parameter(parameter) for parameter in kept)
    fortran = tuple(
        _parameter(parameter)
        for parameter in entry["parameters"]
        if "f90_parameter" not in parameter["suppress"].split()
        and (is_large or not parameter["large_only"])
        and not (parameter["kind"] == "ERROR_CODE" and parameter["name"] == "ierror")
    )
    base = name.removesuffix(_LARGE) if is_large else name
    # Only mpi_f08 has large counts.
    expressible = "f08_expressible" if is_large else "f90_expressible"
    return Routine(
        number,
        name,
        parameters,
        _class_of(base),
        _mode_of(base, parameters),
        "eighbor_all" in base,
        is_large,
        fortran if entry["attributes"][expressible] else None,
        "" if entry["return_kind"] in ("ERROR_CODE", "NOTHING") else entry["return_kind"],
        True,
    )


def _parameter(parameter: Mapping[str, Any]) -> Parameter:
    return Parameter(
        parameter["name"],
        parameter["kind"].removeprefix("POLY"),
        parameter["param_direction"],
        parameter["length"] is not None and parameter["kind"] != "STRING",
    )


def class_of(name: str) -> str:
    """Return the class, one of `CLASSES`, of a routine by its name alone, whoever defines it."""
    return _class_of(name.removesuffix(_LARGE))


def may_wait_for_all(name: str) -> bool:
    """Return what `Routine.may_wait_for_all` is, by the name alone: its data takes long to read."""
    stem = name.removesuffix(_LARGE).removeprefix("MPIX_").removeprefix("MPI_")
    return class_of(name) == COLLECTIVE and not re.fullmatch(
        r"I.*|.*_init|.*_local|Neighbor_.*", stem, re.IGNORECASE
    )


def _class_of(name: str) -> str:
    stem = name.removeprefix("MPIX_").removeprefix("MPI_")
    for routine_class, pattern in _CLASS_PATTERNS:
        if re.fullmatch(pattern, stem, re.IGNORECASE):
            return routine_class
    return ENVIRONMENT


def _mode_of(name: str, parameters: Iterable[Parameter]) -> str:
    makes_request = any(
        it.kind == "REQUEST" and it.direction == "out" and not it.is_array for it in parameters
    )
    if not makes_request:
        return BLOCKING
    if name in ("MPI_Psend_init", "MPI_Precv_init"):
        return PARTITIONED
    return PERSISTENT if name.endswith("_init") else NONBLOCKING
