"""Files of callgrind, and of others that write its format, as runs.

Self costs become rows of the profile, on a path below the program for each line of a function in
a file; calls, and what they came to, rows of `arcs`, from the line that calls; costs of
instructions (`--dump-instr=yes`) samples with their address, which callgrind writes as the
module's file has it, of position-independent programs, too. Parts of one file
(`--combine-dumps=yes`) are added up; their threads are locations. Functions that callgrind keeps
apart (`f'2` of a recursion) are functions of these names. Jumps are left out.

Source: Valgrind manual, "Callgrind Format Specification"; valgrind, callgrind/dump.c; KCachegrind,
libcore/cachegrindloader.cpp; xdebug and pprof, which write such files.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from gnomon.model.inlining import UNIQUE_NAMES
from gnomon.model.tables import (
    ARCS,
    LOCATIONS,
    MODULES,
    PATHS,
    PROFILE,
    REGIONS,
    SAMPLES,
    Table,
)
from gnomon.store import table_limits
from gnomon.store.profile_files import callgrind_events, profile_file
from gnomon.store.profile_files.stack_tables import ROOT
from gnomon.store.run import Run
from gnomon.store.unpacked_run import Put, run_of_pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon._core import Callgrind
    from gnomon.store.profile_files.callgrind_events import EventMetrics

FORMAT = "callgrind"
MARK = b"# callgrind format"
_HEADER = re.compile(rb"(?:[ \t\r]*|#.*|[A-Za-z][A-Za-z0-9_ ()]*:.*)")
_EVENTS = re.compile(rb"(?:events|creator):[ \t]*\S")
_AT_ONCE_BYTES = 1 << 20
_AT_ONCE = 1 << 17
_TEXT_AT_ONCE = 1 << 24
_NEW_ENOUGH = re.compile(r"callgrind-(?:3\.(?:1[3-9]|[2-9][0-9])|[4-9]\.)")
_COST = [("value", "i8"), ("of", "u4"), ("place", "u4"), ("event", "u4"), ("", "u4")]
_SAMPLE = [("value", "i8"), ("address", "u8"), ("line", "u4"), ("place", "u4"), ("event", "u4"),
           ("", "u4")]  # fmt: skip
_ARC = [("calls", "u8"), ("place", "u4"), ("caller", "u4"), ("callee", "u4"), ("", "u4")]
_TABLES_OF_THREADS = 3


def is_callgrind(start: bytes) -> bool:
    """Return whether a file begins with the headers of such files, packed or not."""
    if start.startswith(profile_file.GZIP):
        try:
            start = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(start, len(start))
        except zlib.error:
            return False
    if start.startswith(MARK):
        return True
    for line in start.split(b"\n"):
        if not _HEADER.fullmatch(line):
            return False
        if _EVENTS.match(line):
            return True
    return False


def open_callgrind(path: Path) -> Run:
    """Return a file of callgrind as a run.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte and the line.
    """
    return run_of_pieces(path, partial(fill_callgrind, path))


def fill_callgrind(path: Path, file: IO[bytes], put: Put) -> dict[str, Any]:
    """Hand on the tables of a file piece by piece, and return the head of the run.

    Args:
        path: to be named in errors.
        file: the content.
        put: takes the pieces.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte and the line.
    """
    return _Reader(path, profile_file.whole_content(path, file, FORMAT), put).result()


class _Reader:
    def __init__(self, path: Path, content: bytes, put: Put) -> None:
        from gnomon import _core

        self._path = path
        self._put = put
        self._size = len(content)
        self._has_threads = b"\nthread:" in content
        self._scan: Callgrind = _core.Callgrind(content, table_limits.ROWS_MOST[REGIONS.name] - 1)
        self._locations = Table(LOCATIONS)
        self._location_of: dict[tuple[int, int], int] = {}
        self._of_places: list[int] = []
        # Sums of places and metrics: on the path of the program.
        self._totals: dict[tuple[int, int], float] = {}

    def _fail(self, problem: str, offset: int = 0, line: int = 0) -> NoReturn:
        profile_file.refuse(self._path, offset, problem, FORMAT, line=line)

    def result(self) -> dict[str, Any]:
        """Hand on the tables and return the head."""
        import numpy as np

        while self._more():
            pass
        headers = self._headers()
        creator = headers.get("creator", [""])[0]
        n_parts, n_totals = self._scan.parts()
        if n_totals < n_parts and _NEW_ENOUGH.match(creator):
            self._fail("its end is missing: the line totals:", self._size)
        command = headers.get("cmd", [""])[0]
        words = profile_file.words(command) if command else [self._path.name]
        program = words[0].rpartition("/")[2] or self._path.name
        names = [_text(name) for name in self._scan.events()]
        events, warnings = callgrind_events.of_file(names, headers.get("event", []))
        described = [one.partition(":") for one in headers.get("desc", [])]
        origin = callgrind_events.Origin(
            creator, {name.strip(): told.strip() for name, _, told in described}, self._calls()
        )
        negative = [bool(one) for one in self._scan.negative()]
        metrics = callgrind_events.metrics(events, negative, origin)
        if not metrics.numbers or max(metrics.numbers) < 0:
            self._fail("it has no events without values below 0")
        self._location_of_places()
        self._locations.texts("name")[0] = program
        self._put(self._locations)
        self._put(metrics.table)
        self._put_code(program)
        self._put_costs(metrics)
        self._put_totals(np.array(self._of_places))
        self._put_arcs(metrics)
        head = profile_file.head(words, producer=creator, warnings=warnings + metrics.warnings)
        return head | {UNIQUE_NAMES: True}

    def _more(self) -> bool:
        """Read on, hand on the costs of instructions, and return whether there is more."""
        try:
            more = self._scan.scan(_AT_ONCE_BYTES)
        except ValueError as error:
            problem, offset, line = error.args
            self._fail(problem, offset, line)
        self._put_samples(self._scan.samples())
        return more

    def _headers(self) -> dict[str, list[str]]:
        headers: dict[str, list[str]] = {}
        for line in self._scan.headers():
            key, _, value = _text(line).partition(":")
            headers.setdefault(key.strip(), []).append(value.strip())
        return headers

    # --- locations --------------------------------------------------------------------------------

    def _location_of_places(self) -> None:
        """Number the locations of the places that have come so far."""
        import numpy as np

        places = np.frombuffer(self._scan.places(), "u4").reshape(-1, 3).astype(int) - 1
        if len(places) > table_limits.ROWS_MOST[LOCATIONS.name] // _TABLES_OF_THREADS:
            self._fail(f"more than {len(places)} threads")
        if not len(self._locations):
            self._locations.append((0, -1, "command", "", -1, -1, -1, ""))
        for pid, tid, _ in places[len(self._of_places) :].tolist():
            number = 0
            if pid >= 0:
                number = self._located("process", pid, -1, number)
            if self._has_threads:
                number = self._located("thread", pid, tid, number)
            self._of_places.append(number)

    def _located(self, kind: str, pid: int, tid: int, parent: int) -> int:
        key = (pid, tid if kind == "thread" else -2)
        number = self._location_of.get(key)
        if number is None:
            row = (len(self._locations), parent, kind, "", -1, pid, tid, "")
            number = self._location_of[key] = self._locations.append(row)
        return number

    # --- costs ------------------------------------------------------------------------------------

    def _put_samples(self, content: bytes) -> None:
        """Hand on the costs of instructions; metrics are numbered as events."""
        if not content:
            return
        import numpy as np

        self._location_of_places()
        rows = np.frombuffer(content, _SAMPLE)
        # Those of the kernel's half are beyond what the table holds.
        is_beyond = rows["address"] >> np.uint64(63) != 0
        if any(self._scan.negative()):
            self._fail("costs of instructions below 0")
        factors = np.array(
            [callgrind_events.unit_and_factor(_text(one))[2] for one in self._scan.events()]
        )
        n = len(rows)
        self._put(Table.of(
            SAMPLES,
            {
                "repetition": _same(0, n), "location": np.array(self._of_places)[rows["place"]],
                "path": rows["line"] + 1, "metric": rows["event"], "time_ns": _same(0, n, "q"),
                "address": np.where(is_beyond, 0, rows["address"]),
                "weight": rows["value"] * factors[rows["event"]],
            },
            {"time_ns": _same(True, n, "?"), "address": is_beyond},
        ))  # fmt: skip

    def _costs(
        self, take: Callable[[int, int], tuple[bytes, int]], metrics: EventMetrics
    ) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield sums of costs with metrics in the place of events: (begin, end, rows)."""
        import numpy as np

        of_events = np.array(metrics.numbers)
        factors = np.array(metrics.factors)
        begin = 0
        while True:
            content, end = take(begin, _AT_ONCE)
            rows = np.frombuffer(content, _COST)
            if end == begin:
                return
            value = rows["value"].astype("d")
            parts = [_costs(rows["of"], rows["place"], of_events[rows["event"]],
                            value * factors[rows["event"]])]  # fmt: skip
            # What belongs together stands together.
            first = np.flatnonzero(
                np.diff(rows["of"], prepend=-1) | np.diff(rows["place"], prepend=-1)
            )
            for metric, weights in metrics.defined if len(rows) else ():
                summed = np.add.reduceat(value * weights[rows["event"]], first)
                parts.append(_costs(rows["of"][first], rows["place"][first],
                                    np.full(len(first), metric), summed))  # fmt: skip
            all_rows = np.concatenate(parts)
            yield begin, end, all_rows[(all_rows["metric"] >= 0) & (all_rows["value"] > 0)]
            begin = end

    def _put_costs(self, metrics: EventMetrics) -> None:
        import numpy as np

        of_places = np.array(self._of_places)
        n_metrics = len(metrics.table)
        for _, _, rows in self._costs(self._scan.costs, metrics):
            self._put(_profile(of_places[rows["place"]], rows["of"] + 1, rows["metric"],
                               rows["value"], rows["value"]))  # fmt: skip
            keys, at = np.unique(rows["place"].astype("q") * n_metrics + rows["metric"],
                                 return_inverse=True)  # fmt: skip
            sums = np.bincount(at.reshape(-1), rows["value"], len(keys))
            for key, total in zip(keys.tolist(), sums.tolist(), strict=True):
                place = divmod(key, n_metrics)
                self._totals[place] = self._totals.get(place, 0.0) + total

    def _put_totals(self, of_places: NDArray[Any]) -> None:
        """Hand on what the program has: at each location, and together."""
        import numpy as np

        totals: dict[tuple[int, int], float] = {}
        for (place, metric), total in self._totals.items():
            for location in dict.fromkeys((0, int(of_places[place]))):
                totals[location, metric] = totals.get((location, metric), 0.0) + total
        keys = np.array(list(totals), int).reshape(-1, 2)
        n = len(totals)
        self._put(_profile(keys[:, 0], _same(ROOT, n), keys[:, 1], np.array(list(totals.values())),
                           _same(0.0, n, "d")))  # fmt: skip

    def _calls(self) -> bool:
        """Return whether any calls were counted."""
        import numpy as np

        begin = 0
        while content := self._scan.arcs(begin, begin + _AT_ONCE):
            if np.frombuffer(content, _ARC)["calls"].any():
                return True
            begin += _AT_ONCE
        return False

    def _put_arcs(self, metrics: EventMetrics) -> None:
        import numpy as np

        of_places = np.array(self._of_places)
        is_counted = self._calls()
        for begin, end, costs in self._costs(self._scan.inclusive, metrics):
            arcs = np.frombuffer(self._scan.arcs(begin, end), _ARC)
            n = len(arcs)
            # Who does not count calls writes 0 of all; else 0 came before what the file is of.
            uncounted = _same(not is_counted, n, "?")
            self._put(_arcs(
                of_places[arcs["place"]], arcs, _same(-1, n), arcs["calls"],
                _same(0.0, n, "d"), {"calls": uncounted, "inclusive": _same(True, n, "?")},
            ))  # fmt: skip
            of = arcs[costs["of"] - begin]
            n = len(of)
            self._put(_arcs(
                of_places[of["place"]], of, costs["metric"], _same(0, n, "q"), costs["value"],
                {"calls": _same(True, n, "?")},
            ))  # fmt: skip

    # --- code -------------------------------------------------------------------------------------

    def _put_code(self, program: str) -> None:
        """Hand on regions, paths and modules."""
        import numpy as np

        texts = [_text(one) for one in self._scan.texts()]
        functions = np.frombuffer(self._scan.functions(), "u4").reshape(-1, 3)
        lines = np.frombuffer(self._scan.lines(), "u4").reshape(-1, 3)
        modules = self._modules(texts, sorted(set(functions[:, 2].tolist())))
        names = _unique_names(texts, functions.tolist())
        lengths = np.array([len(one) for one in texts])
        sizes = np.array([len(name) for name in names], int) + lengths[functions[:, 2]]
        text_bytes = np.cumsum(sizes[lines[:, 0]] + lengths[lines[:, 1]])
        if len(lines) and text_bytes[-1] > table_limits.TEXTS_MOST_BYTES:
            self._fail(f"names of more than {table_limits.TEXTS_MOST_BYTES >> 20} MiB")
        self._put(Table(REGIONS, [(0, "hpm", program, program, "", 0, None)]))
        self._put(Table(PATHS, [(ROOT, -1, 0)]))
        begin = 0
        while begin < len(lines):
            before = text_bytes[begin - 1] if begin else 0
            end = int(np.searchsorted(text_bytes, before + _TEXT_AT_ONCE))
            end = min(max(end, begin + 1), begin + _AT_ONCE, len(lines))
            number = np.arange(begin + 1, end + 1)
            n = end - begin
            of = functions[lines[begin:end, 0]]
            self._put(Table.of(
                REGIONS,
                {
                    "region": number, "kind": ["cpu"] * n,
                    "name": [names[at] for at in lines[begin:end, 0].tolist()],
                    "module": [modules[at] for at in of[:, 2].tolist()],
                    "file": [texts[at] for at in lines[begin:end, 1].tolist()],
                    "line": lines[begin:end, 2],
                },
            ))  # fmt: skip
            self._put(Table.of(
                PATHS, {"path": number, "parent": _same(ROOT, n), "region": number}
            ))  # fmt: skip
            begin = end

    def _modules(self, texts: list[str], numbers: list[int]) -> dict[int, str]:
        """Hand on the modules, and return the name of each by the number of its text."""
        names: dict[int, str] = {}
        taken: set[str] = {""}
        for number in numbers:
            name = texts[number].rpartition("/")[2]
            names[number] = texts[number] if name in taken else name
            taken.add(names[number])
        self._put(Table(MODULES, [(name, texts[at], "") for at, name in names.items() if name]))
        return names


def _unique_names(texts: Sequence[str], functions: Sequence[Sequence[int]]) -> list[str]:
    """Return the name of each function, with its file where others of its program have it, too.

    Args:
        texts: that functions name by number.
        functions: the name, file and program of each.
    """
    same: dict[tuple[int, int], int] = {}
    for name, _, module in functions:
        same[name, module] = same.get((name, module), 0) + 1
    return [
        texts[name]
        if same[name, module] == 1 or not texts[file]
        else f"{texts[name]} ({texts[file]})"
        for name, file, module in functions
    ]


def _text(content: bytes) -> str:
    return content.decode(errors="backslashreplace")


def _same(value: float, n: int, kind: str = "i") -> NDArray[Any]:
    """Return a column of one value, which takes no memory."""
    import numpy as np

    return np.broadcast_to(np.array(value, kind), n)


def _costs(
    of: NDArray[Any], place: NDArray[Any], metric: NDArray[Any], value: NDArray[Any]
) -> NDArray[Any]:
    import numpy as np

    rows = np.empty(len(of), [("of", "i8"), ("place", "i4"), ("metric", "i4"), ("value", "d")])
    rows["of"], rows["place"], rows["metric"], rows["value"] = of, place, metric, value
    return rows


def _profile(
    location: NDArray[Any],
    path: NDArray[Any],
    metric: NDArray[Any],
    inclusive: NDArray[Any],
    exclusive: NDArray[Any],
) -> Table:
    n = len(path)
    missing = ("calls", "raw", "enabled_ns", "running_ns")
    columns = {
        "repetition": _same(0, n), "location": location, "path": path, "metric": metric,
        "inclusive": inclusive, "exclusive": exclusive,
        **{name: _same(0, n, "q") for name in missing},
    }  # fmt: skip
    return Table.of(PROFILE, columns, {name: _same(True, n, "?") for name in missing})


def _arcs(
    location: NDArray[Any],
    arcs: NDArray[Any],
    metric: NDArray[Any],
    calls: NDArray[Any],
    inclusive: NDArray[Any],
    masks: dict[str, NDArray[Any]],
) -> Table:
    columns = {
        "repetition": _same(0, len(arcs)), "location": location, "caller": arcs["caller"] + 1,
        "callee": arcs["callee"] + 1, "metric": metric, "calls": calls, "inclusive": inclusive,
    }  # fmt: skip
    return Table.of(ARCS, columns, masks)
