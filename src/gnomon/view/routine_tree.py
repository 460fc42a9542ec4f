"""The tree of MPI's calls: classes of routines, routines, and the places that call them."""

from __future__ import annotations

import numpy as np

from gnomon.model import forest
from gnomon.model.array_types import Cells, Ints
from gnomon.mpi import mpi_metrics, routines
from gnomon.view.path_names import NamedPaths
from gnomon.view.run_metadata import Dataset
from gnomon.view.tree import PathNodePairs, Tree, grouped

OTHER = "other"
NO_PLACE = "(place not known)"
# PeekPerf's classes; what is about communicators, types and the like is one more.
_CLASSES = (
    routines.POINT_TO_POINT, routines.COLLECTIVE, routines.ONE_SIDED, routines.IO, OTHER,
)  # fmt: skip


def has_routines(data: Dataset) -> bool:
    """Return whether a run has calls of MPI."""
    return bool((data.regions.kind == mpi_metrics.CALL).any())


def build(named: NamedPaths) -> Tree:
    """Return the tree of a run's calls of MPI; what else it has is in none of its nodes."""
    data, builder = named.data, named.builder
    kind = named.kinds.index(mpi_metrics.CALL) if mpi_metrics.CALL in named.kinds else -1
    calls = np.flatnonzero(named.kind == kind)
    class_of = {
        number: _class_number(builder.strings.text(number))
        for number in np.unique(named.name[calls]).tolist()
    }
    of_call = np.array([class_of[number] for number in named.name[calls].tolist()], np.int32)
    of_class, first = grouped(of_call)
    class_node = builder.add(
        np.zeros(len(first)), kind=builder.kind("class"),
        name=builder.strings.numbers([_CLASSES[number] for number in of_call[first].tolist()]),
    )[of_class]  # fmt: skip
    of_routine, first = grouped(class_node, named.name[calls])
    routine_node = builder.add(
        class_node[first], kind=builder.kind("routine"), name=named.name[calls[first]]
    )[of_routine]
    of_site, first = grouped(
        routine_node,
        named.module[calls],
        named.file[calls],
        named.line[calls],
        _caller(named, calls),
    )
    sites = calls[first]
    columns = named.about(sites)
    columns.update(name=_places(named, sites), region=-1)
    site_node = builder.add(routine_node[first], **columns)[of_site]
    inclusive = [PathNodePairs.of(named.roots, 0)]
    exclusive = [PathNodePairs.of(named.roots[~np.isin(named.roots, calls)], 0)]
    for nodes in (class_node, routine_node, site_node):
        group = np.full(len(named.parent), -1, dtype=np.int32)
        group[calls] = nodes
        outermost = np.flatnonzero(forest.first_of_their_kind(group, named.parent, data.walk))
        inclusive.append(PathNodePairs.of(outermost, group[outermost]))
        exclusive.append(PathNodePairs.of(calls, nodes))
    return builder.tree(PathNodePairs.joined(*inclusive), PathNodePairs.joined(*exclusive))


def _class_number(routine: str) -> int:
    name = routines.class_of(routine)
    return _CLASSES.index(name) if name in _CLASSES else _CLASSES.index(OTHER)


def _caller(named: NamedPaths, calls: Cells) -> Ints:
    """Return the name of the function that each call is in, where its line is not known."""
    parent = named.parent[calls]
    has_place = (named.line[calls] > 0) | (parent < 0)
    return np.where(has_place, 0, named.name[np.maximum(parent, 0)])


def _places(named: NamedPaths, sites: Cells) -> Ints:
    """Return names of sites: the function that calls, or else file and line."""
    strings = named.builder.strings
    texts = []
    for site in sites.tolist():
        file, line = strings.text(int(named.file[site])), int(named.line[site])
        parent = int(named.parent[site])
        caller = strings.text(int(named.name[parent])) if parent >= 0 else ""
        place = f"{file.rpartition('/')[2]}:{line}" if file and line else ""
        texts.append(caller or place or NO_PLACE)
    return strings.numbers(texts)
