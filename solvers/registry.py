"""The registry: a method is a function that registers itself under its published name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from keyword import iskeyword
from typing import Any, TypeVar

import numpy as np

from kanopy.instances.arguments import is_known, mapping
from kanopy.instances.errors import KanopyError, unknown
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.run import Run

Solver = Callable[[Problem, Run, Any], Outcome]
F = TypeVar("F", bound=Solver)


@dataclass(frozen=True)
class NoOptions:
    """For methods without options."""


@dataclass(frozen=True)
class Method:
    """A method and what a user needs to know to choose it.

    ``kinds`` are the kinds of data it takes, ``costs`` the objectives it can answer for; ``exact``
    says that it proves optimality given time, ``bound`` that it returns a lower bound, ``links``
    that it keeps pairs of rows together or apart where the problem asks for that.
    """

    name: str
    shape: str
    costs: tuple[str, ...]
    kinds: tuple[str, ...]
    exact: bool
    bound: bool
    paper: str
    summary: str
    options: type
    run: Solver
    prepare: Callable[[Problem, Any], Problem] | None = None
    links: bool = False

    def parse(self, given: Mapping[str, Any]) -> Any:
        """Options object from a mapping; an unknown name is an error that lists the known ones.

        An option whose name is a word of Python's, such as ``lambda``, has an underscore at its end
        and goes by either name.
        """
        known = {option.name: option for option in fields(self.options)}
        given = mapping(given, "options", '{"runs": 10}')
        for name in given:
            if isinstance(name, str) and iskeyword(name) and f"{name}_" in given:
                raise KanopyError(f"option {name!r} of {self.name!r} is given twice")
        chosen: dict[str, Any] = {}
        for written, value in given.items():
            name = _as_field(written, known)
            if not is_known(name, known):
                if not known:
                    raise KanopyError(f"method {self.name!r} has no options, but got {name!r}")
                raise unknown(f"option of {self.name!r}", name, known)
            chosen[name] = value.item() if isinstance(value, np.generic) else value
            _check_type(self.name, known[name], chosen[name])
        return self.options(**chosen)


METHOD_PACKAGES = (
    "kanopy.solvers.heuristics",
    "kanopy.solvers.generalisation",
    "kanopy.solvers.frequency",
    "kanopy.solvers.branch_and_price",
    "kanopy.solvers.nominal",
)
"""Packages whose modules register methods."""

_METHODS: dict[str, Method] = {}


def register(
    name: str,
    *,
    shape: str = "partition",
    costs: tuple[str, ...],
    kinds: tuple[str, ...],
    paper: str,
    summary: str,
    exact: bool = False,
    bound: bool = False,
    options: type = NoOptions,
    prepare: Callable[[Problem, Any], Problem] | None = None,
    links: bool = False,
) -> Callable[[F], F]:
    """Register the decorated function ``(problem, run, options) -> Outcome`` under ``name``.

    It may raise KanopyError for input it cannot take, must report better solutions to ``run`` as it
    finds them if it runs for more than a second, and must return soon after ``run.stopping()``.
    ``prepare(problem, options)`` may complete the problem before the run, e.g. by the tolerance of
    a frequency cost; the objective that is reported and verified is that of the completed problem.
    """

    def add(function: F) -> F:
        if name in _METHODS and _METHODS[name].run.__module__ != function.__module__:
            raise KanopyError(f"method {name!r} is registered twice")
        _METHODS[name] = Method(
            name,
            shape,
            costs,
            kinds,
            exact,
            bound,
            paper,
            summary,
            options,
            function,
            prepare,
            links,
        )
        return function

    return add


def all_methods() -> dict[str, Method]:
    """Every registered method by name, sorted; imports all modules that hold methods."""
    _import_methods()
    return dict(sorted(_METHODS.items()))


@cache
def _import_methods() -> None:
    for name in METHOD_PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__, f"{name}."):
            importlib.import_module(module.name)


def find_method(name: str) -> Method:
    """The method of that name, or an error that lists all."""
    methods = all_methods()
    if not is_known(name, methods):
        raise unknown("method", name, methods)
    return methods[name]


def _as_field(name: Any, known: Mapping[str, Any]) -> Any:
    keyword = isinstance(name, str) and iskeyword(name)
    return f"{name}_" if keyword and f"{name}_" in known else name


def _check_type(method: str, option: Field[Any], value: Any) -> None:
    default = option.default if option.default is not MISSING else None
    if default is None:  # the method checks its own
        return
    wanted = type(default)
    if isinstance(value, int) and abs(value) >= 2**63:  # what no compiled loop can count to
        raise KanopyError(f"option {option.name!r} of {method!r} is too large; choose less")
    if wanted is tuple and isinstance(value, list):  # as JSON has it
        return
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return
    if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
        raise KanopyError(
            f"option {option.name!r} of {method!r} must be {wanted.__name__} like {default!r}, "
            f"got {type(value).__name__}"
        )
