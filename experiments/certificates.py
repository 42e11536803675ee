"""Certificates in bulk: random tables of up to 60 rows are solved, certified and checked.

``python -m kanopy.experiments.certificates [NUMBER [FIRST]]`` runs 300 by default, over the three
costs, with and without copies of rows, weights, cuts and enumeration, and prints what the proofs
consist of. The exit code is the number that did not check. FIRST is the seed of the first table.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from kanopy.checking import CertificateError, check, read_certificate
from kanopy.checking.certificate import Branch
from kanopy.instances.microdata import Microdata
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

COSTS = ("sse", "hamming", "range")
SECONDS = 10.0


def random_table(rng: np.random.Generator, n: int, cost: str) -> Microdata:
    """Normal numbers and skewed categories, some of them copied rows, some weighted."""
    numbers = pd.DataFrame(rng.normal(size=(n, 4)).round(2), columns=list("abcd"))
    words = pd.DataFrame(
        rng.choice(list("pqrst"), size=(n, 4), p=[0.4, 0.3, 0.15, 0.1, 0.05]), columns=list("efgh")
    )
    both = pd.concat([numbers[["a", "b"]], words[["e", "f", "g"]]], axis=1)
    frame = {"sse": numbers, "hamming": words, "range": both}[cost]
    if rng.random() < 0.3:
        frame = frame.iloc[rng.integers(0, n, size=n)].reset_index(drop=True)
    weights = {str(frame.columns[0]): 2.5} if rng.random() < 0.3 else {}
    return Microdata.from_frame(frame, weights=weights)


def main(arguments: list[str]) -> int:
    """Certify and check; the number of failures."""
    number, first = (*map(int, arguments), *(300, 0)[len(arguments) :])[:2]
    failures, kinds = 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json.gz"
        for seed in range(first, first + number):
            rng = np.random.default_rng(seed)
            cost, k = COSTS[seed % 3], int(rng.integers(2, 6))
            data = random_table(rng, int(rng.integers(2 * k, 61)), cost)
            options = {"enumeration": bool(rng.random() < 0.6), "cuts": bool(rng.random() < 0.8)}
            solution = solve(
                data,
                k,
                "branch-and-price",
                cost=cost,
                options=options,
                stop=MaxRuntime(SECONDS),
                certificate=path,
            )
            certificate = read_certificate(path)
            try:
                checked = check(certificate, data)
            except CertificateError as error:
                failures += 1
                print(f"seed {seed}, {cost}, {data.n} rows, k = {k}: {error}", flush=True)
                continue
            kinds.update({type(step).__name__ for step in certificate.steps})
            kinds["cuts and branches"] += bool(certificate.cuts) and any(
                isinstance(step, Branch) for step in certificate.steps
            )
            kinds["cuts"] += bool(certificate.cuts)
            kinds["optimal"] += checked.optimal
            kinds["said to be optimal"] += solution.status == "optimal"
    print(f"{number - failures} of {number} certificates check; how many have", dict(kinds))
    return failures


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 99))
