r"""Annealing over partitions of one Hamming weight, and their representatives, for the χ² error.

A state is a partition with a representative per cluster. Its energy is

.. math:: χ^2 + μ \, (\text{weight} - \text{weight of the start}),

and moves exchange two rows, move one, or change a representative. Partitions above the weight of
the start are crossed on the way, at the price μ, but never returned: the result is the state of
least χ² error among those met that weigh no more than the start.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import inner

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@inner
def _shift(errors, weight, cells, kind, change):  # type: ignore[no-untyped-def]
    """Change a count; by how much the χ² error grows."""
    grown = 0.0
    for t in range(cells.shape[1]):
        c = cells[kind, t]
        grown += (2.0 * errors[c] + change) * change * weight[c]
        errors[c] += change
    return grown


@inner
def _apart(codes, weights, types, row, members, size, without):  # type: ignore[no-untyped-def]
    """Sum of the distances of a row to the members of a cluster except one."""
    total = 0.0
    a = types[row]
    for i in range(size):
        other = members[i]
        if other in (row, without):
            continue
        b = types[other]
        if a == b:
            continue
        for j in range(codes.shape[1]):
            if codes[a, j] != codes[b, j]:
                total += weights[j]
    return total


@inner
def _representative(types, members, size, old, rng):  # type: ignore[no-untyped-def]
    """The old representative of a changed cluster, if it still can be, or any member."""
    if rng.random() < 0.6:
        for i in range(size):
            if types[members[i]] == old:
                return old
    return types[members[int(size * rng.random())]]


@njit(cache=True)
def anneal_plateau(  # type: ignore[no-untyped-def]
    codes,
    weights,
    types,
    cells,
    cell_weight,
    errors,
    members,
    sizes,
    kinds,
    label,
    k,
    excess,
    price,
    temperature,
    cooling,
    rng,
    proposals,
    best_label,
    best_kinds,
    lead,
):
    """Propose so many moves; the state's excess of weight, and the lead of the best over it.

    ``codes``, ``weights``: types of nominal data; ``types``: type of each row; ``cells``: cell of
    each type in each table; ``errors``: n − n̄ of each cell; ``members``: rows of each cluster, in
    front; ``kinds``: type that represents each cluster. ``lead`` is how much smaller the χ² error
    of the best is than the state's.
    """
    clusters, most = members.shape
    for _ in range(proposals):
        temperature *= cooling
        a = int(clusters * rng.random())
        place_a = int(sizes[a] * rng.random())
        row = members[a, place_a]
        choice = rng.random()
        if choice < 0.25:
            new = types[row]
            if new == kinds[a]:
                continue
            grown = _shift(errors, cell_weight, cells, kinds[a], -float(sizes[a]))
            grown += _shift(errors, cell_weight, cells, new, float(sizes[a]))
            if grown > 0 and rng.random() >= np.exp(-grown / temperature):
                _shift(errors, cell_weight, cells, new, -float(sizes[a]))
                _shift(errors, cell_weight, cells, kinds[a], float(sizes[a]))
                continue
            kinds[a] = new
            lead += grown
        else:
            b = int(clusters * rng.random())
            if a == b:
                continue
            other, place_b = -1, sizes[b]
            if choice < 0.4:
                if sizes[a] == k or sizes[b] == most:
                    continue
            else:
                place_b = int(sizes[b] * rng.random())
                other = members[b, place_b]
                if types[row] == types[other]:
                    continue
            heavier = _apart(codes, weights, types, row, members[b], sizes[b], other)
            heavier -= _apart(codes, weights, types, row, members[a], sizes[a], -1)
            if other >= 0:
                heavier += _apart(codes, weights, types, other, members[a], sizes[a], row)
                heavier -= _apart(codes, weights, types, other, members[b], sizes[b], -1)
            if price * heavier > 20.0 * temperature:
                continue
            size_a, size_b = sizes[a], sizes[b]
            members[b, place_b] = row
            if other >= 0:
                members[a, place_a] = other
            else:
                sizes[a] -= 1
                sizes[b] += 1
                members[a, place_a] = members[a, sizes[a]]
            new_a = _representative(types, members[a], sizes[a], kinds[a], rng)
            new_b = _representative(types, members[b], sizes[b], kinds[b], rng)
            grown = 0.0
            if new_a != kinds[a] or sizes[a] != size_a:
                grown += _shift(errors, cell_weight, cells, kinds[a], -float(size_a))
                grown += _shift(errors, cell_weight, cells, new_a, float(sizes[a]))
            if new_b != kinds[b] or sizes[b] != size_b:
                grown += _shift(errors, cell_weight, cells, kinds[b], -float(size_b))
                grown += _shift(errors, cell_weight, cells, new_b, float(sizes[b]))
            energy = grown + price * heavier
            if energy > 0 and rng.random() >= np.exp(-energy / temperature):
                if new_a != kinds[a] or sizes[a] != size_a:
                    _shift(errors, cell_weight, cells, new_a, -float(sizes[a]))
                    _shift(errors, cell_weight, cells, kinds[a], float(size_a))
                if new_b != kinds[b] or sizes[b] != size_b:
                    _shift(errors, cell_weight, cells, new_b, -float(sizes[b]))
                    _shift(errors, cell_weight, cells, kinds[b], float(size_b))
                sizes[a], sizes[b] = size_a, size_b
                if other >= 0:
                    members[b, place_b] = other
                else:
                    members[a, size_a - 1] = members[a, place_a]
                members[a, place_a] = row
                continue
            kinds[a], kinds[b] = new_a, new_b
            label[row] = b
            if other >= 0:
                label[other] = a
            excess += heavier
            lead += grown
        if lead < -1e-9 and excess < 1e-9:
            lead = 0.0
            best_label[:] = label
            best_kinds[:] = kinds
    return excess, lead
