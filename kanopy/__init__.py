"""k-anonymity by optimisation: every answer comes with a bound.

>>> import kanopy as kn
>>> data = kn.example("testdata")
>>> solution = kn.solve(data, k=3, method="mdav")
>>> solution.objective
48.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are imported when first used, so that `import kanopy` and `kanopy --help` stay quick.
_HOME = {
    "FrequencyProblem": "kanopy.instances.frequency",
    "Hierarchy": "kanopy.instances.hierarchy",
    "KanopyError": "kanopy.instances.errors",
    "showing_values": "kanopy.instances.errors",
    "Microdata": "kanopy.instances.microdata",
    "best_known": "kanopy.archive",
    "build": "kanopy.models.factory",
    "datasets": "kanopy.instances.datasets",
    "example": "kanopy.instances.examples",
    "examples": "kanopy.instances.examples",
    "generate": "kanopy.instances.generators",
    "load": "kanopy.instances.datasets",
    "read_hierarchy": "kanopy.instances.hierarchy_file",
    "sample": "kanopy.instances.samplers",
    "write_hierarchy": "kanopy.instances.hierarchy_file",
    "evaluate": "kanopy.evaluation",
    "keep_best": "kanopy.archive",
    "methods": "kanopy.catalogue",
    "lower_bound": "kanopy.solvers.bounds",
    "solve": "kanopy.solving",
    "Solution": "kanopy.solution",
    "verify": "kanopy.verification",
    "VerificationError": "kanopy.verification",
    "First": "kanopy.solvers.stop",
    "GapReached": "kanopy.solvers.stop",
    "MaxIterations": "kanopy.solvers.stop",
    "MaxNodes": "kanopy.solvers.stop",
    "MaxRuntime": "kanopy.solvers.stop",
    "NoImprovement": "kanopy.solvers.stop",
}

__all__ = sorted([*_HOME, "__version__", "measures"])

if TYPE_CHECKING:
    from kanopy import measures as measures
    from kanopy.archive import best_known as best_known
    from kanopy.archive import keep_best as keep_best
    from kanopy.catalogue import methods as methods
    from kanopy.evaluation import evaluate as evaluate
    from kanopy.instances.datasets import datasets as datasets
    from kanopy.instances.datasets import load as load
    from kanopy.instances.errors import KanopyError as KanopyError
    from kanopy.instances.errors import showing_values as showing_values
    from kanopy.instances.examples import example as example
    from kanopy.instances.examples import examples as examples
    from kanopy.instances.frequency import FrequencyProblem as FrequencyProblem
    from kanopy.instances.generators import generate as generate
    from kanopy.instances.hierarchy import Hierarchy as Hierarchy
    from kanopy.instances.hierarchy_file import read_hierarchy as read_hierarchy
    from kanopy.instances.hierarchy_file import write_hierarchy as write_hierarchy
    from kanopy.instances.microdata import Microdata as Microdata
    from kanopy.instances.samplers import sample as sample
    from kanopy.models.factory import build as build
    from kanopy.solution import Solution as Solution
    from kanopy.solvers.bounds import lower_bound as lower_bound
    from kanopy.solvers.stop import First as First
    from kanopy.solvers.stop import GapReached as GapReached
    from kanopy.solvers.stop import MaxIterations as MaxIterations
    from kanopy.solvers.stop import MaxNodes as MaxNodes
    from kanopy.solvers.stop import MaxRuntime as MaxRuntime
    from kanopy.solvers.stop import NoImprovement as NoImprovement
    from kanopy.solving import solve as solve
    from kanopy.verification import VerificationError as VerificationError
    from kanopy.verification import verify as verify


def __getattr__(name: str) -> Any:
    if name == "measures":
        return importlib.import_module("kanopy.measures")
    if name not in _HOME:
        raise AttributeError(f"module 'kanopy' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
