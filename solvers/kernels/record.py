"""Records of arrays that compiled functions pass on by reference.

A named tuple goes by value: every function that takes or hands on one with dozens of arrays copies
them all, which triples the time to compile. A record is one pointer. It is declared like a named
tuple and made in compiled code, ``Index(source, rotation, …)``; Python sees its fields, too.
"""

from __future__ import annotations

import sys
from typing import Any, cast, dataclass_transform

import numpy as np
from numba import njit, types
from numba.experimental import structref

ZERO, ONE = cast(int, np.int64(0)), cast(int, np.int64(1))
NO, YES = cast(bool, np.bool_(False)), cast(bool, np.bool_(True))
"""Constants to call compiled functions with: one written out has a type of its own, for which the
function would be compiled once more."""


class RecordType(types.StructRef):
    """The type of a record in compiled code: constants given for a field are of its plain type."""

    def preprocess_fields(self, fields: Any) -> Any:
        return tuple(
            (name, types.unliteral(kind))  # type: ignore[no-untyped-call]
            for name, kind in fields
        )


@dataclass_transform()
def record(cls: type) -> Any:
    """Class decorator: the annotated fields of ``cls`` become those of a record."""
    names = list(cls.__annotations__)
    kind = type(f"{cls.__name__}Type", (RecordType,), {"__module__": cls.__module__})
    # Cached functions look the type up by its name.
    setattr(sys.modules[cls.__module__], kind.__name__, kind)
    structref.register(kind)  # type: ignore[no-untyped-call]
    members = {name: property(_getter(name)) for name in names}
    proxy = type(
        cls.__name__,
        (structref.StructRefProxy,),
        {"__module__": cls.__module__, "__doc__": cls.__doc__, **members},
    )
    structref.define_proxy(proxy, kind, names)  # type: ignore[no-untyped-call]
    return proxy


def _getter(name: str) -> Any:
    """A function that reads a field, compiled when Python first asks for it."""
    space: dict[str, Any] = {"__name__": __name__}
    exec(f"def read(record):\n    return record.{name}", space)
    return njit(space["read"])
