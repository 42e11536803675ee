"""Certificates in files: written by ``solve``, read back with their table."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kanopy.checking.certificate import Certificate, CertificateError, to_bytes
from kanopy.checking.counts import CheckedCounts, CountsCertificate, check_counts
from kanopy.checking.counts import to_bytes as counts_to_bytes
from kanopy.instances.errors import KanopyError
from kanopy.instances.files import write_whole
from kanopy.instances.microdata import Microdata
from kanopy.solution import Solution
from kanopy.solvers.costs import refuse_added
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import Method


def check_certifiable(problem: Problem, method: Method) -> None:
    """Raise unless certificates speak of this kind of problem."""
    if method.shape in ("frequency", "representatives"):
        return
    if method.shape != "partition":
        raise KanopyError(
            f"method {method.name!r} decides on {method.shape}, not on a partition: "
            "there is no certificate for that; leave it out"
        )
    refuse_added(problem.cost, "certificates")
    if problem.links or problem.data.strata is not None:
        raise KanopyError(
            "certificates know neither strata nor linked pairs of rows; leave the certificate out, "
            "or solve each stratum as a table of its own"
        )


def write_certificate(path: str | Path, solution: Solution, proof: Certificate | None) -> None:
    """Write a solution's partition, with the proof of a bound if there is one; or its counts."""
    data = solution.data
    if solution.problem.control is not None:
        _write(path, counts_to_bytes(_counts(solution)))
        return
    assert solution.labels is not None
    if proof is None:
        proof = Certificate(data.fingerprint, solution.k, solution.cost, [])
    labels = solution.labels.tolist()
    content = to_bytes(replace(proof, labels=labels, columns=columns_of(data)))
    _write(path, content)


def _write(path: str | Path, content: bytes) -> None:
    path = Path(path)
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def _counts(solution: Solution) -> CountsCertificate:
    problem = solution.problem
    assert problem.control is not None
    chosen = solution.representatives is not None
    return CountsCertificate(
        instance=solution.data.fingerprint,
        k=solution.k,
        cost=solution.cost,
        counts=solution.released_counts.tolist(),
        control=[list(names) for names in problem.control.names],
        objective=solution.objective,
        tolerance=[] if problem.tolerance is None else problem.tolerance.tolist(),
        deviation_weight=problem.deviation_weight,
        total=problem.total,
        bound=solution.bound,
        solver=solution.solver or solution.method,
        labels=[] if solution.labels is None or not chosen else solution.labels.tolist(),
        representatives=[]
        if solution.representatives is None
        else solution.representatives.tolist(),
        columns=columns_of(solution.data),
    )


def confirm(
    certificate: CountsCertificate, data: Microdata, backend: str, seconds: float = math.inf
) -> CheckedCounts:
    """Check counts, and have another solver prove the bound that is claimed, from the model."""
    from kanopy.models.extract import extract
    from kanopy.models.factory import build
    from kanopy.solvers.backends.choice import find_backend
    from kanopy.solvers.backends.protocol import Limits

    checked = check_counts(certificate, data)
    if checked.claimed is None or certificate.representatives or certificate.total is None:
        raise KanopyError(
            "only a bound of counts with a given total can be confirmed; leave --backend out"
        )
    given: dict[str, Any] = {"control": certificate.control, "total": certificate.total}
    name = "chi-ex"
    if certificate.cost == "max-error":
        name = "msafe" if certificate.deviation_weight > 0 else "safe-basic"
        given["tolerance"] = np.array(certificate.tolerance) if certificate.tolerance else 0.0
    if name != "safe-basic":
        given["deviation_weight"] = certificate.deviation_weight
    extracted = extract(build(name, data, certificate.k, **given))
    solver = find_backend(backend)
    result = solver.solve(extracted.form, Limits(seconds=seconds))
    if result.status in ("failed", "infeasible", "unbounded"):
        raise CertificateError(f"{solver.version()} does not confirm it: {result.message}")
    found = extracted.objective(result.bound)
    if found < checked.claimed - 1e-6 * max(1.0, abs(checked.claimed)):
        raise CertificateError(
            f"{solver.version()} proves a bound of {found:.10g} only, not {checked.claimed:.10g}"
        )
    return replace(checked, confirmed=solver.version())


def columns_of(data: Microdata) -> dict[str, Any]:
    """How to read the table: arguments of ``Microdata.from_frame``."""
    return {
        "numeric": list(data.numeric),
        "nominal": list(data.nominal),
        "weights": dict(zip((*data.numeric, *data.nominal), data.weights.tolist(), strict=True)),
        "domains": {
            name: list(domain) if isinstance(domain, tuple) else domain
            for name, domain in data.domains.items()
        },
        "standardize": data.standardize,
    }


def read_as(
    certificate: Certificate | CountsCertificate, table: Microdata | pd.DataFrame
) -> Microdata:
    """The table as the certificate reads it."""
    if isinstance(table, Microdata) and table.fingerprint == certificate.instance:
        return table
    given = certificate.columns
    try:
        return Microdata.from_frame(
            table.frame if isinstance(table, Microdata) else table,
            numeric=given["numeric"],
            nominal=given["nominal"],
            weights=given["weights"],
            domains={
                name: tuple(domain) if isinstance(domain, list) else domain
                for name, domain in given["domains"].items()
            },
            standardize=bool(given["standardize"]),
            missing="category",
        )
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise CertificateError("the certificate does not say how to read the table") from error
