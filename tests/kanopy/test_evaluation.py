import numpy as np
import pandas as pd
import pytest

import kanopy as kn


def test_thaeters_testdata_by_two_partitions():
    data = kn.example("testdata")
    labels = {"a": [0, 1, 1, 1, 0, 0], "b": [0, 0, 0, 1, 1, 1]}
    found = {}
    for name, given in labels.items():
        s = kn.solve(data, 3, "random", initial=given, seed=0)
        best = s if s.labels.tolist() == given else None
        release = pd.DataFrame(
            {
                c: data.frame[c].groupby(np.array(given)).transform("mean")
                for c in data.frame.columns
            }
        )
        found[name] = kn.evaluate(data, release)
        if best is not None:
            assert kn.evaluate(data, best).ncp == found[name].ncp
    assert (found["a"].ncp, found["b"].ncp) == (pytest.approx(5.5), pytest.approx(7.5))
    for report in found.values():
        assert (report.discernability, report.c_avg, report.k) == (18, 1.0, 3)
        assert report.information_loss == pytest.approx(100 * report.sse / report.sst)


def test_nominal_report_of_costs_example():
    """Example 5.1.2 of 000: the plurality mode against representatives that compensate."""
    data = kn.example("aggregation")
    frame = data.frame
    sex, status = data.nominal
    first = frame.copy()
    first[sex] = "f"
    r = kn.evaluate(data, first, control=1)
    assert (r.max_abs, r.chi2) == (3, pytest.approx(9 / 6 + 9 / 3))
    assert r.by_dimension[1].max_rel == 1.0
    second = first.copy()
    second.loc[second[status] == "inact", sex] = "m"
    r = kn.evaluate(data, second, control=1)
    assert (r.max_abs, r.chi2, r.k) == (0, 0, 3)
    assert r.deviation == (1 + 1) + (1 + 1) + (2 + 2)
    assert r.max_abs_all > 0


def test_confidential_columns():
    """Table 3.4 of 001: a homogeneous class discloses its confidential value."""
    frame = pd.DataFrame(
        {"q1": [7] * 4 + [3] * 4, "q2": [4] * 4 + [7] * 4, "ca": [1, 1, 1, 1, 2, 2, 3, 4]}
    )
    data = kn.Microdata.from_frame(frame, confidential=["ca"])
    r = kn.evaluate(data, frame)
    assert (r.k, r.distinct_diversity, r.entropy_diversity) == (4, 1, 1.0)
    assert r.t_closeness > 0
    assert r.closeness_utility == pytest.approx(1.0)


def test_ranges_and_value_sets_have_losses_but_no_squares():
    data = kn.example("fars")
    s = kn.solve(data, 3, "random", cost="range")
    r = kn.evaluate(data, s)
    assert r.sse is None
    assert r.linkage is None
    assert r.generalisation_loss == pytest.approx(s.objective)
    assert r.gcp == pytest.approx(4 * s.objective)


def test_release_with_other_rows_or_values():
    data = kn.example("survey")
    fewer = data.frame.iloc[[0, 0, 0, 1]].reset_index(drop=True)
    r = kn.evaluate(data, fewer)
    assert (r.rows, r.hamming, r.linkage) == (4, None, None)
    assert r.chi2 > 0
    strange = data.frame.assign(**{data.nominal[0]: "nobody"})
    assert kn.evaluate(data, strange).chi2 is None
    with pytest.raises(kn.KanopyError, match="lacks"):
        kn.evaluate(data, strange[[data.nominal[0]]])
    with pytest.raises(kn.KanopyError, match="no rows"):
        kn.evaluate(data, strange.iloc[:0])


def test_report_reads_well():
    data = kn.example("aggregation")
    text = str(kn.evaluate(data, kn.solve(data, 3, "random"), control=2))
    assert "χ² sum, control tables of dimension 2" in text
    assert "size of the smallest class" in text
    assert "None" not in text


def test_linkage_falls_with_k():
    data = kn.generate("simu", n=200, d=3, seed=5)
    assert kn.evaluate(data, data.frame).linkage == 1.0
    shares = [kn.evaluate(data, kn.solve(data, k, "mdav")).linkage for k in (2, 5, 20)]
    assert shares[0] > shares[1] > shares[2]


def test_control_tables_where_there_are_none_are_an_error():
    numbers = kn.generate("simu", n=20, seed=1)
    with pytest.raises(kn.KanopyError, match="numeric quasi-identifiers; leave control out"):
        kn.evaluate(numbers, kn.solve(numbers, 3, "mdav"), control=2)
    words = kn.Microdata.from_frame(pd.DataFrame({"a": list("xyxyxy"), "b": list("pppqqq")}))
    ranges = kn.solve(words, 3, "k-member", cost="range").release("ranges")
    assert kn.evaluate(words, ranges).chi2 is None
    with pytest.raises(kn.KanopyError, match="the release holds others; leave control out"):
        kn.evaluate(words, ranges, control=1)
