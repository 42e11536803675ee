"""Generated instances by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kanopy.instances.arguments import is_known
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.matching import three_dimensional_matching
from kanopy.instances.microdata import Microdata
from kanopy.instances.simulated import simc, simu
from kanopy.instances.synthetic import synthetic

GENERATORS: Mapping[str, Callable[..., Microdata | FrequencyProblem]] = MappingProxyType(
    {"synthetic": synthetic, "simu": simu, "simc": simc, "3dm": three_dimensional_matching}
)


def generate(name: str, **parameters: Any) -> Any:
    """An instance of a generator of :data:`GENERATORS`, with its parameters by name.

    ``"3dm"`` gives a :class:`FrequencyProblem`, the others give :class:`Microdata`.

    >>> generate("synthetic", n=60, p=0.2, k=3, seed=1).n
    60
    """
    if not is_known(name, GENERATORS):
        raise unknown("generator", name, GENERATORS)
    generator = GENERATORS[name]
    known = inspect.signature(generator).parameters
    for parameter in parameters:
        if parameter not in known:
            raise KanopyError(
                f"{name!r} has no parameter {parameter!r}; choose from: {', '.join(known)}"
            )
    return generator(**parameters)
