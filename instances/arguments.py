"""What a user may hand over: each check turns a wrong type or size into one plain sentence."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from kanopy.instances.errors import KanopyError


def whole_number(value: object, name: str, least: int | None = None) -> int:
    """A whole number, no bool and no float, that is large enough.

    >>> whole_number(3, "rows", least=1)
    3
    >>> whole_number(2.0, "rows")
    Traceback (most recent call last):
    ...
    kanopy.instances.errors.KanopyError: rows must be a whole number, got float
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise KanopyError(f"{name} must be a whole number, got {type(value).__name__}")
    if least is not None and value < least:
        raise KanopyError(f"{name} = {value}; choose {name} ≥ {least}")
    return int(value)


def number(value: object, name: str) -> float:
    """A number, no bool and no text; limits, which NaN keeps none of, are for the caller to check.

    >>> number(2, "p")
    2.0
    """
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        raise KanopyError(f"{name} must be a number, got {type(value).__name__}")
    return float(value)


def checked_seed(seed: object) -> int:
    """A seed: the same one gives the same result, so there must be one.

    >>> checked_seed(7)
    7
    """
    return whole_number(seed, "seed", least=0)


def mapping(value: object, name: str, example: str) -> Mapping[Any, Any]:
    """A mapping; nothing at all is an empty one.

    >>> mapping(None, "weights", '{"age": 2}')
    {}
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise KanopyError(f"{name} must be a dict like {example}, got {type(value).__name__}")
    return value


def is_known(name: object, known: Container[str]) -> bool:
    """Whether it is one of these names; a list, say, is none of them.

    >>> is_known("b", {"a": 1, "b": 2}), is_known(["b"], {"a": 1, "b": 2})
    (True, False)
    """
    return isinstance(name, str) and name in known
