"""Generalisation hierarchies: trees over an attribute's values (001, definition 3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kanopy.instances.columns import spellings
from kanopy.instances.errors import KanopyError, such_as


@dataclass(frozen=True)
class Hierarchy:
    """A tree given by the parent of each node; the root is its own only ancestor.

    Examples
    --------
    >>> tree = Hierarchy.from_paths([("dentist", "medic", "any"), ("surgeon", "medic", "any"),
    ...                              ("baker", "craft", "any")])
    >>> tree.closest_common_ancestor(["dentist", "surgeon"])
    'medic'
    >>> tree.size("medic"), tree.size("baker"), tree.size("any")
    (2, 0, 3)
    >>> tree.height("medic"), tree.height("any")
    (1, 2)
    """

    parents: Mapping[object, object]

    def __post_init__(self) -> None:
        if not self.parents:
            raise KanopyError("a hierarchy needs at least one value and its parent")
        roots = set(self.parents.values()) - set(self.parents)
        if len(roots) != 1:
            raise KanopyError(f"a hierarchy needs exactly one root, this one has {len(roots)}")
        for node in self.parents:
            steps = 0
            while node in self.parents:
                node, steps = self.parents[node], steps + 1
                if steps > len(self.parents):
                    raise KanopyError("a hierarchy must not run in a circle")

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[object]]) -> Hierarchy:
        """Tree from one path per value: the value first, then its ancestors up to the root."""
        parents: dict[object, object] = {}
        for path in paths:
            if len(path) < 2:
                raise KanopyError("a hierarchy path needs a value and at least the root")
            for node, parent in pairwise(path):
                if parents.setdefault(node, parent) != parent:
                    raise KanopyError("a hierarchy node has two different parents; rename one")
        return cls(parents)

    @cached_property
    def root(self) -> object:
        """The node that stands for every value."""
        (root,) = set(self.parents.values()) - set(self.parents)
        return root

    @cached_property
    def leaves(self) -> tuple[object, ...]:
        """The attribute's values."""
        inner = set(self.parents.values())
        return tuple(node for node in self.parents if node not in inner)

    @cached_property
    def _leaf_counts(self) -> dict[object, int]:
        counts: dict[object, int] = {}
        for leaf in self.leaves:
            for node in self.ancestors(leaf)[1:]:
                counts[node] = counts.get(node, 0) + 1
        return counts

    @cached_property
    def _heights(self) -> dict[object, int]:
        heights: dict[object, int] = {}
        for leaf in self.leaves:
            for steps, node in enumerate(self.ancestors(leaf)):
                heights[node] = max(heights.get(node, 0), steps)
        return heights

    def ancestors(self, node: object) -> tuple[object, ...]:
        """The node itself, its parent, and so on up to the root."""
        path = [node]
        while path[-1] in self.parents:
            path.append(self.parents[path[-1]])
        return tuple(path)

    def size(self, node: object) -> int:
        """Number of leaves below the node; 0 for a leaf, as 001 defines it."""
        return self._leaf_counts.get(node, 0)

    def height(self, node: object) -> int:
        """Length of the longest path from a leaf up to the node."""
        return self._heights[node]

    def closest_common_ancestor(self, values: Iterable[object]) -> object:
        """The lowest node above all values; of one value, the value itself."""
        distinct = list(dict.fromkeys(values))
        common = self.ancestors(distinct[0])
        for value in distinct[1:]:
            above = set(self.ancestors(value))
            common = tuple(node for node in common if node in above)
        return common[0]

    def fitted(self, values: Iterable[object]) -> Hierarchy:
        """The same tree whose leaves, where they only spell a value as text, are that value.

        >>> tree = Hierarchy({"1": "low", "2": "low", "9": "*", "low": "*"})
        >>> tree.fitted([1, 2, 9]).leaves
        (1, 2, 9)
        """
        meant: dict[object, object] = {
            text: value
            for value in values
            if value not in self.parents
            for text in spellings(value)
        }
        leaves = set(self.leaves)
        return Hierarchy(
            {
                meant.get(node, node) if node in leaves else node: parent
                for node, parent in self.parents.items()
            }
        )

    def check_covers(self, column: str, values: Iterable[object]) -> None:
        """Raise unless every value is a leaf."""
        leaves = set(self.leaves)
        outside = [value for value in values if value not in leaves]
        if outside:
            raise KanopyError(
                f"{len(outside)} values of column {column!r} are not leaves of its hierarchy"
                f"{such_as(outside)}; add them"
            )
