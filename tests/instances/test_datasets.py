import gzip
import hashlib
import os

import numpy as np
import pandas as pd
import pytest

from kanopy.instances import datasets as module
from kanopy.instances.datasets import DATASETS, DataFile, DataSet, cache_folder, datasets, load
from kanopy.instances.errors import KanopyError

real_data = pytest.mark.skipif(
    "KANOPY_DATA" not in os.environ, reason="KANOPY_DATA does not name a folder of data sets"
)
CONTENT = "id,n,t\n" + "".join(f"{i},{i * i},{'?' if i == 3 else 'NA'}\n" for i in range(20))


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A data set of our own and two empty folders to look for it in."""
    monkeypatch.setenv("KANOPY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    (tmp_path / "cache" / "kanopy").mkdir(parents=True)
    file = DataFile("toy.csv.gz", hashlib.sha256(CONTENT.encode()).hexdigest(), "nowhere")
    entry = DataSet(file, 20, ("n", "id"), ("n", "t", "id"), lambda frame: frame)
    monkeypatch.setattr(module, "DATASETS", {"toy": entry})
    return tmp_path


def test_names_are_those_of_the_design():
    assert list(DATASETS) == [
        *("adult", "adult-numeric", "census", "tarragona", "eia", "credit"),
        *("census-income", "fars", "fars-1976"),
    ]
    assert datasets()["name"].tolist() == list(DATASETS)


def test_missing_file_names_both_places_and_the_command(toy, monkeypatch):
    with pytest.raises(KanopyError) as caught:
        load("toy")
    for part in (str(toy / "data"), str(toy / "cache" / "kanopy"), "kanopy data fetch toy"):
        assert part in str(caught.value)
    assert datasets()["available"].tolist() == [False]
    monkeypatch.delenv("KANOPY_DATA")
    with pytest.raises(KanopyError, match="KANOPY_DATA \\(not set\\)"):
        load("toy")


def test_lookup_order_and_both_forms(toy):
    (toy / "cache" / "kanopy" / "toy.csv").write_text(CONTENT)
    assert load("toy").n == 20
    assert datasets()["available"].tolist() == [True]
    (toy / "data" / "toy.csv.gz").write_bytes(gzip.compress(b"other"))
    with pytest.raises(KanopyError, match=r"data/toy.csv.gz.*SHA-256 differs"):
        load("toy")
    (toy / "data" / "toy.csv.gz").write_bytes(gzip.compress(CONTENT.encode()))
    assert load("toy").n == 20
    (toy / "data" / "toy.csv.gz").write_bytes(gzip.compress(CONTENT.encode())[:-4])
    with pytest.raises(KanopyError, match="not a complete gzip file"):
        load("toy")


def test_cache_folder_without_xdg(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "kanopy"


def test_question_marks_and_na_stay_values(toy):
    (toy / "data" / "toy.csv").write_text(CONTENT)
    assert load("toy").categories[0].tolist() == ["?", "NA"]


def test_columns_and_rows(toy):
    (toy / "data" / "toy.csv").write_text(CONTENT)
    assert load("toy", columns=2).quasi_identifiers == ("n", "t")
    assert load("toy", columns=["id", "t"]).quasi_identifiers == ("id", "t")
    part = load("toy", rows=7, seed=3)
    assert part.n == 7
    assert (part.frame["id"] == part.frame.index).all()
    assert part.frame.index.is_monotonic_increasing
    np.testing.assert_allclose(part.X.std(axis=0), 1)
    assert part.fingerprint == load("toy", rows=7, seed=3).fingerprint
    assert part.fingerprint != load("toy", rows=7, seed=4).fingerprint
    raw = load("toy", rows=7, seed=3, standardize=False)
    np.testing.assert_array_equal(raw.X, part.frame[["n", "id"]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rows": 21}, "rows = 21, but 'toy' has 20"),
        ({"rows": 0}, "rows = 0"),
        ({"columns": 4}, "columns = 4, but 'toy' has 3"),
        ({"columns": 0}, "columns = 0"),
        ({"columns": ["n", "age"]}, "unknown attribute of 'toy' 'age'.*n, t, id"),
        ({"columns": []}, "at least one"),
        ({"columns": ["n", "n"]}, "each of them once"),
        ({"columns": "n"}, r"columns=\['n'\]"),
    ],
)
def test_bad_requests(toy, parameters, message):
    (toy / "data" / "toy.csv").write_text(CONTENT)
    with pytest.raises(KanopyError, match=message):
        load("toy", **parameters)


def test_unknown_name():
    with pytest.raises(KanopyError, match=r"unknown data set 'iris'.*adult.*fars"):
        load("iris")


@real_data
@pytest.mark.real_data
@pytest.mark.parametrize("name", list(DATASETS))
def test_every_set_has_the_rows_and_columns_it_promises(name):
    data = load(name)
    row = datasets().set_index("name").loc[name]
    assert (data.n, len(data.quasi_identifiers), data.kind) == (
        row["rows"],
        row["columns"],
        row["kind"],
    )
    assert data.quasi_identifiers == DATASETS[name].attributes
    assert row["available"]


@real_data
@pytest.mark.real_data
def test_adult_has_the_published_shares_of_problems():
    """000, table 6.3, last row (k = 3)."""
    shares = []
    for columns in range(3, 9):
        counts = load("adult", columns=columns).counts
        shares.append(counts[counts < 3].sum() / 30162)
    np.testing.assert_allclose(shares, [0.000, 0.002, 0.013, 0.059, 0.185, 0.239], atol=5e-4)
    assert round(shares[0] * 30162) == 2


@real_data
@pytest.mark.real_data
def test_census_income_education_is_ordered():
    data = load("census-income", standardize=False)
    education = data.frame["education"]
    assert education.dtype == np.int64
    assert sorted(education.unique()) == list(range(17))
    assert "?" in data.categories[data.nominal.index("birthplace")]


@real_data
@pytest.mark.real_data
def test_fars_has_no_unknown_codes():
    frame = load("fars").frame
    assert frame["AGE"].max() < 98
    assert set(frame["SEX"]) == {1, 2}
    assert set(frame["INJ_SEV"]) <= {0, 1, 2, 3, 4}
    assert set(frame["DRINKING"]) == {0, 1}
    older = load("fars-1976").frame
    assert len(older) == DATASETS["fars-1976"].rows
    assert older["AGE"].max() <= 97
    assert [set(older[name]) for name in ("SEX", "INJ_SEV", "ALC_POS")] == [
        {1, 2},
        {0, 1, 2, 3, 4},
        {0, 1},
    ]


@real_data
@pytest.mark.real_data
def test_samples_keep_the_index_of_the_file():
    whole, part = load("adult"), load("adult", rows=200, columns=5, seed=1)
    pd.testing.assert_frame_equal(part.frame, whole.frame.loc[part.frame.index, list(part.nominal)])
