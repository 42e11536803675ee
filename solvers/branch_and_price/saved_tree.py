"""A search tree in a file: what a later run needs to carry on.

The file (NumPy's ``npz``, plain arrays only) holds the best partition, the columns, the cuts and
the open nodes with their decisions and bounds. It is written whole or not at all. Its bounds are
taken at their word, so the file belongs to one problem, which it names by a hash of the table, k,
the cost and the linked pairs.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.files import write_whole
from kanopy.solvers.branch_and_price.pricing import Cuts, Restrictions
from kanopy.solvers.problem import Problem

FORMAT = 1


@dataclass(frozen=True, eq=False)
class SavedTree:
    """A search that was stopped.

    Attributes
    ----------
    labels
        The best partition.
    told_apart
        Whether clusters, cuts and decisions speak of rows instead of merged types.
    clusters, cuts
        Of the master.
    nodes
        Open nodes: a bound, and the decisions.
    leaves
        Least bound of the nodes closed short of the target.
    branched
        Whether branching had begun; before that, the one node is the root.
    """

    labels: NDArray[np.int64]
    told_apart: bool
    clusters: NDArray[np.int32]
    cuts: Cuts
    nodes: list[tuple[float, Restrictions]] = field(default_factory=list)
    leaves: float = math.inf
    branched: bool = False

    @property
    def bound(self) -> float:
        """Lower bound of the problem that the open nodes prove."""
        return min([self.leaves, *(bound for bound, _ in self.nodes)])


def key_of(problem: Problem) -> str:
    """What the file is good for."""
    links = (sorted(problem.links.must), sorted(problem.links.cannot))
    parts = (FORMAT, problem.data.fingerprint, problem.k, problem.cost, links)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def save_tree(path: str, key: str, tree: SavedTree) -> None:
    """Write a tree, over an older one if there is one."""
    decisions = [
        (i, kind, a, b)
        for i, (_, node) in enumerate(tree.nodes)
        for kind, pairs in ((0, node.apart), (1, node.together))
        for a, b in pairs
    ]
    counted = [node.clusters or (-1, -1) for _, node in tree.nodes]
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        key=np.array(key),
        labels=tree.labels,
        flags=np.array([tree.told_apart, tree.branched]),
        clusters=tree.clusters,
        cut_starts=tree.cuts.starts,
        cut_members=tree.cuts.members,
        cut_divisors=tree.cuts.divisors,
        bounds=np.array([bound for bound, _ in tree.nodes], dtype=np.float64),
        leaves=np.array(tree.leaves),
        decisions=np.array(decisions, dtype=np.int64).reshape(-1, 4),
        counted=np.array(counted, dtype=np.int64).reshape(-1, 2),
    )
    write_whole(Path(path), buffer.getvalue())


def load_tree(path: str, key: str) -> SavedTree | None:
    """The tree in a file; None if there is no such file, an error if it is not for this problem."""
    if not Path(path).exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            data = {name: file[name] for name in file.files}
        if str(data["key"]) != key:
            raise KanopyError(
                f"the search tree in {path!r} belongs to another table, k, cost or set of linked "
                "pairs; choose another file for this problem"
            )
        return _tree(data)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise KanopyError(
            f"{path!r} is not a search tree of branch-and-price ({type(error).__name__}); "
            "choose another file, or delete it to begin anew"
        ) from error


def _tree(data: dict[str, NDArray[np.float64]]) -> SavedTree:
    apart: list[list[tuple[int, int]]] = [[] for _ in data["bounds"]]
    together: list[list[tuple[int, int]]] = [[] for _ in data["bounds"]]
    for i, kind, a, b in data["decisions"].astype(np.int64).tolist():
        (together if kind else apart)[i].append((a, b))
    counted = [None if lo < 0 else (lo, hi) for lo, hi in data["counted"].astype(int).tolist()]
    return SavedTree(
        data["labels"].astype(np.int64),
        bool(data["flags"][0]),
        data["clusters"].astype(np.int32),
        Cuts(
            data["cut_starts"].astype(np.int64),
            data["cut_members"].astype(np.int64),
            data["cut_divisors"].astype(np.int64),
        ),
        [
            (float(bound), Restrictions(tuple(apart[i]), tuple(together[i]), counted[i]))
            for i, bound in enumerate(data["bounds"].tolist())
        ],
        float(data["leaves"]),
        bool(data["flags"][1]),
    )
