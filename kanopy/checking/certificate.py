"""What a certificate holds, and its file: JSON, plain or gzip, whole numbers and names only.

A certificate states a partition and proves a lower bound of the cost of all. The proof is a list of
steps, a tree whose root is step 0. Each step speaks of the partitions into clusters of k … 2k−1
rows that keep the decisions on the way to it; some optimal partition is of this kind, since all
costs are monotone and super-additive. All duals are whole multiples of 2^−bits.

``leaf``
    Duals of the rows (or of types of identical rows), of the number of clusters and of subset-row
    cuts, for which no cluster has a negative reduced cost. They bound the cost from below.
``list``
    Such duals too, and a value ``below``: a cheaper partition holds only clusters whose reduced
    cost is less than ``below`` less the bound. From here on only those count: step ``then``.
``branch``
    Two steps that share all partitions of this one: so many clusters contain the given rows at
    most (``less``), or more than that (``more``); without rows, so many clusters there are.

No value of the original table is in a certificate: it names the table by a hash.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kanopy.instances.errors import KanopyError

FORMAT = "kanopy certificate 1"
MOST_BYTES = 1 << 30
MOST_TIMES = 200
"""Size of a file, unpacked, beyond which it is not read; as a multiple of the packed size, too."""


class CertificateError(KanopyError):
    """A certificate that proves less than it says, or nothing; the message says where."""


@dataclass(frozen=True)
class Duals:
    """Dual values in units of 2^−bits.

    ``cuts`` are pairs of a cut's number and a dual ≤ 0; ``branches`` belong to the decisions since
    a ``list`` step, first decision first.
    """

    types: Sequence[int]
    count: int = 0
    cuts: Sequence[tuple[int, int]] = ()
    branches: Sequence[int] = ()


@dataclass(frozen=True)
class Leaf:
    """Duals that bound the cost."""

    duals: Duals


@dataclass(frozen=True)
class Listing:
    """Duals that leave few clusters, and the step that goes on with those."""

    duals: Duals
    below: int
    then: int


@dataclass(frozen=True)
class Branch:
    """At most ``most`` clusters contain all of ``rows``, or more."""

    rows: tuple[int, ...]
    most: int
    less: int
    more: int


Step = Leaf | Listing | Branch


@dataclass(frozen=True)
class Certificate:
    """A partition, and the proof of a bound (no steps: none is claimed).

    Attributes
    ----------
    instance
        ``Microdata.fingerprint`` of the table.
    labels
        Cluster of each row.
    merged
        Whether the proof speaks of types of identical rows instead of rows.
    bits
        Units of all duals are 2^−bits.
    cuts
        Subset-row cuts: types (or rows) and a divisor.
    columns
        How the table is read from a file: the arguments of ``Microdata.from_frame``.
    """

    instance: str
    k: int
    cost: str
    labels: Sequence[int]
    merged: bool = False
    bits: int = 0
    cuts: Sequence[tuple[tuple[int, ...], int]] = ()
    steps: Sequence[Step] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)


def to_bytes(certificate: Certificate) -> bytes:
    """The certificate as JSON."""
    content = {
        "format": FORMAT,
        "instance": certificate.instance,
        "columns": dict(certificate.columns),
        "k": certificate.k,
        "cost": certificate.cost,
        "labels": list(certificate.labels),
        "merged": certificate.merged,
        "bits": certificate.bits,
        "cuts": [[list(members), divisor] for members, divisor in certificate.cuts],
        "steps": [_step_to_json(step) for step in certificate.steps],
    }
    return json.dumps(content, separators=(",", ":")).encode()


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate; anything unexpected in the file is an error."""
    return from_bytes(read_content(path))


def read_content(path: str | Path) -> bytes:
    """The unpacked content of a certificate's file, which may not be of any size."""
    try:
        with Path(path).open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        most = min(MOST_BYTES, max(1 << 26, MOST_TIMES * Path(path).stat().st_size))
        with gzip.open(path, "rb") if packed else Path(path).open("rb") as file:
            content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CertificateError(f"cannot read {str(path)!r}: {error}") from error
    if len(content) > most:
        raise CertificateError(f"{str(path)!r} unpacks to more than {most} bytes")
    return content


def from_bytes(content: bytes) -> Certificate:
    """The certificate in a file's content."""
    found = parsed(content)
    if found.get("format") != FORMAT:
        raise CertificateError(f"this is no certificate of the format {FORMAT!r}")
    columns = found.get("columns")
    if not isinstance(columns, dict):
        raise CertificateError("'columns' must be an object")
    return Certificate(
        instance=_text(found.get("instance"), "instance"),
        k=_whole(found.get("k"), "k"),
        cost=_text(found.get("cost"), "cost"),
        labels=_wholes(found.get("labels"), "labels"),
        merged=_truth(found.get("merged"), "merged"),
        bits=_whole(found.get("bits"), "bits"),
        cuts=[_cut(cut) for cut in _list(found.get("cuts"), "cuts")],
        steps=[_step(step) for step in _list(found.get("steps"), "steps")],
        columns=columns,
    )


def parsed(content: bytes) -> dict[str, Any]:
    """The JSON object in a file's content."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CertificateError("a certificate is JSON; this file is not") from error
    if not isinstance(found, dict):
        raise CertificateError(f"this is no certificate of the format {FORMAT!r}")
    return found


def _step_to_json(step: Step) -> dict[str, Any]:
    if isinstance(step, Branch):
        rows = list(step.rows)
        return {"branch": rows, "most": step.most, "less": step.less, "more": step.more}
    duals = {
        "types": list(step.duals.types),
        "count": step.duals.count,
        "cuts": [list(pair) for pair in step.duals.cuts],
        "branches": list(step.duals.branches),
    }
    if isinstance(step, Leaf):
        return {"leaf": duals}
    return {"list": duals, "below": step.below, "then": step.then}


def _step(given: Any) -> Step:
    if not isinstance(given, dict):
        raise CertificateError("a step must be an object")
    keys = set(given)
    if keys == {"leaf"}:
        return Leaf(_duals(given["leaf"]))
    if keys == {"list", "below", "then"}:
        below, then = _whole(given["below"], "below"), _whole(given["then"], "then")
        return Listing(_duals(given["list"]), below, then)
    if keys == {"branch", "most", "less", "more"}:
        rows = tuple(_wholes(given["branch"], "branch"))
        most, less, more = (_whole(given[key], key) for key in ("most", "less", "more"))
        return Branch(rows, most, less, more)
    raise CertificateError(f"a step has the keys {', '.join(sorted(map(str, keys)))}")


def _duals(given: Any) -> Duals:
    if not isinstance(given, dict) or set(given) != {"types", "count", "cuts", "branches"}:
        raise CertificateError("duals must have 'types', 'count', 'cuts' and 'branches'")
    pairs = [_wholes(pair, "cuts") for pair in _list(given["cuts"], "cuts")]
    if any(len(pair) != 2 for pair in pairs):
        raise CertificateError("the dual of a cut is a pair: its number, its value")
    return Duals(
        types=_wholes(given["types"], "types"),
        count=_whole(given["count"], "count"),
        cuts=[(number, value) for number, value in pairs],
        branches=_wholes(given["branches"], "branches"),
    )


def _cut(given: Any) -> tuple[tuple[int, ...], int]:
    if not isinstance(given, list) or len(given) != 2:
        raise CertificateError("a cut is a pair: its members, its divisor")
    return tuple(_wholes(given[0], "cuts")), _whole(given[1], "cuts")


def _list(given: Any, name: str) -> list[Any]:
    if not isinstance(given, list):
        raise CertificateError(f"{name!r} must be a list")
    return given


def _wholes(given: Any, name: str) -> list[int]:
    numbers = _list(given, name)
    if any(type(number) is not int for number in numbers):
        raise CertificateError(f"{name!r} must hold whole numbers only")
    return numbers


def _whole(given: Any, name: str) -> int:
    if type(given) is not int:
        raise CertificateError(f"{name!r} must be a whole number")
    return given


def _truth(given: Any, name: str) -> bool:
    if type(given) is not bool:
        raise CertificateError(f"{name!r} must be true or false")
    return given


def _text(given: Any, name: str) -> str:
    if type(given) is not str:
        raise CertificateError(f"{name!r} must be a text")
    return given
