"""Certificates of frequency vectors: the solution side, in whole numbers and fractions.

Such a certificate states new counts of the occurring combinations (for representatives also the
classes and the row that stands for each), and what they cost. The bound it claims is a solver's
word: another solver can confirm it, see :func:`kanopy.certifying.confirm`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any

from kanopy.checking.certificate import CertificateError
from kanopy.instances.microdata import Microdata

FORMAT = "kanopy certificate of counts 1"


@dataclass(frozen=True)
class CountsCertificate:
    """New counts over ``data.combinations``, their cost, and a bound that is claimed.

    Attributes
    ----------
    control, tolerance
        The control tables by their columns; g_t of each cell, in the order of ``ControlTables``,
        or empty for 0.
    total
        What the counts must add up to; None if nothing was promised.
    labels, representatives
        Class of each row and row that stands for each class, or empty.
    """

    instance: str
    k: int
    cost: str
    counts: Sequence[int]
    control: Sequence[Sequence[str]]
    objective: float
    tolerance: Sequence[float] = ()
    deviation_weight: float = 0.0
    total: int | None = None
    bound: float | None = None
    solver: str = ""
    labels: Sequence[int] = ()
    representatives: Sequence[int] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)


def to_bytes(certificate: CountsCertificate) -> bytes:
    """The certificate as JSON."""
    return json.dumps({"format": FORMAT, **asdict(certificate)}).encode()


def from_json(found: dict[str, Any]) -> CountsCertificate:
    """The certificate in parsed JSON; anything unexpected is an error."""
    wanted = {f.name for f in fields(CountsCertificate)}
    if set(found) != {"format", *wanted}:
        raise CertificateError("a certificate of counts has other fields than this one")
    number = (int, float)
    kinds: dict[str, tuple[type, ...]] = {
        **dict.fromkeys(("instance", "cost", "solver"), (str,)),
        **dict.fromkeys(("objective", "deviation_weight"), number),
        "k": (int,),
        "total": (int, type(None)),
        "bound": (*number, type(None)),
        "columns": (dict,),
    }
    lists = {"counts": (int,), "tolerance": number, "labels": (int,), "representatives": (int,)}
    for name, types in kinds.items():
        if type(found[name]) not in types:
            raise CertificateError(f"{name!r} has the wrong type")
    for name, types in lists.items():
        if type(found[name]) is not list or any(type(x) not in types for x in found[name]):
            raise CertificateError(f"{name!r} must be a list of numbers")
    tables = found["control"]
    if type(tables) is not list or not all(
        type(table) is list and table and all(type(name) is str for name in table)
        for table in tables
    ):
        raise CertificateError("'control' must be a list of lists of columns")
    return CountsCertificate(**{name: found[name] for name in wanted})


@dataclass(frozen=True)
class CheckedCounts:
    """What is sure: the exact cost of the counts; and the bound that only a solver vouches for."""

    objective: Fraction
    claimed: float | None
    confirmed: str = ""

    def __str__(self) -> str:
        text = f"objective {float(self.objective):.10g} is right"
        if self.claimed is None:
            return f"{text}; no bound is claimed"
        if self.confirmed:
            return f"{text}; bound {self.claimed:.10g} confirmed by {self.confirmed}"
        return f"{text}; bound {self.claimed:.10g} is claimed: confirm it with --backend"


def check_counts(certificate: CountsCertificate, data: Microdata) -> CheckedCounts:
    """Check the counts and their cost against the table; raises if anything is wrong."""
    if certificate.instance != data.fingerprint:
        raise CertificateError("the certificate belongs to another table, or reads it differently")
    if data.numeric or data.strata is not None:
        raise CertificateError("counts are certified for nominal tables without strata")
    counts, k, before = certificate.counts, certificate.k, data.counts.tolist()
    if not 2 <= k <= data.n:
        raise CertificateError(f"k = {k} for {data.n} rows")
    if len(counts) != len(before):
        raise CertificateError(f"{len(counts)} counts for {len(before)} combinations")
    if any(c < 0 or 0 < c < k for c in counts):
        raise CertificateError(f"a count is neither 0 nor at least k = {k}")
    if certificate.total is not None and sum(counts) != certificate.total:
        raise CertificateError(f"the counts add up to {sum(counts)}, not {certificate.total}")
    if certificate.labels or certificate.representatives:
        _check_representatives(certificate, data)
    objective = _objective(certificate, data, before)
    if not _close(objective, certificate.objective):
        raise CertificateError(
            f"the counts cost {float(objective):.10g}, not {certificate.objective:.10g}"
        )
    claimed = certificate.bound
    if claimed is not None and not claimed <= certificate.objective * (1 + 1e-9) + 1e-9:
        raise CertificateError("the bound is above the cost of the counts")
    return CheckedCounts(objective, claimed)


def _objective(certificate: CountsCertificate, data: Microdata, before: list[int]) -> Fraction:
    codes = data.codes[data.first_rows].tolist()
    place = {name: j for j, name in enumerate(data.nominal)}
    errors: list[tuple[int, int]] = []
    for table in certificate.control:
        if any(name not in place for name in table) or len(set(table)) < len(table):
            raise CertificateError("a control table names a column that is none, or twice")
        old: Counter[tuple[int, ...]] = Counter()
        new: Counter[tuple[int, ...]] = Counter()
        for row, was, now in zip(codes, before, certificate.counts, strict=True):
            cell = tuple(row[place[name]] for name in table)
            old[cell] += was
            new[cell] += now
        errors += [(old[cell], abs(old[cell] - new[cell])) for cell in sorted(old)]
    if not errors:
        raise CertificateError("there is no control table")
    weight = _fraction(certificate.deviation_weight)
    moved = sum(abs(a - b) for a, b in zip(before, certificate.counts, strict=True))
    if certificate.cost == "chi2":
        return sum((Fraction(e * e, was) for was, e in errors), Fraction(0)) + weight * moved
    if certificate.cost != "max-error":
        raise CertificateError(f"cost {certificate.cost!r} is none of counts")
    allowed = [_fraction(g) for g in certificate.tolerance] or [Fraction(0)] * len(errors)
    if len(allowed) != len(errors):
        raise CertificateError(f"{len(allowed)} tolerances for {len(errors)} cells")
    return max(e - g for (_, e), g in zip(errors, allowed, strict=True)) + weight * moved


def _check_representatives(certificate: CountsCertificate, data: Microdata) -> None:
    labels, rows = certificate.labels, certificate.representatives
    if len(labels) != data.n or any(not 0 <= label < len(rows) for label in labels):
        raise CertificateError("labels must name the class of each row")
    sizes = Counter(labels)
    if len(sizes) != len(rows) or min(sizes.values()) < certificate.k:
        raise CertificateError(f"a class has fewer than k = {certificate.k} rows")
    if any(not 0 <= row < data.n or labels[row] != c for c, row in enumerate(rows)):
        raise CertificateError("a representative is not a member of its class")
    types = data.types.tolist()
    become = Counter(types[rows[label]] for label in labels)
    if [become[i] for i in range(len(certificate.counts))] != list(certificate.counts):
        raise CertificateError("the counts are not those of the representatives")


def _fraction(value: float) -> Fraction:
    try:
        return Fraction(value)
    except (ValueError, OverflowError) as error:
        raise CertificateError("a number of the certificate is not finite") from error


def _close(exact: Fraction, told: float) -> bool:
    return abs(exact - _fraction(told)) <= Fraction(1, 10**9) * max(abs(exact), Fraction(1))
