"""What the server answers about call graphs: a part of `contract.py`."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt

from gnomon.model.array_types import Floats, Ints


class GraphModule(TypedDict):
    """A program or library whose functions are in a call graph."""

    name: str
    path: str
    """Where it is; the name where that is not known."""


class CallGraphData(TypedDict):
    """The functions of a run and the calls between them, as `gnomon callgraph` has them."""

    n: int
    """How many functions."""
    program: str
    metric: str
    unit: str
    how: str
    whole: float
    """What the program has of the metric."""
    counted: float
    """What functions have themselves that the selection lets through."""
    files: int
    """Of how many profiles it is the sum."""
    isEstimated: bool
    """What calls came to follows from their numbers."""
    names: list[str]
    modules: list[GraphModule]
    sources: list[str]
    """Source files that functions name by number."""
    own: Floats
    total: Floats
    """With what they call, those of their own cycle left out."""
    calls: Floats
    """From others; -1 where nobody counted them."""
    selfCalls: Floats
    cycle: Ints
    """Number of the cycle, 0 for none."""
    index: Ints
    """The number in brackets of reports: those with most first."""
    module: Ints
    source: Ints
    line: Ints
    isShown: npt.NDArray[np.uint8]
    """Not greyed by what was left out."""
    caller: Ints
    callee: Ints
    arcCalls: Floats
    """-1 where nobody counted them."""
    arcTotal: Floats
    """What these calls came to; 0 within a cycle."""
