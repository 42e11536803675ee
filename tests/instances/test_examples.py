import numpy as np
import pandas as pd
import pytest

from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import PARTITIONS, example, examples, partition
from kanopy.instances.microdata import Microdata
from kanopy.solvers.costs import total_cost


def sse(values: np.ndarray) -> float:
    return float(((values - values.mean(axis=0)) ** 2).sum())


def cells(data: Microdata, control: int, counts: list[int] | None = None) -> dict[tuple, int]:
    """Cell values by the combination of values that names the cell."""
    tables = data.tables(control)
    values = tables.values(data.counts if counts is None else np.array(counts))
    combinations = data.combinations
    return {
        tuple(combinations.loc[first, list(tables.names[table])]): int(value)
        for table, first, value in zip(tables.table, tables.first, values, strict=True)
    }


def test_every_example_builds_and_is_not_standardised():
    assert len(examples()) == 9
    for name in examples():
        data = example(name)
        assert data.name == name
        np.testing.assert_array_equal(data.X, data.frame[list(data.numeric)].to_numpy(float))


def test_unknown_names_list_the_known_ones():
    with pytest.raises(KanopyError, match=r"unknown example 'no'.*testdata.*fars"):
        example("no")
    with pytest.raises(KanopyError, match=r"unknown printed partition 'no'.*fars-greedy"):
        partition("no")


@pytest.mark.parametrize("name", list(PARTITIONS))
def test_partitions_cover_each_row_once(name):
    data = example(name.split("-", 1)[0])
    rows = sorted(row for rows in PARTITIONS[name] for row in rows)
    assert rows == list(range(data.n))
    labels = partition(name)
    for number, members in enumerate(PARTITIONS[name]):
        assert set(np.flatnonzero(labels == number)) == set(members)


def test_survey_has_the_problems_and_tables_of_the_thesis():
    """000, example 1.1.5 (fig. 1.3) and the confidentiality problems for k = 2."""
    data = example("survey")
    assert int(np.prod(data.domain_sizes)) == 12
    problems = data.combinations[data.counts < 2]
    assert {tuple(row) for row in problems.to_numpy()} == {
        ("female", "Germany", "inactive"),
        ("male", "Germany", "unemployed"),
        ("male", "Others", "inactive"),
    }
    counts = cells(data, 3)
    assert (counts["female",], counts["male",]) == (3, 2)
    two = data.tables([["Sex", "Working status"]])
    named = data.combinations.loc[two.first, ["Sex", "Working status"]].to_numpy()
    assert dict(zip(map(tuple, named), two.values(data.counts).tolist(), strict=True)) == {
        ("female", "employed"): 2,
        ("female", "inactive"): 1,
        ("male", "unemployed"): 1,
        ("male", "inactive"): 1,
    }
    assert len(data.tables(3).names) == 7


def test_safe_basic_tables():
    """000, example 3.2.1, table 3.1b."""
    assert cells(example("safe-basic"), 1) == {
        ("female",): 2,
        ("male",): 2,
        ("Germany",): 2,
        ("Others",): 2,
    }


def test_compensation_tables_before_and_after():
    """000, example 5.1.1, fig. 5.2."""
    data = example("compensation")
    assert data.counts.tolist() == [1, 1, 1, 1]
    before, after = cells(data, 2), cells(data, 2, [2, 0, 0, 2])
    for value in ("female", "male", "Germany", "Others"):
        assert before[value,] == after[value,] == 2
    assert after["female", "Germany"] == after["male", "Others"] == 2
    assert after["female", "Others"] == after["male", "Germany"] == 0


def test_aggregation_tables_of_both_scenarios():
    """000, example 5.1.2, table 5.1."""
    data = example("aggregation")
    labels = partition("aggregation")
    codes = {tuple(row): i for i, row in enumerate(data.combinations.to_numpy())}

    def released(*representatives: tuple[str, str]) -> list[int]:
        counts = np.zeros(len(codes), dtype=int)
        for cluster, row in enumerate(representatives):
            assert row in {tuple(r) for r in data.frame[labels == cluster].to_numpy()}
            counts[codes[row]] += int((labels == cluster).sum())
        return counts.tolist()

    original = cells(data, 1)
    first = cells(data, 1, released(("f", "empl"), ("f", "unempl"), ("f", "inact")))
    second = cells(data, 1, released(("f", "empl"), ("f", "unempl"), ("m", "inact")))
    assert [(table["f",], table["m",]) for table in (original, first, second)] == [
        (6, 3),
        (9, 0),
        (6, 3),
    ]
    for status in ("empl", "unempl", "inact"):
        assert original[status,] == first[status,] == second[status,] == 3


def test_distances_to_a_representative_do_not_tell_clusters_apart():
    """000, example 4.1.1, fig. 4.1."""
    rows = [("f", "GER"), ("f", "OTH"), ("m", "GER"), ("f", "GER"), ("f", "OTH"), ("f", "OTH")]
    data = Microdata.from_frame(pd.DataFrame(rows, columns=["sex", "citizenship"]))
    first, second = (data.restrict(np.arange(i, i + 3)) for i in (0, 3))
    for cluster in (first, second):
        assert (cluster.codes != cluster.codes[0]).sum() == 2
    together = np.zeros(3, dtype=np.int64)
    assert total_cost(first, together, "hamming") == 4
    assert total_cost(second, together, "hamming") == 2


def test_plurality_mode_is_an_impossible_row():
    """000, example 5.1.3."""
    frame = example("plurality").frame
    mode = tuple(frame[column].mode()[0] for column in frame)
    assert mode == ("employed", "None")
    assert mode not in {tuple(row) for row in frame.to_numpy()}


def test_extension_gives_every_printed_number():
    """001, fig. 5.1 and the text above it."""
    x = example("extension").X
    assert x.mean() == 34
    costs = {
        name: sum(sse(x[list(rows)]) for rows in PARTITIONS[name])
        for name in ("extension-v-mdav", "extension-mdav*")
    }
    assert costs["extension-v-mdav"] == pytest.approx(258.8)
    assert costs["extension-mdav*"] == pytest.approx(21.2)
    # cost_N and cost_E of 001, 5.1 with k = 3
    assert sse(x[3:6]) / 3 == pytest.approx(40.67, abs=0.005)
    assert (sse(x[:4]) - sse(x[:3]) + sse(x[4:7])) / 4 == pytest.approx(32.19, abs=0.005)
    assert (sse(x[:5]) - sse(x[:4]) + sse(x[5:8])) / 4 == pytest.approx(2.61, abs=0.005)


def test_ehr_ranges():
    """003, table 1b."""
    data = example("ehr")
    assert data.confidential == ("Disease",)
    ranges = [
        [(int(column.min()), int(column.max())) for column in data.X[list(rows)].T]
        for rows in PARTITIONS["ehr"]
    ]
    assert ranges == [[(35, 37), (0, 0), (22071, 23061)], [(61, 66), (1, 1), (55099, 55324)]]


@pytest.mark.parametrize(
    ("name", "weights", "cost"),
    [
        ("fars-equal", (0.25, 0.25, 0.25, 0.25), 4.816532258),
        ("fars-unequal", (0.8, 0.05, 0.1, 0.05), 4.114516129),
        ("fars-greedy", (0.25, 0.25, 0.25, 0.25), 7.127016129),
    ],
)
def test_fars_generalisation_costs(name, weights, cost):
    data = example("fars")
    assert data.numeric_weights.tolist() == [0.25] * 4
    width = data.upper - data.lower
    total = sum(
        len(rows) * float(np.ptp(data.X[list(rows)], axis=0) / width @ np.array(weights))
        for rows in PARTITIONS[name]
    )
    assert total == pytest.approx(cost, abs=1e-8)


def test_fars_ranges_of_table_4c():
    x = example("fars").X
    ages = [(x[list(rows), 0].min(), x[list(rows), 0].max()) for rows in PARTITIONS["fars-unequal"]]
    assert ages == [(64, 80), (29, 33), (40, 42), (49, 53), (55, 59), (18, 25)]
    assert x[:, 2].tolist() == [4, 0, 0, 4, 2, 4, 4, 2, 4, 4, 3, 0, 0, 4, 2, 2, 3, 4, 4, 4]


def test_testdata_ranges():
    """001, table 3.1."""
    x = example("testdata").X
    spans = {
        name: [np.ptp(x[list(rows)], axis=0).tolist() for rows in PARTITIONS[name]]
        for name in ("testdata-global", "testdata-local")
    }
    assert spans["testdata-global"] == [[9, 3], [3, 0]]
    assert spans["testdata-local"] == [[6, 3], [3, 6]]
