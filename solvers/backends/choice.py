"""Which back-end solves a program."""

from __future__ import annotations

from kanopy.instances.errors import KanopyError, unknown
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.cpsat import CpsatBackend
from kanopy.solvers.backends.gurobi import GurobiBackend
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Backend
from kanopy.solvers.backends.scip import ScipBackend

_ADDED: dict[str, Backend] = {}


def register_backend(adapter: Backend) -> None:
    """Offer a further solver under its name, wherever an option ``backend`` is asked."""
    _ADDED[adapter.name] = adapter


def backends() -> dict[str, Backend]:
    """Every adapter by name; its ``unavailable()`` says whether it can be used here.

    >>> list(backends())
    ['highs', 'gurobi', 'scip', 'cpsat']
    """
    adapters: tuple[Backend, ...] = (
        HighsBackend(),
        GurobiBackend(),
        ScipBackend(),
        CpsatBackend(),
    )
    return {adapter.name: adapter for adapter in adapters} | _ADDED


def find_backend(name: str) -> Backend:
    """The back-end of that name, or an error that lists all.

    >>> find_backend("highs").capabilities.duals
    True
    """
    known = backends()
    if name not in known:
        raise unknown("back-end", name, known)
    return known[name]


def default_backend(form: LinearForm) -> Backend:
    """HiGHS for a linear objective; for a quadratic one Gurobi if its licence allows, else SCIP."""
    if form.quadratic is None or not form.quadratic.count_nonzero():
        return HighsBackend()
    gurobi, scip = GurobiBackend(), ScipBackend()
    if gurobi.unavailable() is None and gurobi.refusal(form) is None:
        return gurobi
    if scip.unavailable() is None:
        return scip
    raise KanopyError(
        "the objective is quadratic and no back-end here takes it; get SCIP with: "
        "pip install 'kanopy[scip]', or Gurobi and a licence for programs of this size with: "
        "pip install 'kanopy[gurobi]'"
    )
