"""Certificates in files: written by ``solve``, read back with their table."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

from kanopy.checking.certificate import Certificate, CertificateError, to_bytes
from kanopy.instances.errors import KanopyError
from kanopy.instances.files import write_whole
from kanopy.instances.microdata import Microdata
from kanopy.solution import Solution
from kanopy.solvers.costs import refuse_added
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import Method


def check_certifiable(problem: Problem, method: Method) -> None:
    """Raise unless certificates speak of this kind of problem."""
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
    """Write a solution's partition, with the proof of a bound if there is one."""
    assert solution.labels is not None
    data = solution.data
    if proof is None:
        proof = Certificate(data.fingerprint, solution.k, solution.cost, [])
    labels = solution.labels.tolist()
    content = to_bytes(replace(proof, labels=labels, columns=columns_of(data)))
    path = Path(path)
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


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


def read_as(certificate: Certificate, data: Microdata) -> Microdata:
    """The table as the certificate reads it."""
    if data.fingerprint == certificate.instance:
        return data
    given = certificate.columns
    try:
        return Microdata.from_frame(
            data.frame,
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
