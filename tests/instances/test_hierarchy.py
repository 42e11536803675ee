import pytest

from kanopy.instances.errors import KanopyError
from kanopy.instances.hierarchy import Hierarchy

PATHS = [
    ("dentist", "medic", "any"),
    ("surgeon", "medic", "any"),
    ("baker", "any"),
]


def test_tree_of_professions():
    tree = Hierarchy.from_paths(PATHS)
    assert tree.root == "any"
    assert set(tree.leaves) == {"dentist", "surgeon", "baker"}
    assert tree.ancestors("dentist") == ("dentist", "medic", "any")
    assert [tree.size(node) for node in ("dentist", "medic", "any")] == [0, 2, 3]
    assert [tree.height(node) for node in ("dentist", "baker", "medic", "any")] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("values", "ancestor"),
    [
        (["dentist"], "dentist"),
        (["dentist", "dentist"], "dentist"),
        (["surgeon", "dentist"], "medic"),
        (["surgeon", "baker"], "any"),
        (["surgeon", "dentist", "baker"], "any"),
        (["surgeon", "medic"], "medic"),
    ],
)
def test_closest_common_ancestor(values, ancestor):
    assert Hierarchy.from_paths(PATHS).closest_common_ancestor(values) == ancestor


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({}, "at least one value"),
        ({"a": "x", "b": "y"}, "exactly one root, this one has 2"),
        ({"a": "b", "b": "a"}, "this one has 0"),
        ({"a": "b", "b": "a", "c": "root"}, "circle"),
    ],
)
def test_what_is_no_tree(parents, message):
    with pytest.raises(KanopyError, match=message):
        Hierarchy(parents)


def test_bad_paths():
    with pytest.raises(KanopyError, match="at least the root"):
        Hierarchy.from_paths([("a",)])
    with pytest.raises(KanopyError, match="two different parents"):
        Hierarchy.from_paths([("a", "b", "r"), ("a", "c", "r")])


def test_coverage_counts_values_without_naming_them():
    with pytest.raises(KanopyError, match="2 values of column 'job' are not leaves") as caught:
        Hierarchy.from_paths(PATHS).check_covers("job", ["baker", "secret", "medic"])
    assert "secret" not in str(caught.value)
