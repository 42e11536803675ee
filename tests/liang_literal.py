"""Slow, literal transcriptions of paper 003: Algorithms 1 and 2 as printed, line by line."""

import numpy as np
import pandas as pd
from oracles import all_partitions, pair_cost


def dyadic_instance(rng, n, kind="mixed"):
    """A table with ties whose costs are sums of powers of two, hence exact, weights included."""
    import kanopy as kn

    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 9, n),
            "size": rng.integers(0, 5, n) * 0.5,
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(["a", "b", "c", "d"], n),
        }
    )
    frame = frame[{"numeric": ["age", "size"], "nominal": ["sex", "job"]}.get(kind, [*frame])]
    if rng.random() < 0.3:
        frame = frame.iloc[rng.integers(0, max(1, n // 3), n)].reset_index(drop=True)
    domains = {"age": (0, 8), "size": (0, 4), "sex": 2, "job": 4}
    weights = {name: float(rng.choice([0.25, 0.5, 1.0, 2.0])) for name in frame.columns}
    return kn.Microdata.from_frame(
        frame,
        domains={name: domains[name] for name in frame.columns},
        weights=weights,
        standardize=False,
    )


def sort_by_variance(data):
    """Lines 1 and 2 of both algorithms; categories by their numbers, ties by row."""
    columns = {}
    for j, name in enumerate(data.numeric):
        columns[name] = (data.X[:, j].tolist(), data.numeric_weights[j])
    for j, name in enumerate(data.nominal):
        columns[name] = (data.codes[:, j].tolist(), data.nominal_weights[j])
    in_order = [columns[name] for name in data.frame.columns]
    by_variance = sorted(in_order, key=lambda c: round(np.var(c[0]) / c[1] ** 2, 9))
    return sorted(range(data.n), key=lambda i: [values[i] for values, _ in by_variance])


def greedy_search(data, k):
    """Algorithm 2; rows that are left over join the class of least f after they joined."""
    rest = sort_by_variance(data)
    classes = []
    while len(rest) >= k:
        built = [rest.pop(0)]
        for _ in range(k - 1):
            losses = [pair_cost(data, (*built, x), "range") for x in rest]
            built.append(rest.pop(losses.index(min(losses))))
        classes.append(built)
    for x in rest:
        losses = [pair_cost(data, (*built, x), "range") for built in classes]
        classes[losses.index(min(losses))].append(x)
    return classes


def best_of_all(data, k, rows, start):
    """Brute force: the given partition of the rows unless another one is better."""

    def cost(blocks):
        return sum(pair_cost(data, tuple(rows[i] for i in block), "range") for block in blocks)

    best = [tuple(i for i, c in enumerate(start) if c == label) for label in dict.fromkeys(start)]
    least = cost(best)
    for blocks in all_partitions(len(rows), k):
        if max(map(len, blocks)) < 2 * k and cost(blocks) < least:
            best, least = blocks, cost(blocks)
    return [tuple(rows[i] for i in block) for block in best]


def split_carry(data, k, sets, solve):
    """Algorithm 1 with sets of rows; solve(rows, classes) returns classes."""
    order = sort_by_variance(data)
    initial = [order[i : i + k] for i in range(0, len(order) - len(order) % k, k)]
    initial[-1] += order[len(order) - len(order) % k :]
    accepted, carried, sizes = [], [], []
    while initial:
        new, initial = initial[:sets], initial[sets:]
        sub = sorted((x for c in (*carried, *new) for x in c), key=order.index)
        classes = solve(sub, [*carried, *new])
        sizes.append(len(sub))
        boundary = set(sub[-k:]) if initial else set()
        carried = []
        for members in classes:
            members = sorted(members, key=order.index)
            if not boundary & set(members):
                accepted.append(members)
                continue
            others = [x for x in members if x not in boundary]
            at_boundary = [x for x in members if x in boundary]
            wanted = max(k - len(at_boundary), 0)
            k_set = others[len(others) - wanted :] + at_boundary
            left = [x for x in members if x not in k_set]
            if 0 < len(left) < k:  # indirectly equivalent rows that cannot stand alone
                carried.append(members)
            else:
                carried.append(k_set)
                accepted += [left] if left else []
    return accepted, sizes
