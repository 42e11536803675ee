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
from kanopy.instances.files import MOST_BYTES, MOST_TIMES, write_whole
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

    def fits(self, rows: int, types: int, k: int, largest: int) -> bool:
        """Whether all speaks of existing rows and types: compiled code trusts its indices."""
        labels, clusters, cuts = self.labels, self.clusters, self.cuts
        if labels.shape != (rows,) or labels.min() < 0 or labels.max() >= rows:
            return False
        if np.bincount(labels).min() < k or clusters.ndim != 2 or clusters.shape[1] != largest:
            return False
        pairs = [pair for _, node in self.nodes for pair in (*node.apart, *node.together)]
        named = np.concatenate([cuts.members, np.array(pairs, dtype=np.int64).ravel()])
        if min(clusters.min(initial=0) + 1, named.min(initial=0)) < 0:
            return False
        if max(clusters.max(initial=0), named.max(initial=0)) >= types:
            return False
        if (clusters >= 0).sum(axis=1).min(initial=k) < k or any(a == b for a, b in pairs):
            return False
        ends = [0, *cuts.starts[1:-1], len(cuts.members)]
        ascending = cuts.starts.ndim == 1 and bool((np.diff(cuts.starts) > 0).all())
        if not ascending or cuts.starts.tolist() != ends[: len(cuts.divisors) + 1]:
            return False
        return cuts.divisors.min(initial=2) >= 2 and not math.isnan(self.bound)


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
        data = _arrays(path)
        if str(data["key"]) != key:
            raise KanopyError(
                f"the search tree in {path!r} belongs to another table, k, cost or set of linked "
                "pairs; choose another file for this problem"
            )
        return _tree(data)
    except KanopyError:
        raise
    except Exception as error:  # damaged archives raise whatever their parts do
        raise KanopyError(
            f"{path!r} is not a search tree of branch-and-price ({type(error).__name__}); "
            "choose another file, or delete it to begin anew"
        ) from error


def _arrays(path: str) -> dict[str, NDArray[np.float64]]:
    """The arrays of an archive, none larger than the bytes that are there for it."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        most = max(MOST_BYTES, MOST_TIMES * Path(path).stat().st_size)
        if sum(member.file_size for member in archive.infolist()) > most:
            raise ValueError(f"unpacks to more than {most} bytes")
        for name in archive.namelist():
            content = io.BytesIO(archive.read(name))
            if np.lib.format.read_magic(content) != (1, 0):
                raise ValueError("not an array as we write it")
            shape, _, dtype = np.lib.format.read_array_header_1_0(content)
            if math.prod(shape) * dtype.itemsize != len(content.getvalue()) - content.tell():
                raise ValueError("array of another length than it tells")
            content.seek(0)
            arrays[name.removesuffix(".npy")] = np.lib.format.read_array(
                content, allow_pickle=False
            )
    return arrays


def _tree(data: dict[str, NDArray[np.float64]]) -> SavedTree:
    apart: list[list[tuple[int, int]]] = [[] for _ in data["bounds"]]
    together: list[list[tuple[int, int]]] = [[] for _ in data["bounds"]]
    for i, kind, a, b in data["decisions"].astype(np.int64).tolist():
        if kind not in (0, 1) or not 0 <= i < len(apart):
            raise ValueError("a decision of no node")
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
