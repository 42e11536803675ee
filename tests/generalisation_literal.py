"""The baselines of 003, slowly and literally, on tables whose losses are exact in binary."""

import numpy as np
import pandas as pd

import kanopy as kn


def exact_instance(rng, n, columns=("a", "b", "x", "y"), weighted=True, levels=9):
    """Columns whose widths, domains and weights are powers of two: no tie is left to rounding."""
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, levels, n),
            "b": rng.integers(0, 2, n) * 2,
            "x": rng.choice(list("pqr"), n),
            "y": rng.choice(list("st"), n),
        }
    )[list(columns)]
    domains = {"a": (0, 8), "b": (0, 2), "x": 4, "y": 2}
    weights = {name: float(rng.choice([0.25, 1, 2])) for name in columns} if weighted else None
    return kn.Microdata.from_frame(
        frame,
        standardize=False,
        domains={name: domains[name] for name in columns},
        weights=weights,
    )


def instances(rng, count):
    """Numeric, nominal, mixed; with weights and without; duplicates; n = k and n < 2k."""
    roles = [("a", "b"), ("x", "y"), ("a", "b", "x", "y"), ("a",), ("x",)]
    for i in range(count):
        k = int(rng.integers(2, 5))
        n = k if i % 7 == 0 else int(rng.integers(k, 14))
        levels = 2 if i % 3 == 0 else 9
        yield exact_instance(rng, n, roles[i % len(roles)], i % 2 == 0, levels), k


def loss(data, rows):
    """Loss of one generalised row that covers these rows (003, eq. 34, definition 8)."""
    rows = list(rows)
    total = 0.0
    for j, weight in enumerate(data.numeric_weights):
        values = data.X[rows, j]
        total += weight * (values.max() - values.min()) / (data.upper[j] - data.lower[j])
    for j, weight in enumerate(data.nominal_weights):
        values = set(data.codes[rows, j].tolist())
        total += weight * (len(values) - 1) / int(data.domain_sizes[j])
    return float(total)


def cost(data, rows):
    return len(rows) * loss(data, rows)


def k_member(data, k, rng):
    """Byun et al. 2007, figures 5 to 7."""
    left = list(range(data.n))
    clusters = []
    r = int(rng.integers(data.n))
    while len(left) >= k:
        r = max(left, key=lambda i: (loss(data, [r, i]), -i))
        left.remove(r)
        cluster = [r]
        while len(cluster) != k:
            r = min(left, key=lambda i: (cost(data, [*cluster, i]) - cost(data, cluster), i))
            left.remove(r)
            cluster.append(r)
        clusters.append(cluster)
    for r in rng.permutation(left).tolist():
        rises = [cost(data, [*cluster, r]) - cost(data, cluster) for cluster in clusters]
        clusters[rises.index(min(rises))].append(r)
    return {frozenset(cluster) for cluster in clusters}


def mondrian(data, k, rows=None, cut="allowed"):
    """LeFevre et al. 2006: every allowed cut of an attribute in view, or the median's alone."""
    rows = list(range(data.n)) if rows is None else rows
    attributes = []
    for j, weight in enumerate(data.numeric_weights):
        width = data.upper[j] - data.lower[j]
        attributes.append((data.X[:, j], weight / width))
    for j, weight in enumerate(data.nominal_weights):
        attributes.append((data.codes[:, j] * 1.0, weight / max(1, len(data.categories[j]) - 1)))
    widths = [float(np.ptp(values[rows]) * scale) for values, scale in attributes]
    for j in sorted(range(len(attributes)), key=lambda j: (-widths[j], j)):
        values = attributes[j][0]
        allowed = {}
        for value in sorted({values[i] for i in rows}):
            left = [i for i in rows if values[i] <= value]
            if k <= len(left) <= len(rows) - k:
                allowed[value] = left
        median = sorted(values[i] for i in rows)[(len(rows) - 1) // 2]
        if cut == "median":
            allowed = {v: left for v, left in allowed.items() if v == median}
        if not allowed or widths[j] == 0:
            continue
        value = median if median in allowed else max(v for v in allowed if v < median)
        right = [i for i in rows if i not in allowed[value]]
        return mondrian(data, k, allowed[value], cut) | mondrian(data, k, right, cut)
    return {frozenset(rows)}


def weights(data, covered):
    """Edge weights of a round: what original j adds to row i, ∞ if it has it."""
    n = data.n
    return np.array(
        [
            [
                np.inf if j in covered[i] else loss(data, [*covered[i], j]) - loss(data, covered[i])
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


def doka(data, k, by_weight):
    """Greedy and SortGreedy with a swap for rows that find nothing; None if no swap helps."""
    n = data.n
    covered = [[i] for i in range(n)]
    for _ in range(k - 1):
        w = weights(data, covered)
        edges = sorted((w[i, j], i, j) for i in range(n) for j in range(n))
        if not by_weight:
            edges.sort(key=lambda edge: (edge[1], edge[0], edge[2]))
        target, taken = {}, set()
        for weight, i, j in edges:
            if np.isfinite(weight) and i not in target and j not in taken:
                target[i] = j
                taken.add(j)
        for i in sorted(set(range(n)) - set(target)):
            free = min(set(range(n)) - taken)
            rises = [(w[i, y] + w[x, free] - w[x, y], x) for x, y in sorted(target.items())]
            rise, x = min(rises, default=(np.inf, -1))
            if not np.isfinite(rise):
                return None
            target[i], target[x] = target[x], free
            taken.add(free)
        for i in range(n):
            covered[i].append(target[i])
    return covered
