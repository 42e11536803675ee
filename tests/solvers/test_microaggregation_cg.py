"""Paper 002's column generation heuristic against brute force and literal readings."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from oracles import optimum, pair_cost, random_instance
from scipy.optimize import linprog

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.models.pricing_edge import pricing_edge, read_cluster
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.branch_and_price import microaggregation_cg
from kanopy.solvers.branch_and_price.microaggregation_cg import (
    by_enumeration,
    edge_program,
    heuristic_pricing,
)
from kanopy.solvers.branch_and_price.rounding import Rounding


def relaxation(data, k):
    """Value of the master (9) over all clusters of k … 2k−1 rows, by another solver."""
    clusters = [
        c
        for size in range(k, min(2 * k - 1, data.n) + 1)
        for c in combinations(range(data.n), size)
    ]
    rows = np.zeros((data.n, len(clusters)))
    for column, cluster in enumerate(clusters):
        rows[list(cluster), column] = 1
    costs = [pair_cost(data, c, "sse") for c in clusters]
    return linprog(costs, A_eq=rows, b_eq=np.ones(data.n)).fun


def test_bound_and_objective_enclose_the_optimum():
    exact = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 4))
        data = random_instance(rng, "sse", int(rng.integers(k, 10)))
        way = ("table-2", "enumeration", "model")[seed % 3]
        s = kn.solve(data, k, "microaggregation-cg", options={"exact": way})
        best = optimum(data, k, "sse")
        slack = 1e-9 * max(1.0, best)
        assert s.bound <= best + slack
        assert best <= s.objective + slack
        if data.n >= 2 * k and s.objective > 0:
            assert s.bound == pytest.approx(relaxation(data, k), rel=1e-6, abs=1e-8)
        for method in ("mdav", "v-mdav"):
            assert s.objective <= kn.solve(data, k, method).objective + slack
        exact += s.status == "optimal"
    assert exact > 20


def test_larger_table_is_between_its_start_and_the_optimum():
    rng = np.random.default_rng(0)
    data = kn.Microdata.from_frame(pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc")))
    best = kn.solve(data, 3, "branch-and-price")
    s = kn.solve(data, 3, "microaggregation-cg", seed=1)
    assert s.bound <= best.objective <= s.objective
    assert s.objective < kn.solve(data, 3, "v-mdav").objective
    assert s.gap < 0.1


def literal_pricing(points, duals, size):
    """SolveHeuristicPricing of 002, 5.1, line by line."""
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    found = []
    unassigned = sorted(range(len(points)), key=lambda v: -duals[v])
    while len(unassigned) >= size:
        cluster = [unassigned.pop(0)]
        while len(cluster) < size:
            others = [w for w in unassigned if w not in cluster]
            cluster.append(
                min(
                    sorted(others),
                    key=lambda w: squared[w, cluster].sum() / size - duals[w] / (size - 1),
                )
            )
        pairs = sum(squared[a, b] for a, b in combinations(cluster, 2))
        if pairs / size - duals[cluster].sum() < -1e-9:
            found.append(sorted(cluster))
            unassigned = [v for v in unassigned if v not in cluster]
    return found


def test_heuristic_pricing_follows_the_text():
    columns = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(int(rng.integers(4, 25)), 2))
        duals = rng.uniform(0, 1.5, len(points))
        size = int(rng.integers(2, 5))
        clusters = heuristic_pricing(points, duals, size, 1e-9, 9)
        rows = [sorted(c[c >= 0].tolist()) for c in clusters]
        assert rows == literal_pricing(points, duals, size)
        columns += len(rows)
    assert columns > 100


def test_edge_program_is_the_model_and_finds_the_least_reduced_cost():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(7, 2)), columns=["a", "b"])
        data = kn.Microdata.from_frame(frame, standardize=False)
        duals = rng.uniform(0, 2, 7)
        size = 2 + seed % 4
        form = edge_program(data.points, duals, size)
        result = HighsBackend().solve(form, Limits())
        values = {
            c: pair_cost(data, c, "sse") - duals[list(c)].sum()
            for c in combinations(range(7), size)
        }
        best = min(values, key=values.get)
        assert result.objective == pytest.approx(values[best], abs=1e-6)
        model = pricing_edge(data, max(2, (size + 2) // 2), duals=duals, size=size)
        names = list(model.pairs)
        model.pair.set_values(dict(zip(names, np.round(result.x), strict=True)))
        assert tuple(read_cluster(model)) == best
        inside = np.array([set(pair) <= set(best) for pair in names], dtype=float)
        assert form.violation(inside) < 1e-9


def test_table_2():
    printed = {3: "CCCCC", 4: "CCCCC", 5: "CCCCC", 6: "CCCCE", 7: "EEEEE", 8: "EEEEE", 9: "EEEEE"}
    for size, row in printed.items():
        for n, letter in zip((30, 40, 50, 100, 200), row, strict=True):
            assert by_enumeration(n, size) == (letter == "C")


def random_point(rng, n, k):
    """Columns, values of some of them, and a partition among the columns."""
    partition = np.array_split(rng.permutation(n), n // k)
    columns = [*partition, *(rng.choice(n, rng.integers(k, 2 * k), False) for _ in range(2 * n))]
    clusters = np.full((len(columns), 2 * k - 1), -1, dtype=np.int32)
    for row, column in zip(clusters, columns, strict=True):
        row[: len(column)] = np.sort(column)
    return clusters, rng.random(len(columns)) * (rng.random(len(columns)) < 0.5), partition


def test_simple_rounding_takes_columns_by_value():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 5))
        n = int(rng.integers(2 * k, 30))
        points = rng.normal(size=(n, 2))
        clusters, x, partition = random_point(rng, n, k)
        labels = Rounding(points, k).simple(clusters, x)
        assert np.bincount(labels).min() >= k
        # the literal loop
        left, chosen, columns = set(range(n)), [], list(range(len(x)))
        while len(left) >= 2 * k and columns:
            best = max(columns, key=lambda c: x[c])
            rows = set(clusters[best][clusters[best] >= 0].tolist())
            chosen.append(rows)
            left -= rows
            columns = [c for c in columns if not rows & set(clusters[c].tolist())]
        for rows in chosen:
            assert len(set(labels[list(rows)])) == 1
        if k <= len(left) < 2 * k:
            assert set(np.flatnonzero(labels == labels[min(left)])) == left
        else:
            centroids = [points[list(rows)].mean(axis=0) for rows in chosen]
            for row in left:
                home = np.argmin([((c - points[row]) ** 2).sum() for c in centroids])
                assert labels[row] == labels[min(chosen[home])]
        whole = np.zeros(len(x))
        whole[: len(partition)] = 1
        again = Rounding(points, k).simple(clusters, whole)
        assert all(len(set(again[block])) == 1 for block in partition)


def test_spanning_tree_rounding_joins_by_shared_columns():
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k, 20))
        points = rng.normal(size=(n, 2))
        clusters, x, _ = random_point(rng, n, k)
        z = np.zeros((n, n))
        for cluster, value in zip(clusters, x, strict=True):
            for a, b in combinations(cluster[cluster >= 0], 2):
                z[a, b] += value
        squared = ((points[:, None] - points) ** 2).sum(axis=2)
        pairs = sorted(combinations(range(n), 2), key=lambda p: (-round(z[p], 9), squared[p]))
        expected = []
        for most in range(k + 1, 2 * k):
            home = {i: {i} for i in range(n)}
            for a, b in pairs:
                if home[a] is not home[b] and len(home[a]) + len(home[b]) <= most:
                    both = home[a] | home[b]
                    home |= dict.fromkeys(both, both)
            if min(map(len, home.values())) >= k:
                expected.append({frozenset(block) for block in home.values()})
        labels = list(Rounding(points, k).spanning_tree(clusters, x))
        assert [
            {frozenset(np.flatnonzero(found_labels == c).tolist()) for c in set(found_labels)}
            for found_labels in labels
        ] == expected
        found += len(labels)
    assert found > 30


def test_both_starts_share_one_time_limit(monkeypatch):
    """V-MDAV began with a limit of its own once MDAV's was over."""
    given = {}
    start = microaggregation_cg._start

    def noted(name, problem, run, stop, options):
        given[name] = stop.time_limit()
        return start(name, problem, run, stop, options)

    monkeypatch.setattr(microaggregation_cg, "_start", noted)
    kn.solve(
        kn.generate("simu", n=60, d=2, seed=1), 3, "microaggregation-cg", stop=kn.MaxRuntime(9)
    )
    assert list(given) == ["mdav", "v-mdav"]
    assert given["mdav"] <= 3.0
    assert given["v-mdav"] <= 4.5


def test_options_are_checked():
    data = kn.example("testdata")
    with pytest.raises(KanopyError, match="table-2"):
        kn.solve(data, 3, "microaggregation-cg", options={"exact": "table 2"})
    with pytest.raises(KanopyError, match="gamma"):
        kn.solve(data, 3, "microaggregation-cg", options={"gamma": -1.0})
