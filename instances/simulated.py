"""Simulated numeric data: SimU (uniform) and SimC (clustered), 001, section 5.2."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.arguments import checked_seed, number, whole_number
from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata


def simu(n: int = 1000, d: int = 10, seed: int = 0, half_width: float = 10_000.0) -> Microdata:
    """Points drawn uniformly from the cube [−half_width, half_width]^d, standardised.

    001 does not state the cube; SimC's is taken. Standardisation makes the choice immaterial.

    >>> simu(seed=3).X.shape
    (1000, 10)
    """
    _check(half_width=half_width)
    _count(n=n, d=d)
    rng = np.random.default_rng(checked_seed(seed))
    return _microdata(rng.uniform(-half_width, half_width, (n, d)), f"simu seed={seed}")


def simc(
    seed: int = 0,
    clusters: int = 100,
    d: int = 10,
    fewest: int = 3,
    most: int = 20,
    radius: float = 50.0,
    half_width: float = 10_000.0,
    noise: float = 1 / 3,
) -> Microdata:
    """Clusters of near points among unrelated ones (001, Alg. 7), standardised.

    Centres are drawn from [−half_width, half_width]^d. Each gets ``fewest`` to ``most`` companions
    within ±radius in every coordinate, so clusters have 4 to 21 points by default. With n points so
    far, ⌊n·noise⌋ + 1 unrelated points follow: Alg. 7 counts them from 0 to ⌊n/3⌋, both included.
    All draws are uniform over the reals. Rows stand in the order of Alg. 7: centres, companions,
    unrelated points.

    >>> data = simc(seed=0)
    >>> 400 * 4 // 3 < data.n <= 2100 * 4 // 3 + 1
    True
    """
    _check(half_width=half_width, radius=radius)
    _count(clusters=clusters, d=d)
    if not 0 <= whole_number(fewest, "fewest") <= whole_number(most, "most"):
        raise KanopyError(f"fewest = {fewest} and most = {most}; choose 0 ≤ fewest ≤ most")
    if not 0 <= number(noise, "noise") < np.inf:
        raise KanopyError(f"noise = {noise}; choose a share ≥ 0")
    rng = np.random.default_rng(checked_seed(seed))
    centres = rng.uniform(-half_width, half_width, (clusters, d))
    companions = [
        centre + rng.uniform(-radius, radius, (int(rng.integers(fewest, most + 1)), d))
        for centre in centres
    ]
    clustered = np.concatenate([centres, *companions])
    # the last digit of 1/3 must not cost a point
    unrelated = int(np.floor(round(len(clustered) * noise, 9))) + 1
    outside = rng.uniform(-half_width, half_width, (unrelated, d))
    return _microdata(np.concatenate([clustered, outside]), f"simc seed={seed}")


def _microdata(points: NDArray[np.float64], name: str) -> Microdata:
    columns = [f"x{j}" for j in range(1, points.shape[1] + 1)]
    return Microdata.from_frame(pd.DataFrame(points, columns=columns), name=name)


def _check(**positive: float) -> None:
    for name, value in positive.items():
        if not 0 < number(value, name) < np.inf:
            raise KanopyError(f"{name} = {value}; choose a positive number")


def _count(**positive: int) -> None:
    for name, value in positive.items():
        whole_number(value, name, least=1)
