"""An exact search for the best partition of a few rows under the cost ``range``.

It proves an optimum, or says that a limit kept it from that. In four steps:

1. *Descent* by moves and swaps of rows from a given partition, to a value UB.
2. *Row bounds.* A row pays its class' loss, so at least the least loss b_i of k rows it is one of.
   A class C has the excess Σ_{i∈C} (loss(C) − b_i) ≥ 0, and a partition below UB has a total
   excess below UB − Σ b_i.
3. *Enumeration* of all classes of k … 2k−1 rows below that excess. A part P of a class has at least
   the excess Σ_{i∈P} max(0, loss(P) − b_i), as losses grow.
4. *Cover.* Bounds become duals by coordinate ascent: each row in turn is charged the least excess
   among the classes it is in, which leaves all excesses ≥ 0. A depth-first search covers the first
   uncovered row by one class after the other.

Rows are reordered by falling bounds, so that rows that are hard to place come first.
"""

# Compiled functions carry no annotations: numba infers their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import inner

MOST_ROWS = 62
"""Rows that a set in one 64-bit number can hold."""

MOST_CLASSES, MOST_NODES = 200_000, 20_000_000
"""Classes and nodes of searches that take some tens of milliseconds."""

ASCENTS = 4
"""Rounds of coordinate ascent."""

_NOISE = 1e-11  # what rounding may add to a cost; a smaller gain is none


@inner
def _loss(numbers, bits, unit, members, size):
    total = 0.0
    for j in range(numbers.shape[1]):
        low = high = numbers[members[0], j]
        for i in range(1, size):
            low, high = min(low, numbers[members[i], j]), max(high, numbers[members[i], j])
        total += high - low
    for j in range(bits.shape[1]):
        mask = bits[members[0], j]
        for i in range(1, size):
            if not mask & bits[members[i], j]:
                total += unit[j]
            mask |= bits[members[i], j]
    return total


@inner
def _cost_with(numbers, bits, unit, labels, c, leaver, joiner, members):
    """Cost of class c without one row and with another; −1 stands for none."""
    size = 0
    for i in range(len(labels)):
        if (labels[i] == c and i != leaver) or i == joiner:
            members[size] = i
            size += 1
    return size * _loss(numbers, bits, unit, members, size)


@njit(cache=True)
def descend(numbers, codes, unit, k, labels):
    """Moves and swaps while they help, in place; returns the cost and the categories as bits."""
    n = len(labels)
    bits = np.zeros(codes.shape, dtype=np.int64)
    for j in range(codes.shape[1]):
        met = 0
        for i in range(n):
            for earlier in range(i):
                if codes[earlier, j] == codes[i, j]:
                    bits[i, j] = bits[earlier, j]
                    break
            if bits[i, j] == 0:
                bits[i, j] = np.int64(1) << met
                met += 1
    members = np.empty(n, dtype=np.int64)
    classes = labels.max() + 1
    sizes = np.zeros(classes, dtype=np.int64)
    costs = np.empty(classes)
    for i in range(n):
        sizes[labels[i]] += 1
    for c in range(classes):
        costs[c] = _cost_with(numbers, bits, unit, labels, c, -1, -1, members)
    better = costs.sum() > _NOISE
    while better:
        better = False
        for i in range(n):
            for other in range(n):
                a, b = labels[i], labels[other]
                if a == b:
                    continue
                first = _cost_with(numbers, bits, unit, labels, a, i, other, members)
                second = np.inf
                if first < costs[a] + costs[b]:
                    second = _cost_with(numbers, bits, unit, labels, b, other, i, members)
                if first + second < costs[a] + costs[b] - _NOISE:
                    labels[i], labels[other] = b, a
                    costs[a], costs[b] = first, second
                    better = True
            a = labels[i]
            for b in range(classes):
                if b == labels[i] or sizes[labels[i]] <= k or sizes[b] >= 2 * k - 1:
                    continue
                a = labels[i]
                first = _cost_with(numbers, bits, unit, labels, a, i, -1, members)
                second = _cost_with(numbers, bits, unit, labels, b, -1, i, members)
                if first + second < costs[a] + costs[b] - _NOISE:
                    labels[i] = b
                    costs[a], costs[b] = first, second
                    sizes[a] -= 1
                    sizes[b] += 1
                    better = True
    return costs.sum(), bits


@njit(cache=True)
def all_pairs(numbers, bits, unit, apart):
    """Fill in the losses of all pairs of rows."""
    members = np.empty(2, dtype=np.int64)
    for i in range(len(numbers)):
        for j in range(i):
            members[0], members[1] = i, j
            apart[i, j] = apart[j, i] = _loss(numbers, bits, unit, members, 2)


@njit(cache=True)
def least_losses(numbers, bits, unit, k, apart, nearest, best):
    """Lower ``best`` to, by row, the least loss of k rows it is one of.

    Depth-first over the other rows, nearest first: parts of a set lose no more than the set.
    """
    n = len(numbers)
    members = np.empty(k, dtype=np.int64)
    place = np.empty(k + 1, dtype=np.int64)
    for i in range(n):
        members[0] = i
        place[1] = 0  # the row itself is its nearest
        size = 1
        while size > 0:
            place[size] += 1
            row = nearest[i, place[size]] if place[size] < n else i
            if row == i or apart[i, row] >= best[i]:
                size -= 1
                continue
            members[size] = row
            loss = _loss(numbers, bits, unit, members, size + 1)
            if loss >= best[i]:
                continue
            if size + 1 == k:
                for j in range(k):
                    best[members[j]] = min(best[members[j]], loss)
            else:
                size += 1
                place[size] = place[size - 1]


@njit(cache=True)
def list_classes(numbers, bits, unit, k, bounds, budget, masks, excess, most_nodes):
    """List all classes whose excess is below the budget, as sets of rows; returns how many.

    It is −1 if there are more than fit, or the search has more nodes than allowed.
    """
    n, width = numbers.shape
    depth = bits.shape[1]
    largest = 2 * k - 1
    low = np.empty((largest + 1, width))
    high = np.empty((largest + 1, width))
    mask = np.zeros((largest + 1, depth), dtype=np.int64)
    rows = np.empty(largest + 1, dtype=np.int64)
    found, nodes = 0, 0
    for seed in range(n):
        for j in range(width):
            low[1, j] = high[1, j] = numbers[seed, j]
        for j in range(depth):
            mask[1, j] = bits[seed, j]
        rows[0] = seed
        rows[1] = seed  # the row to try next, less one
        size = 1
        taken = np.int64(1) << seed
        while size > 0:
            rows[size] += 1
            row = rows[size]
            if size == largest or row >= n:
                size -= 1
                if size > 0:
                    taken ^= np.int64(1) << rows[size]
                continue
            nodes += 1
            if nodes > most_nodes:
                return -1
            total = 0.0
            for j in range(width):
                x = numbers[row, j]
                low[size + 1, j] = min(low[size, j], x)
                high[size + 1, j] = max(high[size, j], x)
                total += high[size + 1, j] - low[size + 1, j]
            for j in range(depth):
                joined = mask[size, j] | bits[row, j]
                mask[size + 1, j] = joined
                while joined & (joined - 1):
                    total += unit[j]
                    joined &= joined - 1
            over = 0.0
            for i in range(size):
                over += max(total - bounds[rows[i]], 0.0)
            over += max(total - bounds[row], 0.0)
            if over >= budget:
                continue
            if size + 1 >= k:
                if found == len(masks):
                    return -1
                masks[found] = taken | (np.int64(1) << row)
                excess[found] = over
                found += 1
            if size + 1 < largest:
                taken |= np.int64(1) << row
                size += 1
                rows[size] = row
    return found


@njit(cache=True)
def ascend(n, masks, excess, backwards):
    """Charge each row the least excess among its classes, in place; returns the sum, maybe ∞."""
    charged = 0.0
    for step in range(n):
        bit = np.int64(1) << (n - 1 - step if backwards else step)
        least = np.inf
        for c in range(len(masks)):
            if masks[c] & bit:
                least = min(least, excess[c])
        charged += least
        if 0.0 < least < np.inf:
            for c in range(len(masks)):
                if masks[c] & bit:
                    excess[c] -= least
    return charged


@njit(cache=True)
def cover(n, masks, excess, begin, gap, most_nodes, chosen):
    """Cover all rows by classes of least total excess below ``gap``.

    The classes that row r is the first of are those from ``begin[r]`` on, by rising excess.

    Returns
    -------
    How many classes were written to ``chosen``, 0 if nothing is below the gap, and whether that is
    proven.
    """
    uncovered = np.empty(n + 1, dtype=np.int64)
    place = np.empty(n + 1, dtype=np.int64)
    end = np.empty(n + 1, dtype=np.int64)
    total = np.zeros(n + 1)
    uncovered[0] = (np.int64(1) << n) - 1
    place[0], end[0] = begin[0], begin[1]
    best, classes, level, nodes = gap, 0, 0, 0
    while level >= 0:
        c = place[level]
        if c == end[level] or total[level] + excess[c] >= best:
            level -= 1
            if level >= 0:
                place[level] += 1
            continue
        nodes += 1
        if nodes > most_nodes:
            return classes, False
        left = uncovered[level] ^ masks[c]
        if masks[c] & ~uncovered[level]:
            place[level] += 1
        elif left == 0:
            best, classes = total[level] + excess[c], level + 1
            for i in range(classes):
                chosen[i] = place[i]
            place[level] += 1
        else:
            row = 0
            while not left >> row & 1:
                row += 1
            level += 1
            uncovered[level], total[level] = left, total[level - 1] + excess[c]
            place[level], end[level] = begin[row], begin[row + 1]
    return classes, True


def row_bounds(
    numbers: NDArray[np.float64],
    bits: NDArray[np.int64],
    unit: NDArray[np.float64],
    k: int,
) -> NDArray[np.float64]:
    """For each row, the least loss of a class it can be in."""
    n = len(numbers)
    apart = np.zeros((n, n))
    all_pairs(numbers, bits, unit, apart)
    np.fill_diagonal(apart, -1.0)  # a row is its own nearest, also among equal ones
    nearest = np.argsort(apart, axis=1, kind="stable")
    best = np.full(n, np.inf)
    least_losses(numbers, bits, unit, k, apart, nearest, best)
    return best


def best_partition(
    numbers: NDArray[np.float64],
    codes: NDArray[np.int32],
    unit: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64],
    most_classes: int = MOST_CLASSES,
    most_nodes: int = MOST_NODES,
) -> tuple[NDArray[np.int64], bool]:
    """The best partition that was found, and whether it is proven to be the best of all.

    Parameters
    ----------
    numbers, codes, unit
        Values times weight / width, categories, and the weight / domain size of their columns.
    labels
        A partition to begin with, of classes of at least k rows. It is returned unless there is a
        better one.
    most_classes, most_nodes
        Limits of the search.

    Examples
    --------
    >>> numbers = np.array([[0.0], [5.0], [1.0], [6.0]])
    >>> best_partition(numbers, np.empty((4, 0), np.int32), np.empty(0), 2, np.array([0, 0, 1, 1]))
    (array([1, 0, 1, 0]), True)
    """
    n = len(numbers)
    labels = labels.copy()
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64), True
    cost, bits = descend(numbers, codes, unit, k, labels)
    if cost <= _NOISE:
        return labels, True
    if n > MOST_ROWS:
        return labels, False
    bounds = row_bounds(numbers, bits, unit, k)
    order = np.argsort(-bounds, kind="stable")
    gap = cost - float(bounds.sum()) - _NOISE
    if gap <= 0:
        return labels, True
    masks, excess = np.empty(most_classes, dtype=np.int64), np.empty(most_classes)
    found = list_classes(
        numbers[order], bits[order], unit, k, bounds[order], gap, masks, excess, most_nodes
    )
    if found < 0:
        return labels, False
    masks, excess = masks[:found], excess[:found]
    for ascent in range(ASCENTS):
        gap -= ascend(n, masks, excess, ascent % 2 == 1)
        if gap <= 0:  # in particular if some row is in no class
            return labels, True
        masks, excess = masks[excess < gap], excess[excess < gap]
    first = np.log2(masks & -masks).astype(np.int64)  # exact for a power of two
    by_row = np.lexsort((excess, first))
    masks, begin = masks[by_row], np.searchsorted(first[by_row], np.arange(n + 1))
    chosen = np.empty(n, dtype=np.int64)
    classes, proven = cover(n, masks, excess[by_row], begin, gap, most_nodes, chosen)
    for label, mask in enumerate(masks[chosen[:classes]]):
        labels[order[(mask >> np.arange(n)) & 1 == 1]] = label
    return labels, bool(proven)
