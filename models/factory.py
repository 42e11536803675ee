"""``build``: every model of the papers by name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pyomo.environ as pyo

from kanopy.instances.arguments import whole_number
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.microdata import Microdata

Builder = Callable[..., Any]
F = TypeVar("F", bound=Builder)


@dataclass(frozen=True)
class _Model:
    """A builder, the kinds of data it takes, and whether a FrequencyProblem will do as well."""

    builder: Builder
    kinds: tuple[str, ...]
    frequency: bool

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        named = dict(inspect.signature(self.builder).parameters)
        return {name: named[name] for name in named if name not in ("data", "k")}


_MODELS: dict[str, _Model] = {}


def register(name: str, *, kinds: tuple[str, ...], frequency: bool = False) -> Callable[[F], F]:
    """Register the decorated function ``(data, k, *, parameters) -> model`` under ``name``."""

    def add(builder: F) -> F:
        if name in _MODELS and _MODELS[name].builder.__module__ != builder.__module__:
            raise KanopyError(f"model {name!r} is registered twice")
        _MODELS[name] = _Model(builder, kinds, frequency)
        return builder

    return add


def model_names() -> list[str]:
    """Names that :func:`build` knows.

    >>> "chi-ex" in model_names()
    True
    """
    return sorted(_all_models())


def build(
    name: str, data: Microdata | FrequencyProblem, k: int, **parameters: Any
) -> pyo.ConcreteModel:
    """The Pyomo model of that name.

    Parameters
    ----------
    name
        One of :func:`model_names`; the module of the same name in ``kanopy.models`` states the
        formulation, the names of its components and its parameters.
    data
        The instance, or for the models of counts a FrequencyProblem, whose k, tables, tolerances
        and total are then taken.
    k
        Least size of a class.
    parameters
        Parameters of the model; an unknown one is an error that lists those it has.

    Examples
    --------
    >>> from kanopy.instances.examples import example
    >>> model = build("safe-basic", example("safe-basic"), k=2, control=1)
    >>> [component.name for component in model.component_objects(pyo.Objective)]
    ['excess_error']
    """
    models = _all_models()
    if name not in models:
        raise unknown("model", name, sorted(models))
    chosen = models[name]
    _check_data(name, chosen, data, k)
    for parameter in parameters:
        if parameter not in chosen.parameters:
            raise unknown(f"parameter of model {name!r}", parameter, chosen.parameters)
    for parameter, described in chosen.parameters.items():
        if described.default is inspect.Parameter.empty and parameter not in parameters:
            raise KanopyError(f"model {name!r} needs the parameter {parameter!r}")
    return chosen.builder(data, int(k), **parameters)


def _check_data(name: str, chosen: _Model, data: Microdata | FrequencyProblem, k: int) -> None:
    whole_number(k, "k")
    if isinstance(data, FrequencyProblem):
        if not chosen.frequency:
            raise KanopyError(f"model {name!r} needs Microdata, not a FrequencyProblem")
        if k != data.k:
            raise KanopyError(f"k = {k}, but the frequency problem has k = {data.k}")
        return
    if not isinstance(data, Microdata):
        raise KanopyError(f"model {name!r} needs Microdata, got {type(data).__name__}")
    if not 2 <= k <= data.n:
        raise KanopyError(f"k = {k} with {data.n} rows; choose 2 ≤ k ≤ {data.n}")
    if data.kind not in chosen.kinds:
        raise KanopyError(
            f"model {name!r} needs {' or '.join(chosen.kinds)} quasi-identifiers, these are "
            f"{data.kind}; choose other columns in from_frame"
        )
    if int(data.stratum_of_row.max()) > 0:
        raise KanopyError(
            f"model {name!r} cannot keep strata apart; build one per stratum with data.restrict"
        )


def _all_models() -> dict[str, _Model]:
    package = importlib.import_module("kanopy.models")
    for module in pkgutil.iter_modules(package.__path__, "kanopy.models."):
        importlib.import_module(module.name)
    return _MODELS
