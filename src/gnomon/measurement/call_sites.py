"""Where processes called what is measured: stacks and call sites, each numbered once in all.

Frames of a file are a module and an offset in it, so that the ranks of a position-independent
program, each at other addresses, have the same ones. Ranks are alike: of those whose frames have
the same bytes one is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.measurement.call_paths import NONE, CallPaths, call_paths
from gnomon.measurement.size_classes import size_name
from gnomon.measurement.totals_file import CODE
from gnomon.model.inlining import PYTHON
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.symbols import Module, resolve
from gnomon.symbols.code_frames import CodeFrame, calling_frame, module_name, named_frames, unnamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gnomon.measurement.totals_file import TotalsFile

_JIT = "[jit]"
"""The module of code that is in no file, as samples have it."""
_PROGRAM = 0
"""The region and path of the program, from which all paths come."""
_UNKNOWN = -1
"""The number of no module; those below it are of Python functions."""
_LINE_MOST = (1 << 31) - 1
_BITS = 16
"""Of the number of a routine: a file has no more (totals_file.py)."""

Region = tuple[str, str, str, str, int, bool | None]
"""A row of the table of regions without its number."""


class SiteKinds(NamedTuple):
    """What regions of calls are called.

    Attributes:
        call: the kind of a routine, by the line that calls it.
        size: the kind of roots that are routines, with sizes below them.
        object: the kind of roots that are what calls have to do with (communicators, files), with
            routines below them.
        no_object: the root of calls that have to do with none.
        object_names: what those of a file are called, by their numbers.
    """

    call: str
    size: str
    object: str
    no_object: str
    object_names: Callable[[TotalsFile], Mapping[int, str]]


class CallSites:
    """The frames and call sites of several processes, and the paths that they are on.

    Files are added first; `resolve` finds names and makes paths, of which `of_sites`, `of_sizes`
    and `of_objects` give the numbers.

    Args:
        kinds: of the regions.

    Attributes:
        modules: of all files.
        regions: of all paths; number 0 is the program's.
        paths: of functions, sites, sizes and objects.
        has_calls: of each path, whether it is known how often it was entered: of no function.
    """

    def __init__(self, kinds: SiteKinds) -> None:
        self._kinds = kinds
        self.modules: list[Module] = []
        self.regions: dict[Region, int] = {("hpm", "", "", "", 0, None): _PROGRAM}
        self.paths = CallPaths(np.array([-1]), np.array([0]), np.array([0]), np.zeros(0, np.int64))
        self.has_calls = np.zeros(1, bool)
        self._module_numbers: dict[tuple[str, str], int] = {}
        self._codes: dict[tuple[str, str], int] = {}
        self._places: dict[tuple[int, int], int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._nodes_of_frames: dict[Any, NDArray[np.int64]] = {}
        self._routines: dict[str, int] = {}
        self._objects: dict[str, int] = {}
        self._sites, self._sizes, self._object_calls = _Keys(), _Keys(), _Keys()
        self._pairs: dict[str, dict[tuple[str, str], int]] = {}
        self._pair_paths: dict[str, NDArray[np.int64]] = {}

    def add(self, file: TotalsFile) -> None:
        """Take note of a process's sites, sizes and objects."""
        self._sites.add(self._site_keys(file))
        self._sizes.add(self._size_keys(file))
        self._object_calls.add(self._object_keys(file))

    def of_sites(self, file: TotalsFile) -> NDArray[np.int64]:
        """Return the path of each of a file's sites."""
        return self._sites.paths_of(self._site_keys(file))

    def of_sizes(self, file: TotalsFile) -> NDArray[np.int64]:
        """Return the path of each of a file's sizes."""
        return self._sizes.paths_of(self._size_keys(file))

    def of_objects(self, file: TotalsFile) -> NDArray[np.int64]:
        """Return the path of each of a file's sites among those of objects."""
        return self._object_calls.paths_of(self._object_keys(file))

    def number_pairs(self, kind: str, pairs: Sequence[tuple[str, str]]) -> NDArray[np.int64]:
        """Return numbers of regions below others, of a kind, for `of_pairs` once all are known."""
        known = self._pairs.setdefault(kind, {})
        return np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int64)

    def of_pairs(self, kind: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the path of each pair by its number."""
        return self._pair_paths[kind][numbers]

    # --- numbers of all files ---------------------------------------------------------------------

    def _site_keys(self, file: TotalsFile) -> NDArray[np.int64]:
        nodes, numbers, wanted = self._nodes_of(file), file.frames["frame"], file.sites["frame"]
        of_sites = np.full(len(wanted), -1)
        if len(numbers):
            places = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
            is_known = numbers[places] == wanted
            of_sites[is_known] = nodes[places[is_known]]
        return _joined(of_sites + 1, self._routines_of(file)[file.sites["routine"]])

    def _size_keys(self, file: TotalsFile) -> NDArray[np.int64]:
        classes = file.sizes["size_class"].astype(np.int64)
        return _joined(classes, self._routines_of(file)[file.sizes["routine"]])

    def _object_keys(self, file: TotalsFile) -> NDArray[np.int64]:
        own, inverse = np.unique(file.sites["object"], return_inverse=True)
        names, known = self._kinds.object_names(file), self._objects
        texts = [names.get(number, self._kinds.no_object) for number in own.tolist()]
        numbers = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
        of_sites = numbers[inverse.reshape(-1)]
        return _joined(of_sites, self._routines_of(file)[file.sites["routine"]])

    def _routines_of(self, file: TotalsFile) -> NDArray[np.int64]:
        known = self._routines
        return np.array([known.setdefault(name, len(known)) for name in file.routines], np.int64)

    def _nodes_of(self, file: TotalsFile) -> NDArray[np.int64]:
        """Return the node of each of a file's frames: a place, called from another node."""
        modules, codes, frames = self._modules_of(file), self._codes_of(file), file.frames
        key = (tuple(modules.items()), tuple(codes.items()), frames.tobytes())
        if key not in self._nodes_of_frames:
            of_frames: dict[int, int] = {}
            numbers = modules | codes
            places, nodes = self._places, self._nodes
            names = ("frame", "caller", "module", "offset")
            columns = (frames[name].tolist() for name in names)
            for frame, caller, module, offset in zip(*columns, strict=True):
                place = places.setdefault((numbers.get(module, _UNKNOWN), offset), len(places))
                node = (of_frames.get(caller, NONE), place)
                of_frames[frame] = nodes.setdefault(node, len(nodes))
            self._nodes_of_frames[key] = np.array(list(of_frames.values()), np.int64)
        return self._nodes_of_frames[key]

    def _codes_of(self, file: TotalsFile) -> dict[int, int]:
        """Return the number below `_UNKNOWN` that each of a file's Python functions has."""
        codes: dict[int, int] = {}
        for (kind, own), text in file.texts.items():
            path, newline, function = text.rpartition("\n")
            if kind == "code" and newline and own < CODE:
                number = self._codes.setdefault((function, path), len(self._codes))
                codes[own | CODE] = _UNKNOWN - 1 - number
        return codes

    def _modules_of(self, file: TotalsFile) -> dict[int, int]:
        """Return the number that each of a file's modules has among all."""
        modules: dict[int, int] = {}
        columns = (file.modules[name].tolist() for name in ("module", "build_id", "build_id_bytes"))
        for own, build_id, size in zip(*columns, strict=True):
            path = file.texts.get(("module", own), "")
            if not path:
                continue
            key = (path, build_id[:size].hex())
            modules[own] = self._module_numbers.setdefault(key, len(self.modules))
            if modules[own] == len(self.modules):
                began = 0.0 if key[1] else file.realtime_ns * 1e-9
                self.modules.append(Module(*key, began))
        return modules

    # --- names and paths --------------------------------------------------------------------------

    def resolve(self) -> tuple[Unavailable, ...]:
        """Find the names, and number the paths; return what has no names."""
        chains, missing = self._named()
        regions = [[self._region("cpu", *frame) for frame in chain] for chain in chains]
        parents, places = (np.array([node[at] for node in self._nodes], np.uint32) for at in (0, 1))
        self.paths = call_paths(places, parents, regions, _PROGRAM)
        self._add_sites(chains)
        routines, objects = list(self._routines), list(self._objects)
        self._add_pairs(
            self._kinds.size, self._sizes, lambda size, own: (routines[own], size_name(size))
        )
        self._add_pairs(
            self._kinds.object,
            self._object_calls,
            lambda number, own: (objects[number], routines[own]),
        )
        for kind, known in self._pairs.items():
            self._pair_paths[kind] = self._add_named(kind, list(known))
        kinds = np.array([region[0] != "cpu" for region in self.regions])
        self.has_calls = kinds[self.paths.regions] & (self.paths.parents >= 0)
        return missing

    def _region(self, kind: str, name: str, module: str = "", file: str = "", line: int = 0,
                is_inlined: bool | None = None) -> int:  # fmt: skip
        key = (kind, name, module, file, line, is_inlined)
        return self.regions.setdefault(key, len(self.regions))

    def _named(self) -> tuple[list[tuple[CodeFrame, ...]], tuple[Unavailable, ...]]:
        """Return the frames of each place, at least one."""
        chains: list[tuple[CodeFrame, ...]] = [(CodeFrame(_JIT, _JIT),)] * len(self._places)
        of_modules: dict[int, list[int]] = {}
        functions = list(self._codes)
        for place, (number, line) in enumerate(self._places):
            if number >= 0:
                of_modules.setdefault(number, []).append(place)
            elif number < _UNKNOWN:
                function, path = functions[_UNKNOWN - 1 - number]
                chains[place] = (CodeFrame(function, PYTHON, path, min(line, _LINE_MOST)),)
        offsets = np.array([offset for _, offset in self._places], np.uint64)
        resolution = resolve({self.modules[one]: offsets[of_modules[one]] for one in of_modules})
        for number, places in of_modules.items():
            module = self.modules[number]
            name, frames = module_name(module.path), resolution.frames.get(module)
            own = offsets[places]
            if frames is None:
                for place, offset in zip(places, own.tolist(), strict=True):
                    chains[place] = (CodeFrame(unnamed(name, offset), name),)
                continue
            for place, chain in zip(places, named_frames(frames, own, name), strict=True):
                chains[place] = chain
        return chains, tuple(
            missing._replace(event=f"names of {module_name(module.path)}")
            for module, missing in resolution.unavailable.items()
        )

    def _add_sites(self, chains: Sequence[Sequence[CodeFrame]]) -> None:
        """Add a path for each site, below the function that it is in."""
        routines, nodes = list(self._routines), list(self._nodes)

        def stack(node: int) -> Iterator[CodeFrame]:
            while node not in (-1, NONE):
                yield chains[nodes[node][1]][-1]
                node = nodes[node][0]

        regions, parents = [], []
        for key in self._sites.keys.tolist():
            node, routine = (key >> _BITS) - 1, routines[key & ((1 << _BITS) - 1)]
            parents.append(int(self.paths.of_nodes[node]) if node >= 0 else _PROGRAM)
            caller = calling_frame(stack(node))
            regions.append(
                self._region(self._kinds.call, routine, caller.module, caller.file, caller.line)
            )
        self.paths, self._sites.paths = self.paths.with_leaves(
            np.array(parents, np.int64), np.array(regions, np.int64)
        )

    def _add_pairs(
        self, kind: str, keys: _Keys, names_of: Callable[[int, int], tuple[str, str]]
    ) -> None:
        """Add two regions for each key, one below the other, which is a root."""
        pairs = [names_of(key >> _BITS, key & ((1 << _BITS) - 1)) for key in keys.keys.tolist()]
        keys.paths = self._add_named(kind, pairs)

    def _add_named(self, kind: str, pairs: Sequence[tuple[str, str]]) -> NDArray[np.int64]:
        outer, inner = (
            np.array([self._region(kind, pair[at]) for pair in pairs], np.int64) for at in (0, 1)
        )
        tree, above = self.paths.with_roots(outer)
        self.paths, paths = tree.with_leaves(above, inner)
        return paths


class _Keys:
    """Numbers that files have, each once, and the path of each.

    Attributes:
        keys: ascending.
        paths: of each key.
    """

    def __init__(self) -> None:
        self.keys = self.paths = np.zeros(0, np.int64)

    def add(self, keys: NDArray[np.int64]) -> None:
        own = np.unique(keys)
        if not np.isin(own, self.keys, assume_unique=True).all():
            self.keys = np.union1d(self.keys, own)

    def paths_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.paths[np.searchsorted(self.keys, keys)]
        return found


def _joined(above: NDArray[np.int64], routines: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one number for each two."""
    keys: NDArray[np.int64] = above << _BITS | routines
    return keys
