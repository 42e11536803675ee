"""Kernels of Greedy Search: the row that a class takes in at the least loss, by scan or by tree.

Rows stand in sorted order. A class has a box (``low``, ``high``) and a table of prices: what the
first row of a category adds to the loss, 0 once the class has one. So a row x adds
Σ_j max(0, low_j − x_j, x_j − high_j) + Σ_j price[x_j], and both searches sum that in the same
order: they find the same row, the first of those that add least.

The tree is a k-d tree over the rows that are left. A node keeps its box and a 64-bit set of the
categories below it (their numbers modulo 64, so that a bound stays one if there are more), how
many rows below are left, and the first of them. A term of the bound is never above the term of a
row below, rounding is monotone, and the order of summation is the same: so it is a bound of the
rounded sums, too.
"""

# Compiled functions carry no annotations: numba infers their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import njit

LEAF = 12
"""Rows up to which a node is not split."""

BLOCK = 512
"""Rows that are scanned at a time."""

START, END, LEFT, RIGHT, PARENT, ALIVE, FIRST = range(7)
"""Columns of ``nodes``: its rows are ``order[START:END]``; children and parent, −1 if there are
none; how many rows are left and the first of them."""


@njit(cache=True)
def scan_classes(numbers, categories, price_of, k, gone, begin, sequence, done, most):
    """Build up to ``most`` classes by scanning; returns the first row that may be left.

    Parameters
    ----------
    numbers, categories
        Columns × rows: values times weight / width, and places in the table of prices.
    gone
        ∞ for rows that have a class, 0 for the others; rows before ``begin`` all have one.
    sequence
        Rows in the order in which classes take them, from ``sequence[done]`` on.
    """
    width, rows = numbers.shape
    depth = categories.shape[0]
    low, high = np.empty(width), np.empty(width)
    price = np.empty(len(price_of))
    added = np.empty(BLOCK)
    for _ in range(most):
        while gone[begin] > 0:
            begin += 1
        price[:] = price_of
        best = begin
        for member in range(k):
            least = np.inf
            for b in range(begin, rows if member > 0 else 0, BLOCK):
                e = min(b + BLOCK, rows)
                size = e - b
                part = gone[b:e]
                for i in range(size):
                    added[i] = part[i]
                for j in range(width):
                    column = numbers[j, b:e]
                    lo, hi = low[j], high[j]
                    for i in range(size):
                        added[i] += max(lo - column[i], 0.0) + max(column[i] - hi, 0.0)
                for j in range(depth):
                    values = categories[j, b:e]
                    for i in range(size):
                        added[i] += price[values[i]]
                smallest = np.inf
                for i in range(size):
                    smallest = min(smallest, added[i])
                if smallest < least:
                    least = smallest
                    best = b
                    while added[best - b] > smallest:
                        best += 1
                if least == 0.0:
                    break
            gone[best] = np.inf
            sequence[done] = best
            done += 1
            for j in range(width):
                x = numbers[j, best]
                low[j] = x if member == 0 else min(low[j], x)
                high[j] = x if member == 0 else max(high[j], x)
            for j in range(depth):
                price[categories[j, best]] = 0.0
    return begin


@njit(cache=True)
def build_tree(numbers, categories, unit, rows):
    """A k-d tree over the given rows of the table (rows × columns).

    A node is split at the median of the column in which its rows differ most: the range of a
    number, the price of a further category.

    Returns
    -------
    The nodes, their boxes and sets of categories, the rows in the order of leaves, and by row its
    leaf.
    """
    width, depth = numbers.shape[1], categories.shape[1]
    order = rows.copy()
    most = 4 * len(rows) // LEAF + 3
    nodes = np.empty((most, 7), dtype=np.int64)
    low, high = np.empty((most, width)), np.empty((most, width))
    masks = np.zeros((most, depth), dtype=np.int64)
    leaf_of = np.full(len(numbers), -1, dtype=np.int64)
    nodes[0, START], nodes[0, END], nodes[0, PARENT] = 0, len(rows), -1
    used, node = 1, 0
    while node < used:
        start, end = nodes[node, START], nodes[node, END]
        widest, spread = -1, 0.0
        for j in range(width):
            lo, hi = np.inf, -np.inf
            for i in range(start, end):
                x = numbers[order[i], j]
                lo, hi = min(lo, x), max(hi, x)
            low[node, j], high[node, j] = lo, hi
            if hi - lo > spread:
                widest, spread = j, hi - lo
        for j in range(depth):
            mask, several = np.int64(0), False
            for i in range(start, end):
                value = categories[order[i], j]
                mask |= np.int64(1) << (value & 63)
                several = several or value != categories[order[start], j]
            masks[node, j] = mask
            if several and unit[j] > spread:
                widest, spread = width + j, unit[j]
        nodes[node, ALIVE] = end - start
        nodes[node, FIRST] = order[start:end].min()
        nodes[node, LEFT] = nodes[node, RIGHT] = -1
        if end - start <= LEAF or widest < 0:
            for i in range(start, end):
                leaf_of[order[i]] = node
        else:
            keys = np.empty(end - start)
            for i in range(start, end):
                if widest < width:
                    keys[i - start] = numbers[order[i], widest]
                else:
                    keys[i - start] = categories[order[i], widest - width]
            order[start:end] = order[start:end][np.argsort(keys, kind="mergesort")]
            half = (start + end) // 2
            nodes[node, LEFT], nodes[node, RIGHT] = used, used + 1
            nodes[used, START], nodes[used, END], nodes[used, PARENT] = start, half, node
            nodes[used + 1, START], nodes[used + 1, END], nodes[used + 1, PARENT] = half, end, node
            used += 2
        node += 1
    return nodes[:used], low[:used], high[:used], masks[:used], order, leaf_of


@njit(cache=True)
def tree_classes(
    numbers,
    categories,
    price_of,
    unit,
    k,
    gone,
    begin,
    sequence,
    done,
    most,
    nodes,
    box_low,
    box_high,
    masks,
    order,
    leaf_of,
):
    """Build up to ``most`` classes as :func:`scan_classes` does, looking only where a bound allows.

    The table is rows × columns here. Rows leave the tree as they get a class.
    """
    width, depth = numbers.shape[1], categories.shape[1]
    low, high = np.empty(width), np.empty(width)
    price = np.empty(len(price_of))
    mask = np.empty(depth, dtype=np.int64)
    stack = np.empty(128, dtype=np.int64)
    bounds = np.empty(128)
    for _ in range(most):
        while gone[begin] > 0:
            begin += 1
        price[:] = price_of
        mask[:] = 0
        best = begin
        for member in range(k):
            least = np.inf
            top = 0
            if member > 0:
                stack[0], bounds[0], top = 0, 0.0, 1
            while top > 0:
                top -= 1
                node = stack[top]
                if bounds[top] > least or (bounds[top] == least and nodes[node, FIRST] > best):
                    continue
                if nodes[node, LEFT] < 0:
                    for i in range(nodes[node, START], nodes[node, END]):
                        row = order[i]
                        if gone[row] > 0:
                            continue
                        added = 0.0
                        for j in range(width):
                            x = numbers[row, j]
                            added += max(low[j] - x, 0.0) + max(x - high[j], 0.0)
                        for j in range(depth):
                            added += price[categories[row, j]]
                        if added < least or (added == least and row < best):
                            best, least = row, added
                    continue
                pushed = top
                for child in (nodes[node, LEFT], nodes[node, RIGHT]):
                    if nodes[child, ALIVE] == 0:
                        continue
                    bound = 0.0
                    for j in range(width):
                        bound += max(low[j] - box_high[child, j], 0.0)
                        bound += max(box_low[child, j] - high[j], 0.0)
                    for j in range(depth):
                        bound += 0.0 if masks[child, j] & mask[j] else unit[j]
                    stack[top], bounds[top] = child, bound
                    top += 1
                # The better one goes on top: it is looked at first.
                if top == pushed + 2 and (
                    bounds[pushed] < bounds[pushed + 1]
                    or (
                        bounds[pushed] == bounds[pushed + 1]
                        and nodes[stack[pushed], FIRST] < nodes[stack[pushed + 1], FIRST]
                    )
                ):
                    stack[pushed], stack[pushed + 1] = stack[pushed + 1], stack[pushed]
                    bounds[pushed], bounds[pushed + 1] = bounds[pushed + 1], bounds[pushed]
            gone[best] = np.inf
            sequence[done] = best
            done += 1
            for j in range(width):
                x = numbers[best, j]
                low[j] = x if member == 0 else min(low[j], x)
                high[j] = x if member == 0 else max(high[j], x)
            for j in range(depth):
                price[categories[best, j]] = 0.0
                mask[j] |= np.int64(1) << (categories[best, j] & 63)
            node = leaf_of[best]
            while node >= 0:
                nodes[node, ALIVE] -= 1
                if nodes[node, FIRST] == best:
                    first = np.int64(len(gone))
                    if nodes[node, LEFT] < 0:
                        for i in range(nodes[node, START], nodes[node, END]):
                            if gone[order[i]] == 0:
                                first = min(first, order[i])
                    else:
                        for child in (nodes[node, LEFT], nodes[node, RIGHT]):
                            if nodes[child, ALIVE] > 0:
                                first = min(first, nodes[child, FIRST])
                    nodes[node, FIRST] = first
                node = nodes[node, PARENT]
    return begin
