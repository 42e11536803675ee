r"""The auxiliary problem: the next cluster of an integer solution, guided by duals (000, 4.4.2).

Symbols: ℐ' the rows that are in no cluster yet, u_i duals of a fractional solution, γ ∈ [0, 1]
between original (0) and reduced costs (1), λ > 0 the reward for covering a row::

    min   Σ_e w_e z_e − Σ_{i∈ℐ'} (γ u_i + λ) v_i          (4.4.7)
    s.t.  z_il ≥ v_i + v_l − 1       for all i, l ∈ ℐ'    (4.4.8)
          k ≤ Σ_{i∈ℐ'} v_i ≤ 2k − 1                       (4.4.9)
          z_e ≥ 0                    for all e            (4.4.10)
          v_i ∈ {0, 1}               for all i ∈ ℐ'       (4.4.11)

Pairs outside ℐ' could only have z_e = 0 and are left out, as is the constant λ|ℐ'| of (4.4.6).
The defaults γ = 0.75 and λ = 1.5 are the thesis' choice for optimal fractional solutions in two of
its scenarios (table 6.5).

Components as of ``pricing-node-edge``; objective ``guided_cost``.

>>> from kanopy.instances.examples import example
>>> model = auxiliary(example("compensation"), 2, duals=[1.0, 1.0, 1.0, 1.0], unassigned=[0, 1, 3])
>>> load_cluster(model, [0, 1])
>>> pyo.value(model.guided_cost)
-3.5
"""

from __future__ import annotations

import math

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.models.factory import register
from kanopy.models.pairs import checked_cluster, checked_duals, hamming_distances
from kanopy.models.pricing_node_edge import clique_model, load_cluster, read_cluster

__all__ = ["auxiliary", "load_cluster", "read_cluster"]


@register("auxiliary", kinds=("nominal",))
def auxiliary(
    data: Microdata,
    k: int,
    *,
    duals: ArrayLike,
    gamma: float = 0.75,
    lam: float = 1.5,
    unassigned: ArrayLike | None = None,
) -> pyo.ConcreteModel:
    """Build the auxiliary problem.

    Parameters
    ----------
    duals
        u_i of all rows.
    gamma, lam
        γ and λ.
    unassigned
        The rows ℐ'; by default all.
    """
    if not 0 <= gamma <= 1:
        raise KanopyError(f"gamma = {gamma}; choose 0 ≤ γ ≤ 1")
    if not 0 < lam < math.inf:
        raise KanopyError(f"lam = {lam}; choose λ > 0")
    everyone = range(data.n)
    rows = checked_cluster(np.arange(data.n) if unassigned is None else unassigned, everyone)
    if len(rows) < k:
        raise KanopyError(f"{len(rows)} rows are unassigned, k = {k}; a cluster needs k of them")
    rewards = gamma * checked_duals(duals, data.n) + lam
    model = clique_model(hamming_distances(data), rows, k)
    model.guided_cost = pyo.Objective(
        expr=model.weight - pyo.quicksum(float(rewards[i]) * model.member[i] for i in model.rows)
    )
    return model
