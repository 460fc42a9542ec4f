"""The wrappers of an MPI's routines, as one C file, from its header and the standard's data.

Each has the header's own prototype. It tells `wrapper.h` (native/mpi), which knows how to count,
when a call begins and ends, on which communicator it is, how many bytes it sent and received
(`bytes.toml`) and which requests it began or completed. Nothing that a program can see changes:
where it wants no status, MPI gets one of ours, and all else is passed on as it is.
"""

from __future__ import annotations

from gnomon.mpi.byte_rules import c_expression, rule_of
from gnomon.mpi.header import MPICH
from gnomon.mpi.own_status import OwnStatus
from gnomon.mpi.routine_tables import CHAIN, next_functions, number_constants
from gnomon.mpi.routines import (
    BLOCKING,
    ONE_SIDED,
    POINT_TO_POINT,
    by_name,
    extension,
    predefined_functions,
    routines,
)
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gnomon.mpi.header import Function, Header
    from gnomon.mpi.routines import Routine

WITHOUT_SYMBOL = "f08"
"""In names of functions for `mpi_f08` that mpi.h declares, but only the library for Fortran has."""

_TOOL_INTERFACE = "MPI_T_"
# Routines that begin MPI_COMM_WORLD in a process, and those that end it. Sessions have none.
UP = ("MPI_Init", "MPI_Init_thread")
DOWN = ("MPI_Finalize", "MPI_Abort")
RECORDED_AGAIN = "gn_mpi_control(1);"
"""Before what ends MPI, which all ranks have to see, whether MPI_Pcontrol(0) was called or not."""
NEVER_RETURN = ("MPI_Abort",)
# Of other classes, those that programs call in their innermost loops.
_QUICK = ("MPI_Comm_rank", "MPI_Comm_size", "MPI_Wtime")
# MPI_Comm_c2f and its kin are asked about MPI_COMM_NULL, too.
_CONVERSIONS = ("_c2f", "_f2c", "_toint", "_fromint")


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


def wrappers(header: Header) -> tuple[Wrapper, ...]:
    """Return what is wrapped of an MPI, by number.

    Raises:
        MpiError: the standard's data is not usable.
    """
    number = len(routines())
    wrapped = []
    for name, function in header.functions.items():
        if _reason(name):
            continue
        routine = by_name().get(name)
        if routine is None:
            number += 1
            routine = extension(name, number)
        wrapped.append(Wrapper(function, routine))
    return tuple(sorted(wrapped, key=lambda wrapper: wrapper.routine.number))


def names(header: Header) -> tuple[str, ...]:
    """Return the names of all routines by their numbers; the first, of number 0, is empty."""
    extensions = [it.routine.name for it in wrappers(header) if it.routine.number > len(routines())]
    return ("", *(routine.name for routine in routines()), *extensions)


def unwrapped(header: Header, exported: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return what an MPI has and is not wrapped, each with the reason.

    Args:
        header: what its header declares.
        exported: names of the functions that its library exports, so far as they are known.
    """
    reasons = {name: _reason(name) for name in header.functions if _reason(name)}
    for name in header.unprofiled:
        reasons[name] = _reason(name) or "the MPI has no PMPI function of that name to call"
    undeclared = {name.removeprefix("P") for name in exported if name.startswith(("MPI", "PMPI"))}
    for name in undeclared - set(header.functions) - set(reasons):
        reasons[name] = (
            _reason(name) or "mpi.h does not declare it, so that programs cannot call it"
        )
    return sorted(reasons.items())


def wrapper_source(header: Header, fortran: str = "") -> str:
    """Return the C file of wrappers for an MPI.

    Args:
        header: what its header declares.
        fortran: text of interposers for Fortran (`fortran_source`), which ends the file.

    Raises:
        MpiError: the standard's data or `bytes.toml` is not usable.
    """
    wrapped = wrappers(header)
    weak = [it.function.name for it in wrapped if WITHOUT_SYMBOL in it.function.name]
    return "\n".join(
        [
            "/* Generated by Gnomon (gnomon.mpi.wrapper_source) from this MPI's mpi.h. */",
            *_features(header),
            "#ifndef _GNU_SOURCE",
            "#define _GNU_SOURCE",
            "#endif",
            "#include <dlfcn.h>",
            "#include <link.h>",
            "#include <mpi.h>",
            "#include <stdarg.h>",
            "#include <stdint.h>",
            "#include <stdio.h>",
            "#include <stdlib.h>",
            "#include <string.h>",
            "",
            '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"',
            "",
            *number_constants((name, identifier(name)) for name in names(header)),
            '#include "wrapper.h"',
            "",
            _prologue(),
            *(f"#pragma weak P{name}" for name in weak),
            "",
            *next_functions((it.function.name, it.identifier) for it in wrapped),
            "#pragma GCC visibility push(default)",
            "",
            CHAIN,
            in_parts([(wrapper.routine, _definition(wrapper)) for wrapper in wrapped]),
            fortran,
            "#pragma GCC visibility pop",
            "",
        ]
    )


def _reason(name: str) -> str:
    """Return why a function is never wrapped, "" where it is."""
    if name in predefined_functions():
        return "programs pass its address on, and MPI compares it"
    if name.startswith(_TOOL_INTERFACE):
        return "of MPI's interface for tools, which programs measure with and do not work by"
    return ""


def _features(header: Header) -> list[str]:
    features = {
        "GN_HAS_LARGE_COUNTS": "MPI_Send_c",
        "GN_HAS_GET_ELEMENTS_X": "MPI_Get_elements_x",
        "GN_HAS_DIST_GRAPH": "MPI_Dist_graph_neighbors_count",
    }
    defined = [it for it, function in features.items() if function in header.functions]
    defined += ["GN_FORTRAN_CALLS_C"] if header.family == MPICH else []
    return [f"#define {it} 1" for it in defined]


def _prologue() -> str:
    from pathlib import Path

    return Path(__file__).with_name("prologue.h").read_text(encoding="utf-8")


def _definition(wrapper: Wrapper) -> str:
    """Return the function that takes the place of an MPI's own."""
    function = wrapper.function
    # The header may have a macro of that name.
    head = f"{function.result} ({function.name})({function.parameter_list})"
    body = _body(wrapper)
    return "\n".join([head, "{", *(f"\t{line}" if line else "" for line in body), "}", ""])


def _call(function: Function, replaced: str = "") -> str:
    passed = ["gn_status" if it.name == replaced else it.name for it in function.arguments]
    rest = ["GN_WORDS"] if "..." in function.parameter_list else []
    return f"gn_next_{function.name}({', '.join(passed + rest)})"


def _body(wrapper: Wrapper) -> list[str]:
    function, routine = wrapper.function, wrapper.routine
    own = OwnStatus.of(wrapper)
    returns = function.result != "void"
    declared = ["struct gn_mpi_call gn_call;", *own.declarations]
    declared += [f"{function.result} gn_result;"] if returns else []
    waiting, waited = waits(routine, wrapper.argument(routine.communicator))
    declared += waiting[:1]
    is_control = function.name == "MPI_Pcontrol"
    level = function.arguments[0].name if is_control else ""
    control = [f"GN_TAKE_WORDS({level});", f"gn_mpi_control({level});"] if is_control else []
    plain = f"return {_call(function)};" if returns else f"{{ {_call(function)}; return; }}"
    control += [RECORDED_AGAIN] if function.name in DOWN else []
    lines = [*declared, "", *control]
    lines += [f"if (!{verb(routine, 'begin')}(&gn_call, {wrapper.identifier}, GN_PLACE))"]
    lines += [f"\t{plain}", *own.before, *_before(wrapper), *waiting[1:]]
    if function.name in NEVER_RETURN:
        return [
            *lines,
            *_after(wrapper, ""),
            "gn_mpi_down(&gn_call);",
            "gn_mpi_stop(&gn_call);",
            "gn_mpi_end(&gn_call);",
            f"gn_result = {_call(function)};",
            "return gn_result;",
        ]
    lines += ["gn_mpi_down(&gn_call);"] if function.name in DOWN else []
    lines.append(f"{'gn_result = ' if returns else ''}{_call(function, own.replaced)};")
    lines += [f"{verb(routine, 'stop')}(&gn_call);", *own.after]
    lines += _if_successful(function, _after(wrapper, own.status))
    lines += ["gn_mpi_end(&gn_call);", *waited, *_if_successful(function, _started(wrapper))]
    return [*lines, "return gn_result;"] if returns else lines


def _if_successful(function: Function, lines: list[str]) -> list[str]:
    if lines and function.result == "int":
        return ["if (gn_result == MPI_SUCCESS) {", *(f"\t{line}" for line in lines), "}"]
    return lines


def _before(wrapper: Wrapper) -> list[str]:
    """Return what has to be told before MPI is called, because it is gone afterwards."""
    lines = []
    routine = wrapper.routine
    communicator = routine.communicator
    if communicator is not None and routine.parameters[communicator].direction == "inout":
        name = wrapper.argument(communicator)
        lines.append(f"if ({name} && *{name} != MPI_COMM_NULL)")
        lines.append(f"\t{verb(routine, 'set_communicator')}(&gn_call, *{name});")
    if routine.name == "MPI_Request_free":
        lines.append(f"gn_mpi_freed(&gn_call, {wrapper.argument(routine.requests)});")
    return lines


def _after(wrapper: Wrapper, status: str) -> list[str]:
    """Return what is told of a call that has succeeded."""
    routine, arguments = wrapper.routine, wrapper.arguments
    lines = []
    if routine.name in UP:
        lines.append("gn_mpi_up(&gn_call);")
    if not arguments:
        return lines
    communicator = routine.communicator
    is_told = communicator is not None and not routine.name.endswith(_CONVERSIONS)
    if (
        is_told
        and not tells_peer(routine)
        and routine.parameters[communicator or 0].direction == "in"
    ):
        name = wrapper.argument(communicator)
        lines.append(f"{verb(routine, 'set_communicator')}(&gn_call, {name});")
    if routine.name == "MPI_Start":
        lines.append(f"gn_mpi_started(&gn_call, {wrapper.argument(routine.requests)});")
    elif routine.name == "MPI_Startall":
        count, requests = wrapper.argument(0), wrapper.argument(routine.requests)
        lines.append(f"for (int gn_i = 0; gn_i < {count}; gn_i++)")
        lines.append(f"\tgn_mpi_started(&gn_call, &{requests}[gn_i]);")
    if is_pending(routine):
        lines.append(pending_line(routine, arguments.get("source", "")))
    return [*lines, *([] if routine.is_persistent else _moved(wrapper, status))]


def _moved(wrapper: Wrapper, status: str) -> list[str]:
    """Return what is told of the data that an operation moves."""
    routine = wrapper.routine
    arguments = wrapper.arguments | ({"status": status} if status else {})
    lines = []
    for quantity, text in moved_quantities(routine):
        c = c_expression(text, routine, arguments, "_c" if routine.is_large else "")
        lines.append(f"gn_call.{quantity} = {c};")
    if routine.peer is not None:
        comm, peer = wrapper.argument(routine.communicator), wrapper.argument(routine.peer)
        lines.append(f"gn_mpi_set_peer(&gn_call, {comm}, {peer});")
    return lines


def moved_quantities(routine: Routine) -> list[tuple[str, str]]:
    """Return `sent` and `received` with their expressions, so far as they are known at once."""
    rule = rule_of(routine)
    if rule is None:
        return []
    received = "" if is_receive(routine) else rule.received
    return [(name, text) for name, text in (("sent", rule.sent), ("received", received)) if text]


def is_receive(routine: Routine) -> bool:
    """Return whether what its operation receives is known only when it is completed."""
    rule = rule_of(routine)
    return rule is not None and rule.by_status and routine.mode != BLOCKING


def verb(routine: Routine, name: str) -> str:
    """Return a function of wrapper.h, or of prologue.h where it may cost a call of its own."""
    return f"gn_mpi_{name}" if _is_quick(routine) else f"gn_{name}_seldom"


def in_parts(definitions: Collection[tuple[Routine, str]]) -> str:
    """Return definitions for routines, of which only those are optimized where that is felt.

    The others are hundreds, and most of what the compiler would have to do before a launch.
    """
    quick = [text for routine, text in definitions if _is_quick(routine)]
    seldom = [text for routine, text in definitions if not _is_quick(routine)]
    pragmas = ["#pragma GCC push_options", '#pragma GCC optimize ("O0")', ""]
    return "\n".join([*quick, *pragmas, *seldom, "#pragma GCC pop_options", ""])


def _is_quick(routine: Routine) -> bool:
    return routine.routine_class in (POINT_TO_POINT, ONE_SIDED) or routine.name in _QUICK


def waits(routine: Routine, communicator: str) -> tuple[list[str], list[str]]:
    """Return a declaration and what waits for all ranks to come, and what tells of that wait."""
    if not routine.may_wait_for_all or not communicator:
        return [], []
    wait = f"gn_waited = gn_mpi_wait_for_all(&gn_call, {communicator});"
    return ["uint64_t gn_waited;", wait], ["gn_mpi_waited(&gn_call, gn_waited);"]


def tells_peer(routine: Routine) -> bool:
    """Return whether a call tells the rank that it sends to, and the communicator with it."""
    return routine.peer is not None and not routine.is_persistent


def is_pending(routine: Routine) -> bool:
    """Return whether a call says nothing of the size of what its operation moves."""
    return is_receive(routine) or routine.is_persistent


def pending_line(routine: Routine, source: str) -> str:
    """Return what tells that the size is known later: never of what comes from nobody.

    Receives from MPI_PROC_NULL have one handle in common (Open MPI's ompi_request_empty).
    """
    may_be_nobody = bool(source) and not routine.is_persistent
    return f"gn_call.is_pending = {f'{source} != MPI_PROC_NULL' if may_be_nobody else '1'};"


def start_flags(routine: Routine) -> str:
    """Return in C what is told of the request that a routine makes, besides its quantities."""
    flags = ["GN_MPI_RECEIVES"] if is_receive(routine) else []
    flags += ["GN_MPI_PERSISTS"] if routine.is_persistent else []
    return " | ".join(flags) or "0"


def _started(wrapper: Wrapper) -> list[str]:
    """Return what is told, after the call has ended, of the request that it made.

    What a persistent one moves is moved by each start of it, not by the call that made it.
    """
    routine = wrapper.routine
    if routine.mode == BLOCKING or not wrapper.arguments:
        return []
    start = f"gn_mpi_start(&gn_call, {wrapper.argument(routine.requests)}, {start_flags(routine)});"
    if routine.is_persistent:
        return [*_moved(wrapper, ""), start]
    return [f"if (gn_call.is_pending)\n\t\t{start}" if is_pending(routine) else start]
