"""Names for the kinds of arrays that columns and nodes are kept in."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = npt.NDArray[np.object_]
Cells: TypeAlias = npt.NDArray[Any]
"""Numbers or texts, whatever a column has."""
