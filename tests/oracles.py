"""Slow, literal oracles that tests compare with; they share nothing with the package."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd


def all_partitions(n: int, k: int) -> Iterator[list[tuple[int, ...]]]:
    """Every partition of 0 … n−1 into blocks of at least k."""

    def extend(rest: list[int]) -> Iterator[list[tuple[int, ...]]]:
        if not rest:
            yield []
            return
        first, others = rest[0], rest[1:]
        for mates in range(k - 1, len(rest)):
            left = len(others) - mates
            if 0 < left < k:
                continue
            for chosen in combinations(others, mates):
                taken = set(chosen)
                for tail in extend([i for i in others if i not in taken]):
                    yield [(first, *chosen), *tail]

    return extend(list(range(n)))


def labels_of(partition: list[tuple[int, ...]]) -> np.ndarray:
    """Labels of a partition given as blocks."""
    labels = np.empty(sum(map(len, partition)), dtype=np.int64)
    for number, block in enumerate(partition):
        labels[list(block)] = number
    return labels


def pair_cost(data, block: tuple[int, ...], cost: str) -> float:
    """Cost of one cluster by its textbook definition, pair by pair or cell by cell."""
    if cost == "sse":
        points = data.X[list(block)]
        total = sum(
            float(w * (points[a, j] - points[b, j]) ** 2)
            for a, b in combinations(range(len(block)), 2)
            for j, w in enumerate(data.numeric_weights)
        )
        return total / len(block)
    if cost == "hamming":
        return sum(
            float(w)
            for a, b in combinations(block, 2)
            for j, w in enumerate(data.nominal_weights)
            if data.codes[a, j] != data.codes[b, j]
        )
    loss = 0.0
    for j, w in enumerate(data.numeric_weights):
        width = data.upper[j] - data.lower[j]
        values = data.X[list(block), j]
        loss += float(w * (values.max() - values.min()) / width) if width > 0 else 0.0
    for j, w in enumerate(data.nominal_weights):
        distinct = len(set(data.codes[list(block), j].tolist()))
        loss += float(w) * (distinct - 1) / int(data.domain_sizes[j])
    return len(block) * loss


def optimum(data, k: int, cost: str) -> float:
    """Least cost over all partitions."""
    known: dict[tuple[int, ...], float] = {}

    def of(block: tuple[int, ...]) -> float:
        if block not in known:
            known[block] = pair_cost(data, block, cost)
        return known[block]

    return min(sum(map(of, partition)) for partition in all_partitions(data.n, k))


def random_frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Two number and two text columns with many ties."""
    return pd.DataFrame(
        {
            "age": rng.integers(0, 5, n) * 1.0,
            "income": rng.normal(size=n).round(2),
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(["a", "b", "c"], n),
        }
    )


def random_instance(rng: np.random.Generator, cost: str, n: int):
    """A tiny instance for a cost, sometimes with weights."""
    import kanopy as kn

    frame = random_frame(rng, n)
    columns = {"sse": ["age", "income"], "hamming": ["sex", "job"], "range": list(frame.columns)}
    weights = {columns[cost][0]: 2.5} if rng.random() < 0.5 else None
    return kn.Microdata.from_frame(frame[columns[cost]], weights=weights)
