"""SAFE as printed (000, algorithms 1 to 4): candidate vectors, sets of them, and A·c for each.

The readings of what the text leaves open are those of ``solvers/frequency/safe.py``.
"""

from itertools import product

import numpy as np


def penalty(f, bound):
    return 9 * (f == bound).sum() + 4 * (f == bound - 1).sum() + (f == bound - 2).sum()


def improvement_penalty(f, bound):
    prices = (500, 9, 4, 1)
    return sum(price * (f == bound - below).sum() for below, price in enumerate(prices))


def is_problem(count, k):
    return 0 < count < k


def problems(y, k):
    return sum(is_problem(count, k) for count in y)


def minimal(candidates, key):
    values = [key(c) for c in candidates]
    return [c for c, value in zip(candidates, values, strict=True) if value == min(values)]


def candidates(y, y0, indices, k, deviation):
    for h in product(range(-k, k + 1), repeat=len(indices)):
        c = y.copy()
        for i, change in zip(indices, h, strict=True):
            c[i] += change
        if all(c[i] >= 0 and abs(c[i] - y0[i]) <= deviation for i in indices):
            yield c


def selection_rule(A, y0, y, bound, indices, k, deviation):
    """Algorithm 2, and whether a candidate was refused for its errors."""
    everything = list(candidates(y, y0, indices, k, deviation))

    def error(c):
        return np.abs(A @ y0 - A @ c)

    AC = [c for c in everything if (error(c) <= bound).all()]
    best = minimal(AC, lambda c: problems(c, k))
    best = minimal(best, lambda c: penalty(error(c), bound))
    best = minimal(best, lambda c: error(c).sum())
    return (best[0] if best else y), len(AC) < len(everything)


def improvement_rule(A, y0, y, bound, indices, k, deviation):
    """Algorithm 4."""

    def error(c):
        return np.abs(A @ y0 - A @ c)

    AC = [
        c
        for c in candidates(y, y0, indices, k, deviation)
        if not any(is_problem(c[i], k) for i in indices)
    ]
    best = minimal(AC, lambda c: (error(c) > bound).sum())
    best = minimal(best, lambda c: improvement_penalty(error(c), bound))
    best = minimal(best, lambda c: error(c).sum())
    return best[0] if best else y


def consecutive(entries, size=3):
    return [list(entries[i : i + size]) for i in range(len(entries) - size + 1)]


def all_slices(end):
    return consecutive(range(end)) or [list(range(end))]


def slices(stage, y, end, k):
    found = [i for i in range(end) if is_problem(y[i], k)]
    if stage == 1:
        return consecutive(found)
    if stage == 4:
        return all_slices(end)
    line = [i for i in range(end) if stage == 3 or y[i] > 0]
    return [line[max(0, line.index(i) - 1) : line.index(i) + 2] for i in found]


class Safe:
    """Algorithm 1 on a sorted frequency vector; ``used`` collects the stages that had a turn."""

    def __init__(self, A, y0, dimension, g, k, options):
        self.A, self.y0, self.k, self.options = A, y0, k, options
        self.one = dimension == 1
        self.g = g
        self.b1, self.b2 = options.bound_one_dim, options.bound_higher_dim
        self.deviation = k if options.allowed_deviation is None else options.allowed_deviation
        self.y = y0.copy()
        self.used = set()

    def bound(self):
        return np.where(self.one, self.b1, self.b2) + self.g

    def too_low(self, before, after):
        return before > 0 and (
            before == after or (before - after) / before < self.options.stagnation
        )

    def increase(self):
        if self.b2 - self.b1 >= self.options.max_gap:
            return False
        self.b2 += 1
        return True

    def run(self):
        while problems(self.y, self.k):
            before = problems(self.y, self.k)
            for stage in (1, 2, 3, 4):
                self.lines_3_to_16(stage)
                if not self.too_low(before, problems(self.y, self.k)):
                    break
            else:
                if not self.increase():
                    self.b1 += 1
        self.improve()
        return self.y

    def lines_3_to_16(self, stage):
        self.used.add(stage)
        n = len(self.y)
        ends = [min(self.options.first_part, n)]
        while ends[-1] < n:
            ends.append(min(ends[-1] + self.options.part, n))
        for end in ends:
            while True:
                before = problems(self.y[:end], self.k)
                refused = False
                for indices in slices(stage, self.y, end, self.k):
                    self.y, out = selection_rule(
                        self.A, self.y0, self.y, self.bound(), indices, self.k, self.deviation
                    )
                    refused |= out
                if problems(self.y, self.k) == 0:
                    return
                low = self.too_low(before, problems(self.y[:end], self.k))
                if not (low and refused and self.increase()):
                    break

    def improve(self):
        """Algorithm 3."""
        target = np.where(self.one, self.options.target_one_dim, self.options.target_higher_dim)
        bound = self.bound()
        iterations = 0

        def exceedings(b):
            return (np.abs(self.A @ self.y0 - self.A @ self.y) > b).sum()

        while (
            iterations < self.options.max_iterations
            and (bound > target).any()
            and exceedings(bound) < self.options.max_total_exceedings
        ):
            while True:
                lower = np.where(bound > target, bound - 1, bound)
                if (lower == bound).all() or exceedings(lower) >= self.options.max_exceedings:
                    break
                bound = lower
            for indices in all_slices(len(self.y)):
                self.y = improvement_rule(
                    self.A, self.y0, self.y, bound, indices, self.k, self.deviation
                )
            iterations += 1
