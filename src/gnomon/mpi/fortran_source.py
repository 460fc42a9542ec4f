"""Interposers for Fortran's names of MPI's routines, which end the C file of wrappers.

Every argument of a Fortran routine is an address, but for the lengths of strings, which follow the
others by value. Open MPI's library for Fortran calls no C function that could be wrapped, so that
its routines are measured here, `mpi_x_` (mpif.h, `use mpi`) and `mpi_x_f08_` alike. MPICH's calls
the C function, which counts; here only the place in the program is noted that the call came from.
But of its `mpi_f08`, what has no choice buffer calls PMPI_X, and is measured here, too.
"""

from __future__ import annotations

from pathlib import Path

from gnomon.mpi.byte_rules import c_expression, rule_of
from gnomon.mpi.header import MPICH, OPEN_MPI
from gnomon.mpi.routines import BLOCKING, routines
from gnomon.mpi.wrapper import identifier
from gnomon.mpi.wrapper_source import (
    DOWN,
    NEVER_RETURN,
    RECORDED_AGAIN,
    UP,
    in_parts,
    is_pending,
    moved_quantities,
    pending_line,
    start_flags,
    start_line,
    tells_peer,
    verb,
    waits,
)
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.mpi.header import Header
    from gnomon.mpi.routines import Parameter, Routine

_HANDLES = {"COMMUNICATOR": "Comm", "DATATYPE": "Type", "OPERATION": "Op"}
_STRINGS = ("STRING", "STRING_ARRAY", "STRING_2DARRAY")
_RESULTS = {"WALL_TIME": "double", "TICK_RESOLUTION": "double", "LOCATION_SMALL": "MPI_Aint",
            "DISPLACEMENT": "MPI_Aint"}  # fmt: skip
_COMPLETIONS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")
# They convert between C, mpif.h and mpi_f08, and are not the same on both MPIs.
_LEFT_OUT = ("MPI_Status_f2f08", "MPI_Status_f082f", "MPI_Pcontrol")


def fortran_source(header: Header) -> str:
    """Return the interposers for an MPI; "" for one whose Fortran is not known.

    Raises:
        MpiError: the standard's data or `bytes.toml` is not usable.
    """
    if header.family not in (OPEN_MPI, MPICH):
        return ""
    definitions = []
    for routine in routines():
        if routine.fortran_parameters is None or routine.name in _LEFT_OUT:
            continue
        if _is_declared(routine, header):
            names = _open_mpi_names if header.family == OPEN_MPI else _mpich_names
            definitions.append((routine, _Interposers(routine, names(routine)).definition()))
    return "\n".join([_text("fortran_lookup.h"), _text("fortran.h"), in_parts(definitions)])


def fortran_names(
    routine: Routine, header: Header | None = None
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of a routine in Fortran, each with its aliases: of an MPI, else of any."""
    if routine.name == "MPI_Pcontrol":
        stem = routine.name.lower()
        return [(f"{stem}_", (stem, f"{stem}__", stem.upper())), (f"{stem}_f08_", ())]
    if routine.fortran_parameters is None or routine.name in _LEFT_OUT:
        return []
    names = []
    if header is None or (header.family == OPEN_MPI and _is_declared(routine, header)):
        names += _open_mpi_names(routine)
    if header is None or (header.family == MPICH and _is_declared(routine, header)):
        names += _mpich_names(routine)
    return list({name.name: (name.name, name.aliases) for name in names}.values())


def _is_declared(routine: Routine, header: Header) -> bool:
    # Open MPI's header has macros where the library for Fortran has functions.
    return routine.name in header.functions or bool(routine.fortran_result)


class _Name(NamedTuple):
    """A name of a routine in Fortran.

    Attributes:
        own: the MPI's own function, to be called.
        name: what programs call.
        aliases: other names of it, which other compilers make.
        is_measured: what it calls is no C function that could be wrapped.
    """

    own: str
    name: str
    aliases: tuple[str, ...]
    is_measured: bool


def _plain_name(routine: Routine, is_measured: bool, ending: str = "") -> _Name:
    stem = routine.name.lower() + ending
    aliases = (stem, f"{stem}__", stem.upper())
    return _Name(f"p{stem}_", f"{stem}_", aliases, is_measured)


def _open_mpi_names(routine: Routine) -> list[_Name]:
    if routine.is_large:
        return []
    stem = routine.name.lower()
    names = [_plain_name(routine, True), _Name(f"p{stem}_f08_", f"{stem}_f08_", (), True)]
    # For a type(C_PTR) in the place of an address.
    is_pointer = any(it.kind == "C_BUFFER" for it in routine.fortran_parameters or ())
    return [*names, _plain_name(routine, True, "_cptr")] if is_pointer else names


def _mpich_names(routine: Routine) -> list[_Name]:
    stem = routine.name.lower().removesuffix("_c") if routine.is_large else routine.name.lower()
    # Where a choice buffer comes as a descriptor, the C function is called, else its PMPI twin.
    with_buffer = any(it.kind == "BUFFER" for it in routine.fortran_parameters or ())
    ending = ("_f08ts" if with_buffer else "_f08") + ("_large_" if routine.is_large else "_")
    own = f"pmpir_{stem.removeprefix('mpi_')}{ending}"
    names = [_Name(own, f"{stem}{ending}", (), not with_buffer)]
    return names if routine.is_large else [_plain_name(routine, False), *names]


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _block(body: list[str]) -> list[str]:
    return ["{", *(f"\t{line}" if line else "" for line in body), "}"]


def _if_successful(lines: list[str]) -> list[str]:
    if not lines:
        return []
    return ["if (*gn_error == MPI_SUCCESS) {", *(f"\t{line}" for line in lines), "}"]


class _Interposers:
    """All names of a routine. Those that are measured are one function with names for each."""

    def __init__(self, routine: Routine, names: list[_Name]) -> None:
        self.routine = routine
        self.names = names
        self.parameters = routine.fortran_parameters or ()
        self.by_name = {parameter.name: parameter for parameter in self.parameters}
        self.result = _RESULTS.get(routine.fortran_result, "")
        self.stem = routine.name.removeprefix("MPI_")

    def definition(self) -> str:
        """Return the functions, and their other names."""
        result = self.result or "void"
        lines = [f"typedef {result} gn_f_{self.stem}_t({', '.join(self._declared) or 'void'});"]
        if any(name.is_measured for name in self.names):
            parameters = [f"gn_f_{self.stem}_t *gn_own", "void *gn_caller", "void *gn_frame"]
            head = f"GN_SELDOM {result} gn_f_{self.stem}({', '.join(parameters + self._declared)})"
            lines += [head, *_block(self._measured_body())]
        for name in self.names:
            lines += self._function(name)
        return "\n".join([*lines, ""])

    def _function(self, name: _Name) -> list[str]:
        own = f"GN_F_OWN({name.own})"
        # Of one that is not measured, the C function that is called in the end leads to the tool.
        next_function = f"gn_next_{name.name}"
        pointer = [f"GN_F_NEXT gn_f_{self.stem}_t *{next_function};"] if name.is_measured else []
        if name.is_measured:
            own = f"{next_function} ? {next_function} : {own}"
            passed = [own, "GN_PLACE", *self._passed()]
            body = [f"{'return ' if self.result else ''}gn_f_{self.stem}({', '.join(passed)});"]
        else:
            body = self._passing_body(f"{own}({', '.join(self._passed())})")
        return [
            f"extern gn_f_{self.stem}_t {name.own} __attribute__((weak));",
            *pointer,
            f"gn_f_{self.stem}_t {name.name};",
            f"{self.result or 'void'} {name.name}({', '.join(self._declared) or 'void'})",
            *_block(body),
            *(
                f'extern gn_f_{self.stem}_t {alias} __attribute__((alias("{name.name}")));'
                for alias in name.aliases
            ),
        ]

    @property
    def _lengths(self) -> list[str]:
        strings = [it for it in self.parameters if it.kind in _STRINGS]
        return [f"gn_length{number}" for number in range(1, len(strings) + 1)]

    @property
    def _declared(self) -> list[str]:
        texts = [f"{self._type(it)}{it.name}" for it in self.parameters]
        texts += [] if self.result else ["MPI_Fint *ierror"]
        return texts + [f"size_t {length}" for length in self._lengths]

    @staticmethod
    def _type(parameter: Parameter) -> str:
        return "void *" if parameter.kind == "BUFFER" else "MPI_Fint *"

    def _passed(self, replaced: str = "", error: str = "ierror") -> list[str]:
        passed = ["gn_status" if it.name == replaced else it.name for it in self.parameters]
        return [*passed, *([] if self.result else [error]), *self._lengths]

    def _passing_body(self, call: str) -> list[str]:
        taken = ["int gn_is_outermost = gn_fortran_enter(GN_PLACE);"]
        if self.result:
            return [
                *taken,
                f"{self.result} gn_result = {call};",
                "",
                "gn_fortran_leave(gn_is_outermost);",
                "return gn_result;",
            ]
        return [*taken, "", f"{call};", "gn_fortran_leave(gn_is_outermost);"]

    def _measured_body(self) -> list[str]:
        begin = verb(self.routine, "begin")
        number = identifier(self.routine.name)
        plain = f"gn_own({', '.join(self._passed())})"
        begun = [f"if (!{begin}(&gn_call, {number}, gn_caller, gn_frame))"]
        stop = f"{verb(self.routine, 'stop')}(&gn_call);"
        if self.result:
            return [
                "struct gn_mpi_call gn_call;",
                f"{self.result} gn_result;",
                "",
                *begun,
                f"\treturn {plain};",
                f"gn_result = {plain};",
                stop,
                "gn_mpi_end(&gn_call);",
                "return gn_result;",
            ]
        declared, before, replaced, after = self._statuses()
        comm = self._first("COMMUNICATOR")
        waiting, waited = waits(self.routine, self._arguments()[comm.name] if comm else "")
        lines = ["struct gn_mpi_call gn_call;", "MPI_Fint gn_own_error, *gn_error;", *declared]
        lines += [*waiting[:1], ""]
        # Of mpi_f08, the error is optional.
        lines.append("gn_error = ierror ? ierror : &gn_own_error;")
        lines += [RECORDED_AGAIN] if self.routine.name in DOWN else []
        lines += [*begun, f"\t{{ {plain}; return; }}"]
        down = ["gn_mpi_down(&gn_call);"] if self.routine.name in DOWN else []
        if self.routine.name in NEVER_RETURN:
            call = f"gn_own({', '.join(self._passed('', 'gn_error'))});"
            return [*lines, *self._told(False), *down, stop, "gn_mpi_end(&gn_call);", call]
        lines += down
        lines += [*before, *self._told_before(), *waiting[1:]]
        lines += [f"gn_own({', '.join(self._passed(replaced, 'gn_error'))});", stop, *after]
        lines += _if_successful(self._told(bool(replaced)))
        return [*lines, "gn_mpi_end(&gn_call);", *waited, *_if_successful(self._started())]

    def _arguments(self) -> dict[str, str]:
        """Return C for each parameter, as the expressions of bytes.toml want it."""
        arguments = {}
        for it in self.parameters:
            if it.kind == "BUFFER":
                arguments[it.name] = f"gn_f_buffer({it.name})"
            elif it.is_array:
                arguments[it.name] = f"{it.name}"
            elif it.kind in _HANDLES:
                arguments[it.name] = f"PMPI_{_HANDLES[it.kind]}_f2c(*{it.name})"
            else:
                arguments[it.name] = f"(*{it.name})"
        return arguments

    def _first(self, kind: str) -> Parameter | None:
        return next((it for it in self.parameters if it.kind == kind), None)

    def _told_before(self) -> list[str]:
        lines = []
        comm = self._first("COMMUNICATOR")
        if comm and comm.direction == "inout":
            as_c = f"PMPI_Comm_f2c(*{comm.name})"
            lines.append(f"if ({as_c} != MPI_COMM_NULL)")
            lines.append(f"\t{verb(self.routine, 'set_communicator')}(&gn_call, {as_c});")
        if self.stem == "Request_free":
            lines.append("gn_f_freed(&gn_call, request);")
        return lines

    def _told(self, with_status: bool) -> list[str]:
        routine = self.routine
        lines = ["gn_mpi_up(&gn_call);"] if routine.name in UP else []
        arguments = self._arguments()
        comm = next(
            (it for it in self.parameters if it.kind == "COMMUNICATOR" and it.direction == "in"),
            None,
        )
        if comm and not tells_peer(routine):
            tell = verb(routine, "set_communicator")
            lines.append(f"{tell}(&gn_call, {arguments[comm.name]});")
        if self.stem == "Start":
            lines.append("gn_f_started(&gn_call, request, 1);")
        elif self.stem == "Startall":
            lines.append("gn_f_started(&gn_call, array_of_requests, *count);")
        if is_pending(routine):
            lines.append(pending_line(routine, arguments.get("source", "")))
        return [*lines, *([] if routine.is_persistent else self._moved(with_status))]

    def _moved(self, with_status: bool) -> list[str]:
        arguments = self._arguments()
        lines = []
        for quantity, text in moved_quantities(self.routine):
            if text.startswith("came("):
                c = "gn_f_status_bytes(gn_status)" if with_status else "0"
            else:
                c = c_expression(text, self.routine, arguments, "_f")
            lines.append(f"gn_call.{quantity} = {c};")
        if lines and self.routine.peer is not None:
            lines.append(f"gn_mpi_set_peer(&gn_call, {arguments['comm']}, *dest);")
        return lines

    def _started(self) -> list[str]:
        routine = self.routine
        if routine.mode == BLOCKING:
            return []
        start = f"gn_f_start(&gn_call, request, {start_flags(routine)});"
        if routine.is_persistent:
            return [*self._moved(False), start]
        return [start_line(routine, start)]

    def _statuses(self) -> tuple[list[str], list[str], str, list[str]]:
        """Return declarations, lines before, the argument that is replaced, and lines after."""
        status = self._first("STATUS")
        if self.stem in _COMPLETIONS and status:
            return self._completion(status)
        rule = rule_of(self.routine)
        if not rule or not rule.by_status or self.routine.mode != BLOCKING or not status:
            return [], [], "", []
        return (
            ["MPI_Fint gn_own_status[GN_F_STATUS], *gn_status;"],
            [f"gn_status = gn_f_ignored({status.name}) ? gn_own_status : {status.name};"],
            status.name,
            [],
        )

    def _completion(self, status: Parameter) -> tuple[list[str], list[str], str, list[str]]:
        request = self._first("REQUEST")
        index = self._first("INDEX")
        assert request is not None
        several = next((it for it in ("count", "incount") if it in self.by_name), "")
        n = f"*{several}" if several else "1"
        told = "gn_told(*gn_error)" + (" && *flag" if "flag" in self.by_name else "")
        done = f"{told} ? {n} : 0"
        if self.stem == "Wait":
            done = "1"
        elif "outcount" in self.by_name:
            done = f"{told} && *outcount != MPI_UNDEFINED ? *outcount : 0"
        elif index:
            done = f"{told} && *{index.name} != MPI_UNDEFINED ? 1 : 0"
        indices = f"{index.name}" if index else "NULL"
        return (
            ["struct gn_f_wait gn_wait;", "MPI_Fint *gn_status;"],
            [f"gn_status = gn_f_before(&gn_wait, &gn_call, {n}, {request.name}, {status.name});"],
            status.name,
            [
                f"gn_f_after(&gn_wait, &gn_call, *gn_error, {request.name}, {indices}, {done});",
            ],
        )
