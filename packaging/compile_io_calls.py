"""Write the wrappers of calls on files, from src/gnomon/io/calls.toml.

    compile_io_calls.py HEADER

HEADER is included by src/gnomon/io/native/io_calls.c alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from gnomon.io.calls import Call, calls, counted_names  # noqa: E402

_MODE = (
    "\tmode_t mode = 0;",
    "",
    "\tif (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {",
    "\t\tva_list list;",
    "",
    "\t\tva_start(list, {last});",
    "\t\tmode = va_arg(list, mode_t);",
    "\t\tva_end(list);",
    "\t}",
)
_ARGUMENT = (
    "\tva_list list;",
    "\tvoid *argument;",
    "",
    "\tva_start(list, {last});",
    "\targument = va_arg(list, void *);",
    "\tva_end(list);",
)


def main(header: str) -> None:
    """Write the header."""
    names = counted_names()
    numbers = {name: number for number, name in enumerate(names)}
    parts = [
        "/* Written by packaging/compile_io_calls.py. */",
        "const char *const gn_io_call_names[] = {",
        *(f'\t"{name}",' for name in names),
        "};",
        f"const uint32_t gn_io_n_calls = {len(names)};",
        *(wrapper(call, numbers) for call in calls()),
    ]
    Path(header).write_text("\n".join(parts) + "\n")


def wrapper(call: Call, numbers: Mapping[str, int]) -> str:
    """Return a call's function, and its other names.

    Args:
        call: the call.
        numbers: of names that calls are counted by.
    """
    dots = ["..."] if call.variadic else []
    declared = ", ".join([*call.parameters, *dots]) or "void"
    target = call.next.partition("(")[0] or call.name
    lines = [
        "",
        # The C library's headers have some of the names as macros, or for other symbols.
        f'{call.result} gn_io_as_{call.name}({declared}) __asm__("{call.name}");',
        f"{call.result} gn_io_as_{call.name}({declared})",
        "{",
        f"\tstatic __typeof__(&gn_io_as_{target}) next;",
    ]
    returns = call.result != "void"
    if returns:
        lines.append(f"\t{call.result} result;")
    lines += _variadic(call)
    lines += [f'\tGN_IO_FIND(next, "{target}", {_missing(call)});']
    lines += [f"\tstruct gn_io_call call = GN_IO_CALL({numbers[call.counted_as]});"]
    if call.source_name:
        lines.append(f"\tconst uint32_t source = {numbers[call.source_name]};")
    if call.before:
        # What is done before is no part of the call.
        lines += [
            f"\t{call.before};",
            "\tcall.begin = gn_bare_ticks(gn_io_uses_counter);",
        ]
    lines += [*_with_modules(call), f"\t{call.then};"]
    if returns:
        lines.append("\treturn result;")
    lines.append("}")
    lines += [f'__asm__(".globl {other}\\n.set {other}, {call.name}\\n");' for other in call.also]
    return "\n".join(lines)


def _variadic(call: Call) -> list[str]:
    text = {"mode": _MODE, "argument": _ARGUMENT}.get(call.variadic, ())
    return [line.replace("{last}", call.arguments[-1]) for line in text]


def _with_modules(call: Call) -> list[str]:
    """Return the call, or what modules of MIO do in its place where a file has some."""
    plain = _invocation(call)
    if not (call.shows or call.modules or call.settles):
        return plain
    has = "gn_io_asks_modules()"
    lines = [f"\tint settled[{max(len(call.settles), 1)}] = {{0}};", f"\tif ({has}) {{"]
    if call.shows:
        lines.append(f"\t\t{call.shows};")
    if call.modules:
        lines += [f"\t\tif ({call.modules})", "\t\t\tgoto done;"]
    lines += [f"\t\tsettled[{at}] = gn_io_settle({name});" for at, name in enumerate(call.settles)]
    lines += ["\t}", "\t{", *plain, "\t}"]
    lines += [
        f"\tif (__builtin_expect(settled[{at}], 0))\n\t\tgn_io_resume({name});"
        for at, name in enumerate(call.settles)
    ]
    lines.append("\t(void)settled;")
    if call.modules:
        lines.append("done:")
    if call.after:
        lines += [f"\tif ({has})", f"\t\t{call.after};"]
    return [*lines, "\t;"] if call.modules else lines


def _invocation(call: Call) -> list[str]:
    result = "result = " if call.result != "void" else ""
    if call.variadic == "list":
        rest = call.next.partition("(")[2]
        return [
            "\tva_list list;",
            "",
            f"\tva_start(list, {call.arguments[-1]});",
            f"\t{result}next({rest};",
            "\tva_end(list);",
        ]
    more = [call.variadic] if call.variadic else []
    return [f"\t{result}next({', '.join([*call.arguments, *more])});"]


def _missing(call: Call) -> str:
    if call.missing or call.result == "void":
        return call.missing
    if call.result.endswith("*"):
        return "NULL"
    return "0" if call.result == "size_t" else "-1"


main(sys.argv[1])
