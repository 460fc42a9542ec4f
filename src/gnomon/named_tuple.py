"""`NamedTuple` as that of `typing`, whose classes cost a tenth to define.

`typing` compiles a constructor for each class, and each annotation: a sixth of the start of
`gnomon count`. Here the constructor is C's and annotations stay text. Objects are the same, but for
the words of the TypeError of arguments that do not fit.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    try:
        from _collections import _tuplegetter

        from gnomon import _core
    except ImportError:  # the build of _core imports some of our modules
        from typing import NamedTuple as NamedTuple
    else:

        class _Base(_core.NamedTuple):
            __slots__ = ()

            def _replace(self, /, **values: object) -> _Base:
                result = self._make(map(values.pop, self._fields, self))
                if values:
                    raise ValueError(f"{type(self).__name__} has no fields {', '.join(values)}")
                return result

            def _asdict(self) -> dict[str, object]:
                return dict(zip(self._fields, self, strict=True))

            def __repr__(self) -> str:
                fields = [
                    f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)
                ]
                return f"{type(self).__name__}({', '.join(fields)})"

            def __getnewargs__(self) -> tuple[object, ...]:
                return tuple(self)

            @classmethod
            def _make(cls, values: object) -> _Base:
                return cls(*values)

        class _NamedTupleType(type):
            def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
                fields = tuple(body.get("__annotations__", ()))
                defaults = {field: body.pop(field) for field in fields if field in body}
                members = {field: _tuplegetter(index, "") for index, field in enumerate(fields)}
                members |= {
                    "_fields": fields,
                    "_field_defaults": defaults,
                    "__match_args__": fields,
                }
                return type(name, (_Base, *bases[1:]), {"__slots__": (), **members, **body})

        NamedTuple = type.__new__(_NamedTupleType, "NamedTuple", (), {})
