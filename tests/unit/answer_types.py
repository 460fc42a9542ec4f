"""Whether what the server answers is of the contract's types."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np


def faults(value: object, hint: Any, where: str = "answer") -> Iterator[str]:
    """Yield in which places a value of JSON, or an array, is not of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if origin is np.ndarray:
        if not isinstance(value, np.ndarray) or value.dtype != get_args(arguments[1])[0]:
            yield f"{where}: {value!r:.40}"
    elif origin is Literal:
        if value not in arguments:
            yield f"{where}: {value!r} is none of {arguments}"
    elif origin in (typing.Union, types.UnionType):
        if all(any(True for _ in faults(value, one)) for one in arguments):
            yield f"{where}: {value!r:.60} is no {hint}"
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where}: {value!r:.40} is no list"
        else:
            for at, one in enumerate(value):
                yield from faults(one, arguments[0], f"{where}[{at}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{where}: {value!r:.40} is no object"
    elif hasattr(hint, "__annotations__"):
        if not isinstance(value, dict):
            yield f"{where}: {value!r:.40} is no object"
            return
        fields = get_type_hints(hint)
        for name in sorted(fields.keys() ^ value.keys()):
            yield f"{where}.{name}: {'missing' if name in fields else 'not in the contract'}"
        for name in fields.keys() & value.keys():
            yield from faults(value[name], fields[name], f"{where}.{name}")
    elif hint is float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            yield f"{where}: {value!r:.40} is no number"
    elif type(value) is not hint:
        yield f"{where}: {value!r:.40} is no {hint.__name__}"
