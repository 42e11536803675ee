"""The best known solutions: one small file each, with a bound, replaced only by a verified better.

A file holds what is needed to check it and nothing of the data: the fingerprint of the instance, k,
cost, objective, proven bound, method, and the labels as 16-bit numbers, compressed and in base 64.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import kanopy.instances
from kanopy.instances.errors import KanopyError
from kanopy.instances.files import write_whole
from kanopy.instances.microdata import Microdata
from kanopy.solution import OPTIMALITY_GAP, Solution
from kanopy.solvers.costs import CLUSTER_COSTS, check_cost, default_cost, refuse_added
from kanopy.solvers.problem import Problem
from kanopy.solvers.stop import relative_gap
from kanopy.verification import verify

FOLDER = Path(kanopy.instances.__path__[0]) / "best_known"
FORMAT = 1
_NUMBER: tuple[type, ...] = (int, float)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("name", "fingerprint", "cost", "method", "labels"), (str,)),
    **dict.fromkeys(("k", "seed", "rows"), (int,)),
    **dict.fromkeys(("objective", "runtime"), _NUMBER),
    "bound": (*_NUMBER, type(None)),
    "solver": (str, type(None)),
}
BETTER = 1e-9
"""Relative difference from which an objective or a bound counts as better."""


def best_known(
    data: Microdata, k: int, cost: str | None = None, folder: Path | None = None
) -> Solution | None:
    """The best known partition of these data with its proven bound, verified; None if none is kept.

    >>> import kanopy as kn
    >>> best_known(kn.example("testdata"), k=3) is None
    True
    """
    cost = cost or default_cost(data)
    path = _find(data.fingerprint, k, cost, folder)
    return None if path is None else _read(path, data)


def keep_best(solution: Solution, name: str, folder: Path | None = None) -> bool:
    """Keep a solution if it is verified and better than the one kept; True if the file changed.

    A better bound counts, too: the file then has the better of both objectives and both bounds.
    ``name`` tells a reader which instance it is, e.g. ``census``.
    """
    folder = folder or FOLDER
    if solution.labels is None or solution.cost not in CLUSTER_COSTS or solution.problem.links:
        raise KanopyError("only partitions without pairs to keep are known by instance, k and cost")
    refuse_added(solution.cost, "kept solutions")
    verify(solution.data, solution)
    with _alone(folder):  # of two writers, the later one must see what the first has kept
        return _keep(solution, name, folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process writes to the folder; the lock goes with its owner."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise KanopyError(f"cannot open the folder {str(folder)!r}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _keep(solution: Solution, name: str, folder: Path) -> bool:
    path = _find(solution.data.fingerprint, solution.k, solution.cost, folder)
    before = None if path is None else _read(path, solution.data)
    if path is None:
        words = re.sub(r"[^a-z0-9.-]+", "_", name.lower()).strip("_")
        path = folder / f"{words}_k{solution.k}_{solution.cost}.json"
        if path.exists():
            raise KanopyError(f"{path.name} is of another instance; give it another name")
    if before is not None:
        best = min(before, solution, key=lambda s: s.objective * (1 + BETTER * (s is solution)))
        bounds = [s.bound for s in (before, solution) if s.bound is not None]
        bound = min(max(bounds), best.objective) if bounds else None
        tighter = bound is not None and (
            before.bound is None or bound > before.bound + BETTER * abs(before.bound)
        )
        if best is before and not tighter:
            return False
        solution = replace(best, bound=bound, status=_status(best.objective, bound))
        verify(solution.data, solution)
    write_whole(path, json.dumps(_content(solution, name), indent=1).encode() + b"\n")
    return True


def known_bounds(
    questions: Iterable[tuple[str, int, str]], folder: Path | None = None
) -> dict[tuple[str, int, str], float]:
    """Kept bounds by name, k and cost."""
    wanted = set(questions)
    found = {}
    for path in sorted((folder or FOLDER).glob("*.json")):
        kept = _parse(path)
        key = (kept["name"], kept["k"], kept["cost"])
        if key in wanted and kept["bound"] is not None:
            found[key] = float(kept["bound"])
    return found


def list_best(folder: Path | None = None) -> list[dict[str, Any]]:
    """What is kept, without the labels."""
    kept = (_parse(path) for path in sorted((folder or FOLDER).glob("*.json")))
    return [{key: value for key, value in one.items() if key != "labels"} for one in kept]


def _find(fingerprint: str, k: int, cost: str, folder: Path | None) -> Path | None:
    for path in sorted((folder or FOLDER).glob(f"*_k{k}_{cost}.json")):
        if _parse(path)["fingerprint"] == fingerprint:
            return path
    return None


def _parse(path: Path) -> dict[str, Any]:
    try:
        kept = dict(json.loads(path.read_text()))
        if kept["format"] != FORMAT:
            raise KanopyError(f"{path.name} is not of format {FORMAT}, the known one")
        if any(type(kept[name]) not in kinds for name, kinds in _TYPES.items()):
            raise TypeError
        return kept
    except KanopyError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise KanopyError(f"{path.name} is no best known solution; get it again") from error


def _read(path: Path, data: Microdata) -> Solution:
    kept = _parse(path)
    try:
        # no more than the rows need, whatever the file would unpack to
        unpacking = zlib.decompressobj()
        numbers = unpacking.decompress(base64.b64decode(kept["labels"]), 2 * data.n + 2)
        if not unpacking.eof:
            raise ValueError
        labels = np.frombuffer(numbers, dtype="<u2").astype(np.int64)
    except (ValueError, zlib.error) as error:
        raise KanopyError(f"the labels in {path.name} are damaged; get it again") from error
    check_cost(data, kept["cost"])
    solution = Solution(
        problem=Problem(data, kept["k"], kept["cost"]),
        objective=kept["objective"],
        bound=kept["bound"],
        status=_status(kept["objective"], kept["bound"]),
        method=kept["method"],
        runtime=kept["runtime"],
        seed=kept["seed"],
        labels=labels,
        solver=kept["solver"],
    )
    verify(data, solution)
    return solution


def _status(objective: float, bound: float | None) -> str:
    proven = bound is not None and relative_gap(objective, bound) <= OPTIMALITY_GAP
    return "optimal" if proven else "feasible"


def _content(solution: Solution, name: str) -> dict[str, Any]:
    assert solution.labels is not None
    if int(solution.labels.max()) >= 2**16:
        raise KanopyError("labels above 65535 are not kept")
    packed = zlib.compress(solution.labels.astype("<u2").tobytes(), 9)
    return {
        "format": FORMAT,
        "name": name,
        "fingerprint": solution.data.fingerprint,
        "rows": solution.data.n,
        "k": solution.k,
        "cost": solution.cost,
        "objective": solution.objective,
        "bound": solution.bound,
        "method": solution.method,
        "solver": solution.solver,
        "seed": solution.seed,
        "runtime": round(solution.runtime, 2),
        "labels": base64.b64encode(packed).decode(),
    }
