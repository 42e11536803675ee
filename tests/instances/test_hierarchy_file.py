import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.instances.hierarchy import Hierarchy
from kanopy.instances.hierarchy_file import (
    format_hierarchy,
    parse_hierarchy,
    read_hierarchy,
    write_hierarchy,
)

TEXT = "dentist,medic,*\nsurgeon,medic,*\nbaker,craft,*\n"


def test_the_documented_example(tmp_path):
    path = tmp_path / "job.csv"
    path.write_text(TEXT)
    tree = read_hierarchy(path)
    assert tree.root == "*"
    assert tree.closest_common_ancestor(["dentist", "surgeon"]) == "medic"
    assert tree.closest_common_ancestor(["dentist", "baker"]) == "*"
    write_hierarchy(tree, path)
    assert path.read_text() == TEXT


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace(",", ";"),
        TEXT.replace(",", ", "),
        "\n" + TEXT.replace("\n", "\r\n\r\n"),
        "\ufeff" + TEXT,
        TEXT.replace("baker,craft", "baker,baker,craft,craft"),
        TEXT + "dentist,medic,*\n",
        TEXT.replace("dentist", '"dentist"'),
    ],
)
def test_the_same_tree_in_other_words(text):
    assert parse_hierarchy(text.encode()) == parse_hierarchy(TEXT.encode())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no line"),
        ("\n\n", "no line"),
        ("a,*\n\nb\n", "line 3 has a value alone"),
        ("*,*\n", "line 1 has a value alone"),
        ("a,x,*\nb,x,any\n", "line 2 ends in another root than line 1"),
        ("a,x,*\nb,y,*\nx,y,*\n", "line 3 has a node with another parent than in line 1"),
        ("a,b,a,*\n", "line 1 has a node with another parent"),
        ("a,*,x,*\n", "line 1 has the root before its end"),
        ("a,x,*\nx,*\n", "line 2 starts with a node that has values below it, see line 1"),
        ("a,,*\n", "line 1 has an empty cell"),
        ("a,x,\n", "line 1 has an empty cell"),
        ('a,*\n"b,*\n', "line 2 is not readable"),
        ('a,*\n"b"c,*\n', "line 2 is not readable"),
    ],
)
def test_errors_name_the_line(text, said):
    with pytest.raises(KanopyError, match=said):
        parse_hierarchy(text.encode())


def test_errors_of_files(tmp_path):
    with pytest.raises(KanopyError, match="no file"):
        read_hierarchy(tmp_path / "nowhere.csv")
    with pytest.raises(KanopyError, match="cannot read"):
        read_hierarchy(tmp_path)
    with pytest.raises(KanopyError, match="line 2 is not UTF-8"):
        parse_hierarchy(b"a,*\nb\xff,*\n")


LINES = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "*", "", '"', ";", "\r", "x y", "\x00"]), max_size=5),
    max_size=5,
)


@given(st.one_of(st.binary(max_size=60), LINES.map(lambda p: "\n".join(map(",".join, p)).encode())))
@settings(max_examples=400, deadline=None)
def test_whatever_is_in_a_file_is_a_tree_or_an_error(content):
    try:
        tree = parse_hierarchy(content)
    except KanopyError:
        return
    assert parse_hierarchy(format_hierarchy(tree).encode()) == tree


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(NAMES, min_size=1, max_size=8, unique=True), st.data())
@settings(max_examples=100, deadline=None)
def test_trees_come_back(leaves, data):
    """Any names at all, with separators, quotes, spaces and line breaks."""
    others = [f"{name}'" for name in leaves]
    inner = data.draw(st.lists(st.sampled_from(others), max_size=3, unique=True))
    inner = [node for node in inner if node not in leaves]
    paths = [
        (leaf, *([data.draw(st.sampled_from(inner))] if inner and data.draw(st.booleans()) else []))
        for leaf in leaves
    ]
    tree = Hierarchy.from_paths([(*path, "the root, of all") for path in paths])
    assert parse_hierarchy(format_hierarchy(tree).encode()) == tree


def test_trees_without_a_text():
    with pytest.raises(KanopyError, match="same text"):
        format_hierarchy(Hierarchy({1: "*", "1": "*"}))
    with pytest.raises(KanopyError, match="no text"):
        format_hierarchy(Hierarchy({"a": "", "b": ""}))


def test_leaves_that_spell_values():
    tree = parse_hierarchy(b"1,low,*\n2,low,*\n,*\n").fitted([1, 2.0, None])
    assert tree.leaves == (1, 2.0, None)
    assert tree.closest_common_ancestor([1, 2.0]) == "low"
    same = parse_hierarchy(TEXT.encode())
    assert same.fitted(["dentist", "surgeon", "baker"]) == same
