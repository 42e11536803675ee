r"""The initial feasible solution: sort by increasing variance, cut into k-sets (003, 2.3 and 2.4).

Rows are compared column by column, the column of least weight-adjusted variance

.. math:: wVar(c_j) = Var(c_j) / w_j^2 \qquad (36)

first. Consecutive rows of the sorted table make up the k-sets; the last one takes the n mod k rows
that are left.

Readings:

- The variance is that of the values in the table's own units, standardised or not: tables 9 and 10
  show them. So it depends on units, as published.
- A nominal column is compared by the numbers of its categories (003, 2.5): their alphabetical
  order unless the data say otherwise. A column of weight 0 comes last.
- Columns of equal variance (to twelve digits) are compared in the table's order, and equal rows
  stay in theirs.
- Appendix C prints {8,2,5} and {17,0,8,18,3} among the k-sets of the example. By table 2b these
  are {8,2,15} and {17,0,4,18,3}.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.columns import numeric_values
from kanopy.instances.microdata import Microdata
from kanopy.solvers.kernels.quick import plain_interrupts
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run


def variance_order(data: Microdata) -> tuple[str, ...]:
    """The quasi-identifiers by increasing weight-adjusted variance.

    >>> import kanopy as kn
    >>> variance_order(kn.example("fars"))
    ('DRINKING', 'SEX', 'INJ_SEV', 'AGE')
    """
    weights = dict(zip((*data.numeric, *data.nominal), data.weights.tolist(), strict=True))

    def adjusted(name: str) -> float:
        variance = float(np.var(_numbers(data, name)))
        return float(f"{variance / weights[name] ** 2:.12g}") if weights[name] > 0 else np.inf

    return tuple(sorted(data.quasi_identifiers, key=adjusted))


def sorted_rows(data: Microdata) -> NDArray[np.int64]:
    """The rows in the order in which all algorithms of 003 take them.

    >>> import kanopy as kn
    >>> sorted_rows(kn.example("fars"))[:6].tolist()
    [12, 1, 11, 14, 7, 10]
    """
    columns = [_numbers(data, name) for name in variance_order(data)]
    return np.lexsort(columns[::-1]).astype(np.int64)


def consecutive_sets(n: int, k: int) -> NDArray[np.int64]:
    """Label of each of n sorted rows: sets of k, the last with what is left.

    >>> consecutive_sets(7, 3).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    return np.minimum(np.arange(n) // k, max(n // k - 1, 0))


def initial_labels(data: Microdata, k: int) -> NDArray[np.int64]:
    """The initial feasible solution."""
    labels = np.empty(data.n, dtype=np.int64)
    labels[sorted_rows(data)] = consecutive_sets(data.n, k)
    return labels


@contextmanager
def sorted_exit(run: Run) -> Iterator[None]:
    """Leave the initial feasible solution with the run when Ctrl-C ends a method without one."""
    try:
        with plain_interrupts():
            yield
    except KeyboardInterrupt:
        if run.best is None:
            run.found_labels(initial_labels(run.problem.data, run.problem.k))
        raise


def _numbers(data: Microdata, name: str) -> NDArray[np.float64]:
    if name in data.numeric:
        return numeric_values(data.frame[name])
    return data.codes[:, data.nominal.index(name)].astype(np.float64)


@register(
    "initial-sort",
    costs=("range",),
    kinds=("numeric", "nominal", "mixed"),
    paper="003, 2.3",
    summary="sort by columns of increasing variance, cut into sets of k",
)
def initial_sort(problem: Problem, _run: Run, _options: NoOptions) -> Outcome:
    """Sort and cut; nothing to stop."""
    return Outcome(labels=initial_labels(problem.data, problem.k))
