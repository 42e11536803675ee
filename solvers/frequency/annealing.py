r"""Simulated annealing on frequency vectors and on representatives for the χ² error.

With the cell weights 1/n̄ the error is a quadratic form in the change of the counts,

.. math::

    \sum_t (A y − A y^0)_t^2 / \bar n_t = (y − y^0)^T Q (y − y^0),
    \qquad Q = A^T \operatorname{diag}(1/\bar n) A,

so with the gradient g = 2Q(y − y⁰) at hand the effect of changing two or three counts takes a
handful of operations, and only accepted moves pay for an update of g. Every move keeps the sum and
leaves each count in its domain, where 1 … k−1 are missing: the vector is a solution at any time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.tables import ControlTables
from kanopy.solvers.frequency.program import Floats, Ints
from kanopy.solvers.kernels.inner import inner, kernel

HOT, COLD = 3.0, 0.02
"""First and last temperature, in units of the χ² error."""

HOT_CLUSTERS, COLD_CLUSTERS = 30.0, 0.5
"""The same where whole clusters change, which moves more rows at once."""
WARM, COOL = 0.6, 0.12
"""First and last temperature where the deviation is minimised, in units of deviation."""

DENSE = 2048
"""Up to so many combinations Q is kept as a matrix; beyond, its entries and the gradient are summed
on demand, from the errors of the cells."""


class Interaction:
    """Q of some control tables, in whatever form suits their size."""

    def __init__(self, control: ControlTables, original: Ints) -> None:
        weight = 1.0 / control.values(original)
        by_type = control.matrix.tocsc()
        by_type.sort_indices()
        self.cell_weight = weight
        self.type_start = by_type.indptr.astype(np.int64)
        self.type_cells = by_type.indices.astype(np.int64)
        types = len(original)
        self.dense = np.zeros((0, 0))
        if types <= DENSE:
            product = by_type.T.multiply(weight) @ by_type
            self.dense = np.ascontiguousarray(product.toarray(), dtype=np.float64)

    @property
    def arrays(self) -> tuple[Floats, Floats, Ints, Ints]:
        """What the kernels take."""
        return self.dense, self.cell_weight, self.type_start, self.type_cells


def any_counts(original: Ints, k: int, total: int) -> Ints:
    """Some k-anonymous counts with the given sum, close to the original where that is easy.

    Raises KanopyError if there are none, which is so only for 0 < total < k.

    >>> any_counts(np.array([1, 5, 2]), 3, 8).tolist()
    [0, 5, 3]
    """
    if 0 < total < k:
        raise KanopyError(f"no k-anonymous table has {total} rows for k = {k}; choose 0 or ≥ {k}")
    counts = np.zeros_like(original)
    left = total
    order = np.argsort(-original, kind="stable")
    for i in order:
        if left < k:
            break
        counts[i] = min(max(original[i], k), left)
        left -= counts[i]
    counts[order[0]] += left
    return counts


@dataclass(frozen=True, eq=False)
class CountDomains:
    """Which counts each combination may take in the search.

    ``value[start[i]:start[i+1]]`` are those of combination i, ascending; ``position[i, y]`` says
    where y stands among them, −1 if it is not allowed.
    """

    start: Ints
    value: Ints
    position: NDArray[np.int32]

    @classmethod
    def of(cls, sets: list[Ints]) -> CountDomains:
        """Domains from one ascending array of counts per combination."""
        position = np.full((len(sets), max(int(s[-1]) for s in sets) + 1), -1, dtype=np.int32)
        for i, counts in enumerate(sets):
            position[i, counts] = np.arange(len(counts))
        start = np.concatenate([[0], np.cumsum([len(counts) for counts in sets])])
        return cls(start.astype(np.int64), np.concatenate(sets).astype(np.int64), position)

    @classmethod
    def near(cls, original: Ints, start: Ints, k: int) -> CountDomains:
        """0 and k, k+1, … up to a little above the original or a given count."""
        most = np.maximum(original, start) + 3 * k
        return cls.of([np.append(0, np.arange(k, top + 1)) for top in most.tolist()])


def anneal_counts(
    original: Ints,
    start: Ints,
    domains: CountDomains,
    interaction: Interaction,
    deviation_weight: float,
    rng: np.random.Generator,
    proposals: int,
) -> Ints:
    """The best counts met in so many proposed moves within the domains, never worse than start."""
    free = np.flatnonzero(np.diff(domains.start) > 1)
    if len(free) < 2:
        return start.copy()
    return np.asarray(
        _anneal_counts(
            original,
            start,
            free,
            domains.start,
            domains.value,
            domains.position,
            interaction.arrays,
            deviation_weight,
            rng,
            proposals,
            HOT,
            COLD,
        )
    )


def anneal_within(
    original: Ints,
    start: Ints,
    domains: CountDomains,
    interaction: Interaction,
    reach: Floats,
    penalty: float,
    rng: np.random.Generator,
    proposals: int,
) -> Ints | None:
    """Counts of small deviation Σ|y − y⁰| whose cell errors are all at most ``reach``, if met.

    Errors beyond their reach are allowed on the way, at a price of ``penalty`` a unit, measured in
    units of deviation: a low one finds small deviations, a high one finds any solution sooner.
    """
    free = np.flatnonzero(np.diff(domains.start) > 1)
    if len(free) < 2:
        return None
    best, met = _anneal_within(
        original,
        start,
        free,
        domains.start,
        domains.value,
        domains.position,
        interaction.arrays,
        np.floor(reach + 1e-9).astype(np.int64),
        penalty,
        rng,
        proposals,
        WARM,
        COOL,
    )
    return np.asarray(best) if met else None


def anneal_representatives(
    original: Ints,
    start: Ints,
    size: Ints,
    option_start: Ints,
    option: Ints,
    interaction: Interaction,
    rng: np.random.Generator,
    proposals: int,
) -> Ints:
    """The best choice of one option per cluster met in so many proposed moves.

    Cluster C has ``size[C]`` rows and may become any type option[option_start[C]:…]; ``start`` and
    the result are positions in ``option``.
    """
    return np.asarray(
        _anneal_representatives(
            original,
            start,
            size,
            option_start,
            option,
            interaction.arrays,
            rng,
            proposals,
            HOT_CLUSTERS,
            COLD_CLUSTERS,
        )
    )


@inner
def _pair(interaction, i, j):  # type: ignore[no-untyped-def]
    """Q_ij."""
    dense, weight, type_start, type_cells = interaction
    if len(dense):
        return dense[i, j]
    total = 0.0
    a, b = type_start[i], type_start[j]
    while a < type_start[i + 1] and b < type_start[j + 1]:
        if type_cells[a] == type_cells[b]:
            total += weight[type_cells[a]]
            a += 1
            b += 1
        elif type_cells[a] < type_cells[b]:
            a += 1
        else:
            b += 1
    return total


@inner
def _shift(interaction, state, i, change):  # type: ignore[no-untyped-def]
    """Update the state for y_i += change: g = 2Q(y − y⁰), or the cells' errors if Q is no matrix.

    In large tables the first cells have so many combinations that only errors are quick to update.
    """
    dense, _, type_start, type_cells = interaction
    if len(dense):
        row = dense[i]
        for third in range(len(row)):
            state[third] += 2 * change * row[third]
        return
    for a in range(type_start[i], type_start[i + 1]):
        state[type_cells[a]] += change


@inner
def _gradient(interaction, state, i):  # type: ignore[no-untyped-def]
    """g_i."""
    dense, weight, type_start, type_cells = interaction
    if len(dense):
        return state[i]
    total = 0.0
    for a in range(type_start[i], type_start[i + 1]):
        total += weight[type_cells[a]] * state[type_cells[a]]
    return 2 * total


@inner
def _proposed(rng, i, count, domain_start, domain_value, position):  # type: ignore[no-untyped-def]
    """Another value for a count: 0 or the least positive one, the next, the previous, or any."""
    first, size = domain_start[i], domain_start[i + 1] - domain_start[i]
    place = position[i, count]
    kind = int(4 * rng.random())
    if kind == 0:
        new = 0 if place > 0 else 1
    elif kind == 1:
        new = place + 1
    elif kind == 2:
        new = place - 1
    else:
        new = int(size * rng.random())
    return domain_value[first + new] if 0 <= new < size else count


@kernel
def _anneal_counts(  # type: ignore[no-untyped-def]
    original,
    start,
    free,
    domain_start,
    domain_value,
    position,
    interaction,
    deviation_weight,
    rng,
    proposals,
    hot,
    cold,
):
    types, choices = len(original), len(free)
    counts = start.copy()
    state = np.zeros(max(len(interaction[0]), len(interaction[1])))
    for i in range(types):
        if counts[i] != original[i]:
            _shift(interaction, state, i, float(counts[i] - original[i]))
    value, best_value = 0.0, 0.0  # relative to the start
    best = counts.copy()
    cooling = (cold / hot) ** (1.0 / max(proposals, 1))
    temperature = hot
    for _ in range(proposals):
        temperature *= cooling
        i = free[int(choices * rng.random())]
        j = free[int(choices * rng.random())]
        if i == j:
            continue
        change_i = _proposed(rng, i, counts[i], domain_start, domain_value, position) - counts[i]
        if change_i == 0:
            continue
        third, change_third = -1, 0
        if rng.random() < 0.5 and choices > 2:
            third = free[int(choices * rng.random())]
            if third in (i, j):
                continue
            change_third = _proposed(
                rng, third, counts[third], domain_start, domain_value, position
            )
            change_third -= counts[third]
        change_j = -change_i - change_third
        new_j = counts[j] + change_j
        if change_j == 0 or new_j < 0 or new_j >= position.shape[1] or position[j, new_j] < 0:
            continue
        delta = (
            change_i * _gradient(interaction, state, i)
            + change_j * _gradient(interaction, state, j)
            + change_i * change_i * _pair(interaction, i, i)
            + change_j * change_j * _pair(interaction, j, j)
            + 2 * change_i * change_j * _pair(interaction, i, j)
            + deviation_weight
            * (
                abs(counts[i] + change_i - original[i])
                - abs(counts[i] - original[i])
                + abs(new_j - original[j])
                - abs(counts[j] - original[j])
            )
        )
        if change_third != 0:
            delta += (
                change_third * _gradient(interaction, state, third)
                + change_third * change_third * _pair(interaction, third, third)
                + 2 * change_third * change_i * _pair(interaction, third, i)
                + 2 * change_third * change_j * _pair(interaction, third, j)
                + deviation_weight
                * (
                    abs(counts[third] + change_third - original[third])
                    - abs(counts[third] - original[third])
                )
            )
        if delta > 0 and rng.random() >= np.exp(-delta / temperature):
            continue
        counts[i] += change_i
        counts[j] += change_j
        _shift(interaction, state, i, float(change_i))
        _shift(interaction, state, j, float(change_j))
        if change_third != 0:
            counts[third] += change_third
            _shift(interaction, state, third, float(change_third))
        value += delta
        if value < best_value - 1e-9:
            best_value = value
            best[:] = counts
    return best


@inner
def _move(interaction, errors, reach, i, change):  # type: ignore[no-untyped-def]
    """Change y_i; returns by how much the errors beyond their reach grow in total."""
    _, _, type_start, type_cells = interaction
    grown = 0
    for a in range(type_start[i], type_start[i + 1]):
        c = type_cells[a]
        before, after = abs(errors[c]) - reach[c], abs(errors[c] + change) - reach[c]
        errors[c] += change
        grown += max(after, 0) - max(before, 0)
    return grown


@kernel
def _anneal_within(  # type: ignore[no-untyped-def]
    original,
    start,
    free,
    domain_start,
    domain_value,
    position,
    interaction,
    reach,
    penalty,
    rng,
    proposals,
    hot,
    cold,
):
    choices = len(free)
    counts = start.copy()
    errors = np.zeros(len(reach), dtype=np.int64)
    beyond, deviation = 0, 0
    for c in range(len(reach)):
        beyond += max(-reach[c], 0)
    for i in range(len(original)):
        if counts[i] != original[i]:
            beyond += _move(interaction, errors, reach, i, counts[i] - original[i])
            deviation += abs(counts[i] - original[i])
    best = counts.copy()
    met, least = beyond == 0, deviation
    cooling = (cold / hot) ** (1.0 / max(proposals, 1))
    temperature = hot
    for _ in range(proposals):
        temperature *= cooling
        i = free[int(choices * rng.random())]
        j = free[int(choices * rng.random())]
        if i == j:
            continue
        change_i = _proposed(rng, i, counts[i], domain_start, domain_value, position) - counts[i]
        if change_i == 0:
            continue
        third, change_third = -1, 0
        if rng.random() < 0.5 and choices > 2:
            third = free[int(choices * rng.random())]
            if third in (i, j):
                continue
            change_third = _proposed(
                rng, third, counts[third], domain_start, domain_value, position
            )
            change_third -= counts[third]
        change_j = -change_i - change_third
        new_j = counts[j] + change_j
        if change_j == 0 or new_j < 0 or new_j >= position.shape[1] or position[j, new_j] < 0:
            continue
        farther = (
            abs(counts[i] + change_i - original[i])
            - abs(counts[i] - original[i])
            + abs(new_j - original[j])
            - abs(counts[j] - original[j])
        )
        grown = _move(interaction, errors, reach, i, change_i)
        grown += _move(interaction, errors, reach, j, change_j)
        if change_third != 0:
            farther += abs(counts[third] + change_third - original[third]) - abs(
                counts[third] - original[third]
            )
            grown += _move(interaction, errors, reach, third, change_third)
        delta = farther + penalty * grown
        if delta > 0 and rng.random() >= np.exp(-delta / temperature):
            _move(interaction, errors, reach, i, -change_i)
            _move(interaction, errors, reach, j, -change_j)
            if change_third != 0:
                _move(interaction, errors, reach, third, -change_third)
            continue
        counts[i] += change_i
        counts[j] += change_j
        if change_third != 0:
            counts[third] += change_third
        beyond += grown
        deviation += farther
        if beyond == 0 and (not met or deviation < least):
            met, least = True, deviation
            best[:] = counts
    return best, met


@kernel
def _anneal_representatives(  # type: ignore[no-untyped-def]
    original, start, size, option_start, option, interaction, rng, proposals, hot, cold
):
    clusters = len(size)
    chosen = start.copy()
    state = np.zeros(max(len(interaction[0]), len(interaction[1])))
    for i in range(len(original)):
        _shift(interaction, state, i, -float(original[i]))
    for c in range(clusters):
        _shift(interaction, state, option[chosen[c]], float(size[c]))
    value, best_value = 0.0, 0.0
    best = chosen.copy()
    moved = np.empty(clusters + 2, dtype=np.int64)  # clusters to copy when a best is met
    waiting, many = 0, False
    cooling = (cold / hot) ** (1.0 / max(proposals, 1))
    temperature = hot
    for _ in range(proposals):
        temperature *= cooling
        c = int(clusters * rng.random())
        width = option_start[c + 1] - option_start[c]
        new = option_start[c] + int(width * rng.random())
        if new == chosen[c]:
            continue
        i, j, amount = option[chosen[c]], option[new], float(size[c])
        spread = _pair(interaction, i, i) + _pair(interaction, j, j) - 2 * _pair(interaction, i, j)
        delta = (
            amount * (_gradient(interaction, state, j) - _gradient(interaction, state, i))
            + amount * amount * spread
        )
        other, other_new = -1, 0
        i2, j2, amount2 = 0, 0, 0.0
        if delta > 0 and rng.random() < 0.5:  # two clusters at once may compensate each other
            other = int(clusters * rng.random())
            if other == c:
                continue
            width = option_start[other + 1] - option_start[other]
            other_new = option_start[other] + int(width * rng.random())
            if other_new == chosen[other]:
                continue
            i2, j2, amount2 = option[chosen[other]], option[other_new], float(size[other])
            spread = (
                _pair(interaction, i2, i2)
                + _pair(interaction, j2, j2)
                - 2 * _pair(interaction, i2, j2)
            )
            delta += (
                amount2 * (_gradient(interaction, state, j2) - _gradient(interaction, state, i2))
                + amount2 * amount2 * spread
            )
            delta += (
                2
                * amount
                * amount2
                * (
                    _pair(interaction, j, j2)
                    - _pair(interaction, j, i2)
                    - _pair(interaction, i, j2)
                    + _pair(interaction, i, i2)
                )
            )
        if delta > 0 and rng.random() >= np.exp(-delta / temperature):
            continue
        chosen[c] = new
        moved[waiting] = c
        waiting += 1
        _shift(interaction, state, i, -amount)
        _shift(interaction, state, j, amount)
        if other >= 0:
            chosen[other] = other_new
            moved[waiting] = other
            waiting += 1
            _shift(interaction, state, i2, -amount2)
            _shift(interaction, state, j2, amount2)
        value += delta
        if value < best_value - 1e-9:
            best_value = value
            if many:
                best[:] = chosen
            for m in range(waiting):
                best[moved[m]] = chosen[moved[m]]
            waiting, many = 0, False
        if waiting > clusters:
            waiting, many = 0, True
    return best
