"""What counts as bytes of a call of MPI, from `bytes.toml`: as C for wrappers, as text for people.

An expression is Python's grammar over the standard's parameters and the quantities that the head of
`bytes.toml` lists, and nothing else: no attribute, no other call.
"""

from __future__ import annotations

import ast
from functools import cache

from gnomon.errors import MpiError
from gnomon.mpi.routines import by_name
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.mpi.routines import Routine

CONSTANTS = {
    "IN_PLACE": "MPI_IN_PLACE",
    "NO_OP": "MPI_NO_OP",
    "PROC_NULL": "MPI_PROC_NULL",
    "ROOT": "MPI_ROOT",
}
# Functions of prologue.h, with the parameter of the routine that each needs.
QUANTITIES = {
    "ranks": "gn_ranks({comm})",
    "local_ranks": "gn_local_ranks({comm})",
    "rank": "gn_rank({comm})",
    "indegree": "gn_degree({comm}, 0)",
    "outdegree": "gn_degree({comm}, 1)",
    "at_root": "gn_at_root({root}, {comm})",
}
FUNCTIONS = {"bytes": "gn_bytes", "total": "gn_total", "total_bytes": "gn_total_bytes"}
_OPERATORS = {ast.Mult: "*", ast.Eq: "==", ast.NotEq: "!=", ast.Or: "||", ast.And: "&&"}
_TEXTS = {ast.Mult: "×", ast.Eq: "is", ast.NotEq: "is not", ast.Or: "or", ast.And: "and"}
_STATUS = "came"


class Rule(NamedTuple):
    """What counts as bytes of a routine and its twins.

    Attributes:
        routines: names without `MPI_`.
        sent: an expression, "" where nothing is sent.
        received: an expression, "" where nothing is received.
    """

    routines: tuple[str, ...]
    sent: str
    received: str

    @property
    def by_status(self) -> bool:
        """Whether what is received is known from a status."""
        return self.received.startswith(_STATUS)


class RuleText(NamedTuple):
    """A rule for people: names of routines with `MPI_`, and both quantities in words."""

    routines: tuple[str, ...]
    sent: str
    received: str


@cache
def rules() -> tuple[Rule, ...]:
    """Return the table; MpiError where it is not what it should be."""
    table = []
    for number, entry in enumerate(_document().get("rule", ()), start=1):
        rule = Rule(tuple(entry["routines"]), entry.get("sent", ""), entry.get("received", ""))
        for name in rule.routines:
            if f"MPI_{name}" not in by_name():
                raise MpiError(f"bytes.toml: rule {number}: MPI has no routine MPI_{name}")
        for text in (rule.sent, rule.received):
            if text:
                _tree(text)
        table.append(rule)
    return tuple(table)


@cache
def exceptions() -> Mapping[str, str]:
    """Return why routines have no rule though they have a buffer, by names with `MPI_`."""
    return {
        f"MPI_{name}": entry["reason"]
        for entry in _document().get("exception", ())
        for name in entry["routines"]
    }


def rule_of(routine: Routine) -> Rule | None:
    """Return the rule for a routine, which may be that of its twin; None: it moves no data."""
    table = _by_routine()
    for name in _twins(routine.name.removeprefix("MPIX_").removeprefix("MPI_")):
        if name in table:
            return table[name]
    return None


def exception_of(routine: Routine) -> str:
    """Return why a routine with a buffer has no rule, "" where none is given."""
    name = routine.name.removesuffix("_c") if routine.is_large else routine.name
    return exceptions().get(name, "")


def c_expression(text: str, routine: Routine, arguments: Mapping[str, str], array: str = "") -> str:
    """Return an expression in C for a routine.

    Args:
        text: the expression.
        routine: what it is for.
        arguments: C for each parameter of the routine, by the standard's name.
        array: how the functions end that take arrays as the routine has them: `_c` for MPI_Count,
            `_f` for Fortran's handles.

    Raises:
        MpiError: the routine has no such parameter, or the expression makes no sense.
    """
    return _c(_tree(text), routine, arguments, array)


def rule_texts() -> tuple[RuleText, ...]:
    """Return the table for people, in its order."""
    return tuple(
        RuleText(
            tuple(f"MPI_{name}" for name in rule.routines),
            _words(_tree(rule.sent)) if rule.sent else "none",
            _words(_tree(rule.received)) if rule.received else "none",
        )
        for rule in rules()
    )


def markdown() -> str:
    """Return the table as Markdown for the documentation."""
    lines = ["| routines | sent | received |", "|---|---|---|"]
    for text in rule_texts():
        names = ", ".join(f"`{name}`" for name in text.routines)
        lines.append(f"| {names} | {text.sent} | {text.received} |")
    return "\n".join(lines) + "\n"


@cache
def _document() -> dict[str, list[dict[str, str]]]:
    import tomllib
    from pathlib import Path

    path = Path(__file__).with_name("bytes.toml")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MpiError(f"{path.name}: cannot be read: {error}; install Gnomon again") from error


@cache
def _by_routine() -> Mapping[str, Rule]:
    return {name: rule for rule in rules() for name in rule.routines}


def _twins(name: str) -> list[str]:
    """Return a name without MPI_ and those that a rule for it may stand under, nearest first."""
    names = [name.removesuffix("_c")]
    names += [it.removesuffix("_init") for it in names if it.endswith("_init")]
    for it in tuple(names):
        if it[0] in "IR" and it[1:2].islower():
            names.append(it[1:].capitalize())
        elif it.startswith("File_i"):
            names.append(it.replace("File_i", "File_", 1))
    return names


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise MpiError(f"bytes.toml: '{text}': {error.msg}") from error


def _c(node: ast.expr, routine: Routine, arguments: Mapping[str, str], array: str) -> str:
    def part(inner: ast.expr) -> str:
        return _c(inner, routine, arguments, array)

    match node:
        case ast.Constant(value=int(number)):
            return str(number)
        case ast.Name(id=name):
            return _c_name(name, routine, arguments)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({part(test)} ? {part(body)} : {part(orelse)})"
        case ast.BoolOp(op=op, values=values):
            return f"({f' {_OPERATORS[type(op)]} '.join(map(part, values))})"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            return f"({part(left)} {_OPERATORS[type(op)]} {part(right)})"
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return f"((int64_t){part(left)} * {part(right)})"
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            return f"{_c_name(name, routine, arguments)}[{part(index)}]"
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in FUNCTIONS:
            ending = "" if name == "bytes" else array
            return f"{FUNCTIONS[name]}{ending}({', '.join(map(part, parts))})"
        case ast.Call(func=ast.Name(id=name), args=[status], keywords=[]) if name == _STATUS:
            return f"gn_status_bytes({part(status)})"
    raise MpiError(f"bytes.toml: '{ast.unparse(node)}' is no expression of this table")


def _c_name(name: str, routine: Routine, arguments: Mapping[str, str]) -> str:
    if name in arguments:
        return arguments[name]
    if name in CONSTANTS:
        return CONSTANTS[name]
    try:
        return QUANTITIES[name].format(**arguments)
    except KeyError as error:
        raise MpiError(f"bytes.toml: {routine.name} has no {error.args[0]}") from error


def _words(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) if name in CONSTANTS:
            return f"`{CONSTANTS[name]}`"
        case ast.Name(id=name):
            return f"`{name}`" if name not in QUANTITIES else name.replace("_", " ")
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"{_words(body)} if {_words(test)}, else {_words(orelse)}"
        case ast.BoolOp(op=op, values=values):
            return f" {_TEXTS[type(op)]} ".join(map(_words, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"{_words(left)} {_TEXTS[type(op)]} {_words(right)}"
        case ast.BinOp(left=left, op=op, right=right):
            return f"{_words(left)} {_TEXTS[type(op)]} {_words(right)}"
        case ast.Subscript(value=value, slice=index):
            return f"{_words(value)} of {_words(index)}"
        case ast.Call(func=ast.Name(id="bytes"), args=[count, datatype]):
            return f"{_words(count)} × size of {_words(datatype)}"
        case ast.Call(func=ast.Name(id="total"), args=[counts, number]):
            return f"(sum of {_words(counts)} over {_words(number)})"
        case ast.Call(func=ast.Name(id="total_bytes"), args=[counts, types, number]):
            return f"sum of {_words(counts)} × size of {_words(types)} over {_words(number)}"
        case ast.Call(func=ast.Name(id="came")):
            return "what came, by the status"
    return ast.unparse(node)
