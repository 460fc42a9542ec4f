"""One numbering of the call paths of several sets: a path is its parent and its region."""

from __future__ import annotations

from array import array
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from gnomon.model.tables import PATHS, Cell, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# From so many on paths are numbered all at once, if few of them are there already.
_MANY = 4096
_FEW = 64


class PathNumbers:
    """The paths so far, in the order of their numbers.

    Args:
        region: of the root, path 0, which the roots of all sets are but those of divisions.
    """

    def __init__(self, region: int) -> None:
        self._parents = array("i", [-1])
        self._regions = array("i", [region])
        # Of the first ones: others are added when they are looked for.
        self._numbers: dict[tuple[int, int], int] = {}

    def add(
        self, paths: Table, regions: Sequence[int], own_roots: Container[int] = ()
    ) -> Sequence[int]:
        """Take in a set's paths and return their numbers, in their order.

        Args:
            paths: parents before their children.
            regions: the new number of each path's region.
            own_roots: the regions whose paths are roots of their own, where they are any.

        Raises:
            KeyError: a parent is not before its child; its argument is the parent.
        """
        if len(paths) >= _MANY > len(self._parents):
            all_at_once = self._add_many(paths, regions)
            if all_at_once is not None:
                return all_at_once
        self._know_all()
        numbers = []
        own: dict[Cell, int] = {}
        for path, parent, region in zip(
            paths.values("path"), paths.values("parent"), regions, strict=True
        ):
            key = (-1 if parent == -1 else own[parent]), region
            is_root = parent == -1 and region not in own_roots
            number = 0 if is_root else self._numbers.setdefault(key, len(self._numbers))
            if number == len(self._parents):
                self._parents.append(key[0])
                self._regions.append(region)
            own[path] = number
            numbers.append(number)
        return numbers

    def table(self) -> Table:
        """Return all paths."""
        numbers = array("i", range(len(self._parents)))
        columns = {"path": numbers, "parent": self._parents, "region": self._regions}
        return Table.of(PATHS, columns)

    def _know_all(self) -> None:
        first = len(self._numbers)
        keys = zip(self._parents[first:], self._regions[first:], strict=True)
        self._numbers.update((key, first + at) for at, key in enumerate(keys))

    def _add_many(self, paths: Table, regions: Sequence[int]) -> array[int] | None:
        """Do as `add` does; None, and nothing is done, where that takes more than arrays."""
        import numpy as np

        from gnomon.store.keyed_sums import distinct_numbers

        parents, own = paths.numbers("parent").astype(np.int64), paths.numbers("path")
        order = np.arange(len(own))
        region = np.asarray(regions, dtype=np.int64)
        if (own != order).any() or parents[0] != -1:
            return None
        if (parents[1:] < 0).any() or (parents[1:] >= order[1:]).any():
            return None
        if len(distinct_numbers(parents << 32 | region)) < len(own):
            return None
        numbers = self._known_numbers(parents, region)
        if numbers is None:
            return None
        is_new = numbers < 0
        numbers[is_new] = len(self._parents) + np.arange(is_new.sum())
        self._parents.frombytes(numbers[parents[is_new]].astype(np.int32).tobytes())
        self._regions.frombytes(region[is_new].astype(np.int32).tobytes())
        new = array("i")
        new.frombytes(numbers.astype(np.int32).tobytes())
        return new

    def _known_numbers(
        self, parents: NDArray[np.int64], region: NDArray[np.int64]
    ) -> NDArray[np.int64] | None:
        """Return the number of each path that is there already, -1 for others; None: of many."""
        import numpy as np

        self._know_all()
        numbers = np.full(len(parents), -1)
        numbers[0] = 0
        ahead = [0]
        while ahead:
            if len(ahead) > _FEW:
                return None
            parent = ahead.pop()
            for path in np.flatnonzero(parents == parent).tolist():
                number = self._numbers.get((int(numbers[parent]), int(region[path])))
                if number is not None:
                    numbers[path] = number
                    ahead.append(path)
        return numbers
