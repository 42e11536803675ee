"""The thesis' synthetic nominal data with a prescribed share of confidentiality problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd

from kanopy.instances.arguments import checked_seed, is_known, number, whole_number
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata

Duplication = Literal["uniform", "coin", "none", "full"]


def synthetic(
    n: int = 200,
    p: float = 0.2,
    k: int = 3,
    seed: int = 0,
    domain: Sequence[int] = (2, 5, 6, 7, 7),
    duplication: Duplication = "uniform",
) -> Microdata:
    """Nominal rows of which exactly ⌈p·n⌉ are confidentiality problems (000, 6.2.1).

    First ⌊(1−p)·n⌋ rows that are none: a combination that was not drawn before is duplicated n_r
    times, n_r drawn from {k−1, …, ⌊0.15·n⌋}, until there are enough rows. Then ⌈p·n⌉ problems: a
    new combination is left alone or duplicated at most k−2 times.

    What the text leaves open is decided so:

    - *The last group.* n_r is drawn from the values that leave no rest of 1 to k−1 rows, which
      would be further problems. Where none does, the group takes all rows left (fewer than 2k);
      where 0.15·n < k−1, every n_r is k−1.
    - *Copies of a problem* (``duplication``): ``"uniform"`` draws 0 to k−2 copies with equal
      chance; ``"coin"`` makes none in half of the cases, else 1 to k−2 with equal chance (the same
      for k ≤ 3); ``"none"`` and ``"full"`` always make 0 and k−2. The last group is cut short.
    - *Scarce combinations.* Groups are drawn no smaller than needed for the domain to suffice.
    - *Order.* Rows are shuffled.

    Parameters
    ----------
    n, p, k
        Rows, share of confidentiality problems, and the k they refer to.
    domain
        Number of values of each attribute; the default is 000, table 6.4.

    Examples
    --------
    >>> data = synthetic(n=200, p=0.02, k=3, seed=1)
    >>> int(data.counts[data.counts < 3].sum())
    4
    >>> data.domain_sizes.tolist()
    [2, 5, 6, 7, 7]
    """
    combinations = _check(n, p, k, domain, duplication)
    problems = math.ceil(round(p * n, 9))  # 0.07·100 is not 7 in floating point
    safe = n - problems
    largest = max(math.floor(round(0.15 * n, 9)), k - 1) + 1
    most_copied = 1 if duplication == "none" else k - 1
    fewest = _groups(safe, largest) + _groups(problems, most_copied)
    if fewest > combinations:
        raise KanopyError(
            f"n = {n}, p = {p} and k = {k} need at least {fewest} combinations of values, but "
            f"domain = {tuple(domain)} has {combinations}; choose a larger domain or a smaller n"
        )
    if 0 < safe < k:
        raise KanopyError(
            f"n = {n} and p = {p} leave {safe} rows that are no confidentiality problem, fewer "
            f"than k = {k}; choose p = 1 or a larger n"
        )
    rng = np.random.default_rng(checked_seed(seed))
    sizes = _safe_sizes(rng, safe, k, largest, combinations - _groups(problems, most_copied))
    sizes += _problem_sizes(rng, problems, k, combinations - len(sizes), duplication)

    chosen = rng.choice(combinations, size=len(sizes), replace=False)
    rows = rng.permutation(np.repeat(chosen, sizes))
    values = np.unravel_index(rows, tuple(domain))
    names = [f"a{j}" for j in range(1, len(domain) + 1)]
    frame = pd.DataFrame({name: value + 1 for name, value in zip(names, values, strict=True)})
    return Microdata.from_frame(
        frame,
        nominal=names,
        domains=dict(zip(names, map(int, domain), strict=True)),
        name=f"synthetic n={n} p={p} k={k} seed={seed}",
    )


def _groups(rows: int, largest: int) -> int:
    return -(-rows // largest)


def _safe_sizes(
    rng: np.random.Generator, rows: int, k: int, largest: int, most_groups: int
) -> list[int]:
    """Group sizes k…largest that sum to ``rows``, in at most ``most_groups`` groups."""
    sizes: list[int] = []
    while rows:
        smallest = max(k, rows - (most_groups - len(sizes) - 1) * largest)
        fitting = [
            size
            for size in range(smallest, min(largest, rows) + 1)
            if size == rows or rows - size >= k
        ]
        sizes.append(int(rng.choice(fitting)) if fitting else rows)
        rows -= sizes[-1]
    return sizes


def _problem_sizes(
    rng: np.random.Generator, rows: int, k: int, most_groups: int, duplication: Duplication
) -> list[int]:
    """Group sizes 1…k−1 that sum to ``rows``, in at most ``most_groups`` groups."""
    sizes: list[int] = []
    while rows:
        if duplication == "none" or k == 2:
            copies = 0
        elif duplication == "full":
            copies = k - 2
        elif duplication == "coin":
            copies = 0 if rng.random() < 0.5 else int(rng.integers(1, k - 1))
        else:
            copies = int(rng.integers(0, k - 1))
        smallest = rows - (most_groups - len(sizes) - 1) * (k - 1)
        sizes.append(min(max(copies + 1, smallest), rows))
        rows -= sizes[-1]
    return sizes


def _check(n: int, p: float, k: int, domain: Sequence[int], duplication: str) -> int:
    """The number of combinations, if the request makes sense."""
    whole_number(n, "n", least=1)
    if not 0 <= number(p, "p") <= 1:
        raise KanopyError(f"p = {p}; the share of confidentiality problems lies between 0 and 1")
    if whole_number(k, "k") < 2:
        raise KanopyError(f"k = {k}, but no row is a confidentiality problem then; choose k ≥ 2")
    if not isinstance(domain, Sequence):
        raise KanopyError(f"domain must be a list like (2, 5, 6), got {type(domain).__name__}")
    if not domain or any(whole_number(size, "a size in domain") < 1 for size in domain):
        raise KanopyError(f"domain = {tuple(domain)}; give at least one attribute, each with ≥ 1")
    if not is_known(duplication, get_args(Duplication)):
        raise unknown("duplication", duplication, get_args(Duplication))
    combinations = math.prod(map(int, domain))
    if combinations > 2**62:
        raise KanopyError(f"domain = {tuple(domain)} has more than 2^62 combinations; choose fewer")
    return combinations
