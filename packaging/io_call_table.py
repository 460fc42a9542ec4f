"""Write the reference of calls that `gnomon io` records from their list: docs/io/calls.md.

.venv/bin/python packaging/io_call_table.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

from gnomon.io.calls import POSIX, STDIO, Call, calls

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "io" / "calls.md"

_GROUPS = {
    "open": "open and close",
    "descriptor": "duplicate, control and lock descriptors",
    "read": "read",
    "write": "write",
    "copy": "copy from descriptor to descriptor",
    "seek": "move the position",
    "map": "map into memory",
    "size": "set sizes",
    "hint": "hint at what comes",
    "sync": "write to storage",
    "ask": "ask about files",
    "extended attributes": "extended attributes",
    "name": "name, rename and remove",
    "attributes": "set modes, owners and times",
    "directory": "directories",
    "asynchronous": "asynchronous I/O of POSIX",
}
_TEXT = """\
<!-- Made by packaging/io_call_table.py from src/gnomon/io/calls.toml: do not edit. -->

# Calls that are recorded

What `gnomon io` and `gnomon run --with io` count, under the name in front; names behind it are the
same call to them: for large files, checked by the compiler (`_FORTIFY_SOURCE`), or as programs call
it that were linked with an older C library.

## Calls of POSIX

{posix}

## Calls of stdio

Bytes of these are what the program moved in or out of a stream's buffer. What the C library does
with the kernel for that is not recorded. Of `fscanf` and the like it is not known how much they
read: they are counted.

{stdio}

## What is not recorded

- what the C library calls inside itself, as `fread` calls `read`, and what the loader reads to
  start the program;
- system calls that are made without the C library's functions: by `syscall(2)`, of static programs
  and of Go;
- requests of io_uring, but for their number;
- characters that `getc` and `putc` move as macros, in programs that were compiled with such;
- reads of memory that a file is mapped to. The report has the pages that were
  fetched for them, by file.

The report compares the bytes that the kernel counted with those of calls, and says when many are
missing.
"""


def main(page: Path) -> None:
    """Write the page."""
    page.write_text(_TEXT.format(posix=_table(POSIX), stdio=_table(STDIO)))


def _table(layer: str) -> str:
    lines = ["| to | calls |", "|---|---|"]
    own = [call for call in calls() if call.layer == layer]
    for group in dict.fromkeys(call.group for call in own):
        names: dict[str, list[str]] = {}
        for call in own:
            if call.group == group:
                names.setdefault(call.counted_as, []).extend(_names(call))
        cells = ", ".join(
            f"`{name}`" + (f" ({', '.join(f'`{one}`' for one in more)})" if more else "")
            for name, several in names.items()
            for more in [[one for one in several if one != name]]
        )
        lines.append(f"| {_GROUPS[group]} | {cells} |")
    return "\n".join(lines)


def _names(call: Call) -> list[str]:
    return [call.name, *call.also]


main(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE)
