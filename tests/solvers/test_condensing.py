"""Cuts of the tableau, bounds and what is left of lists, against every partition of tiny tables."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sizes import how_many

import kanopy as kn
from kanopy.solvers.branch_and_price import branching, condensing, lists
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.condensing import Condensation
from kanopy.solvers.branch_and_price.enumeration import Chosen
from kanopy.solvers.branch_and_price.list_program import ListProgram
from kanopy.solvers.branch_and_price.pricing import Cuts
from kanopy.solvers.branch_and_price.tableau_cuts import mixed_cuts, tableau_cuts


def all_clusters(counts, k):
    """Every multiset of k … 2k−1 types that the copies allow, as padded rows."""
    rows = []
    for size in range(k, 2 * k):
        for cluster in itertools.combinations_with_replacement(range(len(counts)), size):
            if all(counts[t] >= times for t, times in Counter(cluster).items()):
                rows.append([*cluster, *[-1] * (2 * k - 1 - size)])
    return np.array(rows, dtype=np.int32)


def all_points(clusters, counts):
    """Every partition, as how often it uses each cluster."""
    tables = [np.bincount(row[row >= 0], minlength=len(counts)) for row in clusters]
    found = []

    def extend(left, first, used):
        if not left.any():
            found.append(used.copy())
            return
        for c in range(first, len(tables)):
            if (tables[c] <= left).all():
                used[c] += 1
                extend(left - tables[c], c, used)
                used[c] -= 1

    extend(np.array(counts), 0, np.zeros(len(tables)))
    return np.array(found)


def random_list(rng):
    """A tiny table's clusters with costs at random or by a metric, and all its partitions."""
    k = int(rng.integers(2, 4))
    counts = rng.choice([1, 1, 1, 2, 3], size=int(rng.integers(5, 8)))
    while not k <= counts.sum() <= 9:
        counts = counts[:-1] if counts.sum() > 9 else np.append(counts, 1)
    clusters = all_clusters(counts, k)
    costs = rng.random(len(clusters))
    if rng.random() < 0.5:
        points = rng.random((len(counts), 2))
        held = [points[row[row >= 0]] for row in clusters]
        costs = np.array([((p - p.mean(axis=0)) ** 2).sum() for p in held])
    keep = rng.random(len(clusters)) < rng.choice([0.4, 0.7, 1.0])
    return k, counts.astype(np.int64), clusters[keep], costs[keep] + 0.01


def checked(monkeypatch, points):
    """Every cut that is added holds for every partition made of clusters still in the program."""
    kinds = Counter()
    add = ListProgram.add

    def noted(self, rows, sides, whole):
        which = self.listing.which
        gone = np.setdiff1d(np.arange(points.shape[1]), which)
        possible = points[(points[:, gone] == 0).all(axis=1)][:, which]
        assert (possible @ rows.T <= sides + 1e-9).all()
        assert (sp.csr_array(rows)[whole].data % 1 == 0).all()
        assert (rows @ self.x > sides + 1e-6).all()
        kinds["whole"] += int(whole.sum())
        kinds["mixed"] += int((~whole).sum())
        add(self, rows, sides, whole)

    monkeypatch.setattr(ListProgram, "add", noted)
    return kinds


@pytest.mark.parametrize("part", range(2))
def test_lists_keep_the_best_partition_and_bounds_stay_below_it(monkeypatch, part):
    total = Counter()
    number = how_many(150, 4000)
    for seed in range(part * number, (part + 1) * number):
        rng = np.random.default_rng(seed)
        k, counts, clusters, costs = random_list(rng)
        points = all_points(clusters, counts)
        if len(points) == 0:
            continue
        values = points @ costs
        best = points[values.argmin()]
        fewest = int(rng.integers(0, 2) * points.sum(axis=1).min())
        target = values.min() * rng.choice([0.9, 1.0001, 1.1, 1.5])
        with monkeypatch.context() as patch:
            kinds = checked(patch, points)
            short = Condensation(
                clusters,
                costs,
                counts,
                k,
                (fewest, int(counts.sum()) // k),
                Cuts(),
                target,
                Clock(),
            )
            short.tighten()
            assert min(short.bound, target) <= values.min() * (1 + 1e-9)
            if target > values.min():
                assert set(np.flatnonzero(best)) <= set(short.which)
            found: list[np.ndarray] = []
            nothing = clusters[:0]
            short.sample(found.append, nothing, len)  # which says that none is better
            for rows in found:  # partitions of the table
                assert (np.bincount(rows[rows >= 0], minlength=len(counts)) == counts).all()
            better: list[np.ndarray] = []
            short.look(better.append, target)
            for rows in better:
                used = np.bincount(rows[rows >= 0], minlength=len(counts))
                assert (used == counts).all()
                total["looked"] += 1
            if target > values.min():  # a lower target, as a better partition brings it
                short.target = values.min() * 1.00001
                short.tighten()
                assert short.bound <= values.min() * (1 + 1e-9)
                assert set(np.flatnonzero(best)) <= set(short.which)
        total += kinds
        total["closed"] += short.bound >= values.min() * (1 - 1e-6)
    assert total["whole"] > 20
    assert total["mixed"] > 5
    assert total["closed"] > number / 2
    assert total["looked"] > 5


def test_a_mip_for_a_partition_ends_without_a_limit_of_time(monkeypatch):
    k, counts, clusters, costs = random_list(np.random.default_rng(0))
    number = (0, int(counts.sum()) // k)
    clocks = []
    monkeypatch.setattr(
        condensing,
        "choose",
        lambda *given, **_: clocks.append(given[4]) or Chosen(None, 0.0, False),
    )
    short = Condensation(clusters, costs, counts, k, number, Cuts(), 1e6, Clock())
    short.sample(len, clusters[:0], len)
    short.look(len, 1e6)
    assert len(clocks) == 2
    assert all(clock.remaining() <= condensing.MOST_SECONDS for clock in clocks)


def random_program(rng):
    """Rows of whole numbers, one of them of halves, a vertex and its basis inverse."""
    size = int(rng.integers(3, 6))
    matrix = rng.integers(0, 3, size=(size, size + 3)).astype(float)
    whole = np.ones(size, dtype=bool)
    if rng.random() < 0.5:
        matrix[0] /= 2
        whole[0] = False
    sides = rng.integers(1, 6, size=size).astype(float)
    basis = matrix[:, :size]
    if abs(np.linalg.det(basis)) < 1e-6:
        return None
    inverse = np.linalg.inv(basis)
    x = np.concatenate([inverse @ sides, np.zeros(3)])
    part = np.abs(x[:size] - np.round(x[:size])) > 1e-3
    if (x < -1e-9).any() or not part.any():
        return None
    return matrix, sides, whole, x, inverse[part]


def test_cuts_hold_for_every_point_of_a_box():
    """General rows a·x ≤ b, with slack: whole points that satisfy them satisfy the cuts."""
    cuts = Counter()
    box = np.array(list(itertools.product(range(4), repeat=8)), dtype=float)
    for seed in range(how_many(600, 20_000)):
        program = random_program(np.random.default_rng(seed))
        if program is None:
            continue
        matrix, sides, whole, x, inverse = program
        points = box[:, : matrix.shape[1]]
        points = points[(points @ matrix.T <= sides + 1e-9).all(axis=1)]
        columns = sp.csc_array(matrix)
        rows, right = mixed_cuts(columns, sides, whole, x, inverse)
        assert (points @ rows.T <= right + 1e-9).all()
        cuts["mixed"] += len(right)
        plain = inverse[:, whole]
        if whole.all():
            plain = plain - np.floor(plain + 1e-7)
            rows, right = tableau_cuts(columns, sides, x, np.where(plain < 1e-6, 0.0, plain))
            assert (points @ rows.T <= right + 1e-9).all()
            assert (rows @ x > right).all()
            cuts["whole"] += len(right)
    assert cuts["mixed"] > 50
    assert cuts["whole"] > 30


@pytest.mark.parametrize("cost", ["sse", "range"])
def test_condensed_lists_lead_to_the_same_optimum(monkeypatch, cost):
    """With lists for cutoffs far below the first partition, and branching over what is left."""
    used = Counter()
    tighten = Condensation.tighten

    def noted(self):
        before = len(self.which)
        tighten(self)
        used["rounds"] += self.rounds
        used["gone"] += before - len(self.which)

    for seed in range(how_many(6, 60)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(40, 60))
        table = rng.integers(0, 6, size=(n, 3)) if seed % 2 else rng.random((n, 3))
        data = kn.Microdata.from_frame(pd.DataFrame(table, columns=list("abc")))
        start = kn.solve(data, 3, "mdav", cost="sse").labels  # a poor partition
        common = {"cost": cost, "initial": start, "stop": kn.MaxRuntime(60)}
        common["options"] = {"most_cut_rounds": 0}
        with monkeypatch.context() as patch:
            patch.setattr(lists, "CONDENSED", lists.MOST_LISTED + 1)
            other = kn.solve(data, 3, "branch-and-price", **common)
        with monkeypatch.context() as patch:
            patch.setattr(Condensation, "tighten", noted)
            patch.setattr(lists, "CONDENSED", 300)
            patch.setattr(lists, "COVERED", 0.0)  # little of the gap, so far off is the start
            patch.setattr(lists, "LOOKED_FOR", 0.0 if seed % 3 else math.inf)
            patch.setattr(branching, "NODE_COLUMNS", 0)
            patch.setattr(condensing, "PER_ROW", 1.0)
            patch.setattr(condensing, "PATIENCE", 0)
            solution = kn.solve(data, 3, "branch-and-price", **common)
        assert solution.status == other.status == "optimal"
        assert solution.objective == pytest.approx(other.objective, rel=1e-6)
        bounds = [step.bound for step in solution.trace if step.bound is not None]
        assert max(bounds) <= other.objective * (1 + 1e-9)
    assert used["rounds"] > 5
    assert used["gone"] > 100
