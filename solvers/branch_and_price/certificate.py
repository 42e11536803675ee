"""From what a search has proven to a certificate in whole numbers.

A bound's duals may leave clusters of slightly negative reduced cost. Let per_root be what complete
pricing proves for them: adding it (≤ 0) to the dual of each root, or the least reduced cost to the
dual of the count, makes all reduced costs ≥ 0 and the duals' value the bound itself. Rounding all
duals down only raises reduced costs. Where a MIP closed a node, its tree is not at hand: a small
branch-and-bound over the same clusters, by linear programs alone, takes its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.checking.certificate import Branch, Certificate, Leaf, Listing, Step
from kanopy.checking.certificate import Duals as WholeDuals
from kanopy.solvers.branch_and_price.argument import Argument
from kanopy.solvers.branch_and_price.branching import pair_weights
from kanopy.solvers.branch_and_price.coefficients import coefficients, right_hand_sides
from kanopy.solvers.branch_and_price.column_generation import Bound, Clock
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.enumeration import SCALE, list_clusters
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.branch_and_price.subset_row import separate

BITS = 40
"""The objective is about 2^BITS units."""

MOST = 1 << 43
"""Duals are cut down to so many units."""

CUT_ROUNDS = 6
"""Rounds of cuts in a node of the branch-and-bound over listed clusters."""

PROGRAMS = 3000
"""Linear programs after which a node stays with the bound it has."""


@dataclass(frozen=True, eq=False)
class Part:
    """A node of the branch-and-bound over listed clusters: further rows Σ_{C⊇B} x_C in [low, high].

    ``rows`` are 0/1 over the clusters.
    """

    rows: tuple[NDArray[np.bool_], ...] = ()
    sides: tuple[tuple[float, float], ...] = ()
    clusters: tuple[int, int] = (0, 0)


class Writer:
    """Collects the steps and cuts of one certificate."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.steps: list[Step | None] = []
        self.cuts: dict[tuple[tuple[int, ...], int], int] = {}
        self.bits = BITS - math.frexp(engine.upper())[1]
        data = engine.problem.data
        # Costs are rounded down, for each row by a unit and column at most; where values are told
        # apart, also for each other row of the cluster, unless their weights are whole units.
        units = np.ldexp(data.nominal_weights, self.bits)
        if engine.problem.cost == "range" or (units != np.floor(units)).any():
            self.slack = 4 + len(data.numeric) + 2 * engine.problem.k * len(data.nominal)
        else:
            self.slack = 4 + len(data.numeric)
        if engine.problem.cost == "range":  # in floats, values far from 0 lose what they differ by
            width = np.maximum(data.upper - data.lower, np.finfo(float).tiny)
            lost = data.numeric_weights * np.abs(data.X).max(axis=0, initial=0.0) / width
            lost = np.where(data.upper > data.lower, lost, 0.0)
            rounding = 8 * np.finfo(float).eps * float(lost.sum())
            self.slack += min(math.ceil(math.ldexp(rounding, self.bits)), MOST)
        self.programs = 0

    def certificate(self) -> Certificate:
        """Everything that the engine has proven."""
        engine = self.engine
        data = engine.problem.data
        self.add(engine.argument)
        return Certificate(
            instance=data.fingerprint,
            k=engine.problem.k,
            cost=engine.problem.cost,
            labels=[],
            merged=not engine.told_apart,
            bits=self.bits,
            cuts=list(self.cuts),
            steps=[step for step in self.steps if step is not None],
        )

    def add(self, argument: Argument) -> int:
        """Number of the step that an argument becomes."""
        number = len(self.steps)
        self.steps.append(None)
        if argument.children is not None:
            less, more = (self.add(child) for child in argument.children)
            self.steps[number] = Branch(argument.rows, argument.most, less, more)
            return number
        duals = self.snap(argument.bound, argument.restrictions)
        if argument.listed and argument.bound.duals is not None:
            below = math.floor(math.ldexp(self.engine.target(), self.bits))
            # All clusters that the checker will list: for the same whole duals, and a little more,
            # as it rounds costs down.
            most = 4 * self.engine.problem.k**2 * self.slack
            cutoff = math.ldexp(float(below + most), -self.bits)
            listed = list_clusters(
                self.engine.pricer,
                self.bound_of(duals, argument),
                cutoff,
                Clock(),
                self.engine.options.most_columns,
                argument.restrictions,
            )
            if listed is not None and listed.cutoff >= cutoff:
                then = self.prove_listed(listed.clusters, listed.costs, argument)
                self.steps[number] = Listing(duals, below, then)
                return number
        self.steps[number] = Leaf(duals)
        return number

    def snap(self, bound: Bound, restrictions: Restrictions) -> WholeDuals:
        """Whole duals without negative reduced costs that prove the bound, up to rounding."""
        pricer = self.engine.pricer
        if bound.duals is None:
            return WholeDuals([0] * len(pricer.multiplicities))
        search = Search(threshold=-1e-12 * self.engine.master.unit, per_root=1)
        priced = pricer.price(bound.duals, bound.cuts, restrictions, search)
        types, count = bound.duals.types, bound.duals.count
        if priced.per_root is not None:
            types = types + np.minimum(priced.per_root, 0.0)
        else:
            count = count + min(priced.least, 0.0)
        return self.whole(types, count, bound.cuts, bound.duals.cuts)

    def bound_of(self, duals: WholeDuals, argument: Argument) -> Bound:
        """The bound that whole duals prove, as the checker computes it."""
        engine, cuts = self.engine, argument.bound.cuts
        limits = argument.restrictions.range_of_clusters(engine.problem.n, engine.problem.k)
        of_cuts = np.zeros(len(cuts))
        numbers = {self.number_of(cuts, c): c for c in range(len(cuts))}
        for number, value in duals.cuts:
            of_cuts[numbers[number]] = value
        sides = right_hand_sides(cuts, engine.copies)
        value = sum(int(c) * u for c, u in zip(engine.copies, duals.types, strict=True))
        value += min(duals.count * limits[0], duals.count * limits[1])
        value += sum(int(u) * int(side) for u, side in zip(of_cuts, sides, strict=True))
        types = np.ldexp(np.array(duals.types, dtype=np.float64), -self.bits)
        count = math.ldexp(float(duals.count), -self.bits)
        real = Duals(types, count, np.ldexp(of_cuts, -self.bits))
        return Bound(math.ldexp(float(value), -self.bits), real, cuts)

    def whole(
        self,
        types: NDArray[np.float64],
        count: float,
        cuts: Cuts,
        of_cuts: NDArray[np.float64],
        of_branches: tuple[float, ...] = (),
    ) -> WholeDuals:
        """Duals in units, rounded down."""
        each: dict[int, int] = {}  # two equal cuts are one
        for c in np.flatnonzero(of_cuts < 0).tolist():
            number = self.number_of(cuts, c)
            dual = math.floor(math.ldexp(float(of_cuts[c]), self.bits))
            each[number] = each.get(number, 0) + dual
        return WholeDuals(
            [min(math.floor(math.ldexp(u, self.bits)) - self.slack, MOST) for u in types.tolist()],
            math.floor(math.ldexp(count, self.bits)),
            list(each.items()),
            [math.floor(math.ldexp(d, self.bits)) for d in of_branches],
        )

    def number_of(self, cuts: Cuts, c: int) -> int:
        """The certificate's number of a cut."""
        members = tuple(cuts.members[cuts.starts[c] : cuts.starts[c + 1]].tolist())
        return self.cuts.setdefault((members, int(cuts.divisors[c])), len(self.cuts))

    # Listed clusters

    def prove_listed(
        self, clusters: NDArray[np.int32], costs: NDArray[np.float64], argument: Argument
    ) -> int:
        """Step that proves that no partition into these clusters is below the target."""
        engine = self.engine
        limits = argument.restrictions.range_of_clusters(engine.problem.n, engine.problem.k)
        return self.part(clusters, costs, argument.bound.cuts, Part(clusters=limits))

    def part(
        self, clusters: NDArray[np.int32], costs: NDArray[np.float64], cuts: Cuts, part: Part
    ) -> int:
        """Step for one node of the branch-and-bound."""
        number = len(self.steps)
        self.steps.append(None)
        target = self.engine.target()
        for rounds in range(CUT_ROUNDS + 1):
            x, duals, value = self.relax(clusters, costs, cuts, part)
            if value >= target or rounds == CUT_ROUNDS or len(clusters) == 0:
                break
            most = max(20, len(duals.types) // 2)
            found = separate(clusters, x, self.engine.copies, self.engine.problem.k, most)
            if len(found) == 0:
                break
            cuts = cuts.joined(found)
        branch = None
        if value < target and self.programs < PROGRAMS and len(clusters):
            branch = _fractional(clusters, x)
        if branch is None:
            taus = tuple(self.branch_duals)
            self.steps[number] = Leaf(self.whole(duals.types, duals.count, cuts, duals.cuts, taus))
            return number
        rows, weight = branch
        most = math.floor(weight)
        inside = _contain(clusters, rows)
        children = [
            self.part(
                clusters,
                costs,
                cuts,
                replace(part, rows=(*part.rows, inside), sides=(*part.sides, sides)),
            )
            for sides in ((-math.inf, float(most)), (most + 1.0, math.inf))
        ]
        self.steps[number] = Branch(rows, most, *children)
        return number

    def relax(
        self, clusters: NDArray[np.int32], costs: NDArray[np.float64], cuts: Cuts, part: Part
    ) -> tuple[NDArray[np.float64], Duals, float]:
        """Solution, duals without negative reduced costs, and the bound that these prove."""
        from scipy.optimize import linprog

        self.programs += 1
        copies = self.engine.copies
        types = len(copies)
        scale = SCALE / self.engine.upper()
        starts, rows, values = coefficients(clusters, cuts, types)
        matrix = sp.csc_array((values, rows, starts), shape=(types + 1 + len(cuts), len(clusters)))
        matrix = sp.csr_array(matrix)
        fewest, most = part.clusters
        above = [-matrix[types : types + 1]]  # as ≤ rows, whose dear columns are the last ones
        below = [matrix[types : types + 1], matrix[types + 1 :]]
        sides_above = [-float(fewest)]
        sides_below = [float(most), *right_hand_sides(cuts, copies).tolist()]
        for row, (low, high) in zip(part.rows, part.sides, strict=True):
            line = sp.csr_array(row.astype(float)[None, :])
            if math.isfinite(high):
                below.append(line)
                sides_below.append(high)
            else:
                above.append(-line)
                sides_above.append(-low)
        # Dear columns, one a type and one a lower side, keep the program feasible.
        spare = types + len(above)
        equal = sp.hstack([matrix[:types], sp.eye_array(types, spare)])
        unequal = sp.vstack(
            [
                sp.hstack([sp.vstack(above), -sp.eye_array(len(above), spare, k=types)]),
                sp.hstack([sp.vstack(below), sp.csr_array((len(sides_below), spare))]),
            ]
        )
        result = linprog(
            np.concatenate([costs * scale, np.full(spare, 2.0 * SCALE)]),
            A_ub=unequal,
            b_ub=np.array([*sides_above, *sides_below]),
            A_eq=equal,
            b_eq=copies.astype(float),
            method="highs-ds",
        )
        inner = result.ineqlin.marginals / scale  # ≤ 0
        duals = result.eqlin.marginals / scale
        lower, upper = -inner[: len(above)], inner[len(above) :]
        of_count = float(lower[0] + upper[0])
        of_cuts = upper[1 : 1 + len(cuts)]
        of_lower, of_upper = iter(lower[1:].tolist()), iter(upper[1 + len(cuts) :].tolist())
        taus = [
            min(next(of_upper), 0.0) if math.isfinite(high) else max(next(of_lower), 0.0)
            for _, high in part.sides
        ]
        reduced = costs - matrix[:types].T @ duals - of_count
        if len(cuts):
            reduced = reduced - matrix[types + 1 :].T @ of_cuts
        for row, tau in zip(part.rows, taus, strict=True):
            reduced = reduced - tau * row
        of_count += min(0.0, float(reduced.min(initial=0.0)))
        value = float(copies @ duals) + min(of_count * fewest, of_count * most)
        value += float(of_cuts @ right_hand_sides(cuts, copies)) if len(cuts) else 0.0
        for tau, (low, high) in zip(taus, part.sides, strict=True):
            value += tau * (high if math.isfinite(high) else low)
        self.branch_duals = taus
        loss = math.ldexp(float(self.slack * copies.sum() + most + len(cuts)), -self.bits)
        return result.x[: len(clusters)], Duals(duals, of_count, of_cuts), value - loss


def certify(engine: Engine) -> Certificate:
    """The certificate of what an engine has proven, without labels."""
    return Writer(engine).certificate()


def _fractional(
    clusters: NDArray[np.int32], x: NDArray[np.float64]
) -> tuple[tuple[int, ...], float] | None:
    """Types that a fractional number of clusters contains, and that number; None if x is whole."""
    pairs, weights = pair_weights(clusters, x)
    distinct = pairs[:, 0] != pairs[:, 1]
    pairs, weights = pairs[distinct], weights[distinct]
    # A pair's weight counts clusters, not copies, so that it is whole in every partition.
    part = np.abs(weights - np.round(weights))
    for c in np.argsort(-part, kind="stable")[:50]:
        rows: tuple[int, ...] = (int(pairs[c, 0]), int(pairs[c, 1]))
        weight = float(x[_contain(clusters, rows)].sum())
        if abs(weight - round(weight)) > 1e-5:
            return rows, weight
    for c in np.argsort(-np.abs(x - np.round(x)), kind="stable")[:50]:
        rows = tuple(int(t) for t in clusters[c] if t >= 0)
        weight = float(x[_contain(clusters, rows)].sum())
        if abs(weight - round(weight)) > 1e-5:
            return rows, weight
    return None


def _contain(clusters: NDArray[np.int32], rows: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which clusters contain a multiset of types."""
    inside = np.ones(len(clusters), dtype=bool)
    for t in set(rows):
        inside &= (clusters == t).sum(axis=1) >= rows.count(t)
    return inside
