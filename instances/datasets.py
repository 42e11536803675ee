"""The named real data sets: where their files are, what they must contain, how they are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from kanopy.instances.arguments import is_known, whole_number
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.files import decompress, parse_csv
from kanopy.instances.microdata import Microdata
from kanopy.instances.samplers import random_rows


@dataclass(frozen=True)
class DataFile:
    """A file and the SHA-256 of its content (before compression, if its name ends in ``.gz``)."""

    name: str
    sha256: str
    source: str


@dataclass(frozen=True)
class DataSet:
    """A named data set: the file, its attributes in order, and how the table is made of it."""

    file: DataFile
    rows: int
    numeric: tuple[str, ...]
    attributes: tuple[str, ...]
    prepare: Callable[[pd.DataFrame], pd.DataFrame]

    @property
    def kind(self) -> str:
        """What the attributes are."""
        if not self.numeric:
            return "nominal"
        return "numeric" if len(self.numeric) == len(self.attributes) else "mixed"


EDUCATION = (
    "Children",
    "Less than 1st grade",
    "1st 2nd 3rd or 4th grade",
    "5th or 6th grade",
    "7th and 8th grade",
    "9th grade",
    "10th grade",
    "11th grade",
    "12th grade no diploma",
    "High school graduate",
    "Some college but no degree",
    "Associates degree-occup /vocational",
    "Associates degree-academic program",
    "Bachelors degree(BA AB BS)",
    "Masters degree(MA MS MEng MEd MSW MBA)",
    "Prof school degree (MD DDS DVM LLB JD)",
    "Doctorate degree(PhD EdD)",
)
"""The education levels of ``census-income`` in ascending order; a level's number is its place."""


def load(
    name: str,
    rows: int | None = None,
    columns: int | Sequence[str] | None = None,
    seed: int = 0,
    standardize: bool = True,
) -> Microdata:
    """A named real data set, or a random sample of its rows.

    ============= ====== ======= ===============================================================
    name          rows   columns attributes
    ============= ====== ======= ===============================================================
    adult         30162  8       nominal, in the order of 000, table 6.1; training part, rows
                                 with ``?`` left out
    adult-numeric 48842  3       age, education-num, hours-per-week of both parts (001)
    census        1080   13      numeric, CASC
    tarragona     834    13      numeric, CASC
    eia           4092   11      numeric, CASC: UTILITYID and the revenue and sales columns
    credit        30000  24      numeric; all but ID, the class included (001)
    census-income 99762  8       the attributes of 003, table 3, in its order; age and education
                                 numeric (education by its place in :data:`EDUCATION`), the rest
                                 nominal; ``?`` counts as a birthplace of its own
    fars          2434   4       AGE, SEX, INJ_SEV, DRINKING as numbers (003); Puerto Rico
                                 2005–2015; rows with unknown codes left out
    fars-1976     104131 4       AGE, SEX, INJ_SEV, ALC_POS (a positive test) as numbers; all
                                 states, 1976; rows with unknown codes left out
    ============= ====== ======= ===============================================================

    Unknown codes of both ``fars`` are AGE 99 up to 2008 and 998 or 999, SEX 8 or 9, INJ_SEV 6 (died
    before the crash) or 9, and DRINKING 8 or 9 (not reported).

    Files are looked for in the folder ``$KANOPY_DATA``, then in the user's cache; ``kanopy data
    fetch NAME`` puts them there. Their content is checked by SHA-256.

    Parameters
    ----------
    rows
        Number of rows to draw without replacement, with ``seed``. They keep the file's order and
        their index, which counts the rows of the file from 0.
    columns
        The first so many attributes, or a list of names.
    standardize
        Bring numeric columns to mean 0 and variance 1, over the rows that were drawn.
    """
    dataset = _dataset(name)
    chosen = _choose(name, dataset, columns)
    frame = dataset.prepare(read_file(dataset.file, name))[list(chosen)]
    if rows is not None:
        if not 1 <= whole_number(rows, "rows") <= len(frame):
            raise KanopyError(f"rows = {rows}, but {name!r} has {len(frame)}; choose fewer")
        frame = frame.iloc[random_rows(len(frame), rows, seed)]
    numeric = [column for column in chosen if column in dataset.numeric]
    nominal = [column for column in chosen if column not in dataset.numeric]
    return Microdata.from_frame(
        frame, numeric=numeric, nominal=nominal, standardize=standardize, name=name
    )


def datasets() -> pd.DataFrame:
    """The named data sets; ``available`` says whether :func:`load` finds the file.

    >>> datasets()["name"].tolist()[:3]
    ['adult', 'adult-numeric', 'census']
    """
    return pd.DataFrame(
        [
            {
                "name": name,
                "rows": dataset.rows,
                "columns": len(dataset.attributes),
                "kind": dataset.kind,
                "source": dataset.file.source,
                "available": find_file(dataset.file) is not None,
            }
            for name, dataset in DATASETS.items()
        ]
    )


def cache_folder() -> Path:
    """The user's cache folder of kanopy: ``$XDG_CACHE_HOME/kanopy`` or ``~/.cache/kanopy``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kanopy"


def find_file(file: DataFile) -> Path | None:
    """Where the file lies, if it does; compressed or not."""
    given = os.environ.get("KANOPY_DATA")
    plain = file.name.removesuffix(".gz")
    for folder in [*([Path(given)] if given else []), cache_folder()]:
        for name in (plain + ".gz", plain):
            if (folder / name).is_file():
                return folder / name
    return None


def read_file(file: DataFile, name: str) -> pd.DataFrame:
    """The checked content of a data set's file; all cells as they stand."""
    path = find_file(file)
    if path is None:
        given = os.environ.get("KANOPY_DATA")
        places = f"$KANOPY_DATA ({given or 'not set'}) or {cache_folder()}"
        raise KanopyError(
            f"{name!r} needs the file {file.name}, which is not in {places}; "
            f"get it with: kanopy data fetch {name}"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KanopyError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if path.name.endswith(".gz"):
        content = decompress(content, str(path))
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise KanopyError(
            f"{str(path)!r} is not the file that {name!r} stands for (its SHA-256 differs); "
            f"remove it and run: kanopy data fetch {name}"
        )
    return parse_csv(content, str(path), keep_text=True)


def _dataset(name: str) -> DataSet:
    if not is_known(name, DATASETS):
        raise unknown("data set", name, DATASETS)
    return DATASETS[name]


def _choose(name: str, dataset: DataSet, columns: int | Sequence[str] | None) -> tuple[str, ...]:
    known = dataset.attributes
    if columns is None:
        return known
    if isinstance(columns, str):
        raise KanopyError(f"columns takes a number or a list; write columns=[{columns!r}]")
    if not isinstance(columns, Iterable):
        whole_number(columns, "columns")
        if not 1 <= columns <= len(known):
            raise KanopyError(
                f"columns = {columns}, but {name!r} has {len(known)} attributes; choose 1 to "
                f"{len(known)}"
            )
        return known[: int(columns)]
    for column in columns:
        if not is_known(column, known):
            raise unknown(f"attribute of {name!r}", column, known)
    if not columns or len(set(columns)) < len(columns):
        raise KanopyError("columns must name at least one attribute, each of them once")
    return tuple(columns)


def _as_it_is(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


def _adult(frame: pd.DataFrame) -> pd.DataFrame:
    # '?' occurs in nominal columns only: any column or only those, 30162 rows are left
    training = frame[frame["split"] == "train"]
    return training[(training[list(_ADULT)] != "?").all(axis=1)]


def _census_income(frame: pd.DataFrame) -> pd.DataFrame:
    place = {level: number for number, level in enumerate(EDUCATION)}
    return frame.assign(education=frame["education"].map(place))


def _fars(frame: pd.DataFrame) -> pd.DataFrame:
    age_unknown = (frame["AGE"] >= 998) | ((frame["AGE"] == 99) & (frame["YEAR"] <= 2008))
    known = (
        ~age_unknown
        & frame["SEX"].isin([1, 2])
        & frame["INJ_SEV"].isin([0, 1, 2, 3, 4])
        & frame["DRINKING"].isin([0, 1])
    )
    return frame[known]


def _fars_1976(frame: pd.DataFrame) -> pd.DataFrame:
    people = frame["SEX"].isin([1, 2]) & frame["INJ_SEV"].isin([0, 1, 2, 3, 4])
    return frame[people & (frame["AGE"] != 99)]


_ADULT = (
    "sex",
    "race",
    "relationship",
    "marital-status",
    "workclass",
    "occupation",
    "education",
    "native-country",
)
_ADULT_NUMERIC = ("age", "education-num", "hours-per-week")
_CENSUS = (
    *("AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC"),
    *("POTHVAL", "INTVAL", "PEARNVAL", "FICA", "WSALVAL", "ERNVAL"),
)
_TARRAGONA = (
    *("FIXED_ASSETS", "CURRENT_ASSETS", "TREASURY", "UNCOMMITTED_FUNDS", "PAID_UP_CAPITAL"),
    *("SHORT_TERM_DEBT", "SALES", "LABOR_COSTS", "DEPRECIATION", "OPERATING_PROFIT"),
    *("FINANCIAL_OUTCOME", "GROSS_PROFIT", "NET_PROFIT"),
)
_EIA = (
    *("UTILITYID", "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE"),
    *("INDSALES", "OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES"),
)
_CREDIT = (
    *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
    *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
    "default_payment_next_month",
)
_CENSUS_INCOME = (
    *("sex", "age", "marital", "race", "birthplace", "education", "workclass", "occupation"),
)
_FARS = ("AGE", "SEX", "INJ_SEV", "DRINKING")
_FARS_1976 = ("AGE", "SEX", "INJ_SEV", "ALC_POS")

_UCI = "UCI Machine Learning Repository, id"
_CASC = "CASC reference data, as shipped with the R package sdcMicro:"
_NHTSA = "US National Highway Traffic Safety Administration, FARS"


def _numeric(
    file: DataFile,
    rows: int,
    attributes: tuple[str, ...],
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = _as_it_is,
) -> DataSet:
    return DataSet(file, rows, attributes, attributes, prepare)


_ADULT_FILE = DataFile(
    "adult.csv.gz",
    "d99d5b2c07ff6c7e09b6e0cefe115f6835d5c7b6efebdb9276238f1243c6369b",
    f"{_UCI} 2",
)
_CENSUS_FILE = DataFile(
    "casc_census.csv",
    "40fb91564d4379274610e941161fd38729adb471bddb9c71d7c01ef142fd0f5b",
    f"{_CASC} CASCrefmicrodata",
)
_TARRAGONA_FILE = DataFile(
    "casc_tarragona.csv",
    "12ebd851eebe4083cea7fec80082e216ef9aee768fc41228014b31a341cee4aa",
    f"{_CASC} Tarragona",
)
_EIA_FILE = DataFile(
    "casc_eia.csv",
    "4df54e21b3451e3c0b6081fa1c9ef5dbd8f09d484925ed2ade759b78b4869d1b",
    f"{_CASC} EIA",
)
_CREDIT_FILE = DataFile(
    "credit_default.csv.gz",
    "af6aa9d50511471c11fedd691155d36b5f2c81baa778b274118976ad5e750d59",
    f"{_UCI} 350",
)
_CENSUS_INCOME_FILE = DataFile(
    "census_income_kdd_test.csv.gz",
    "35b3dca75157eb26fcaaf366d558261dda7852c3c687a3e36a864ab66113e644",
    f"{_UCI} 117",
)
_FARS_FILE = DataFile(
    "fars_pr_2005_2015.csv",
    "34f41c5820621a5e21e1c780c8def584f9c988dec6f9a48626ad5d8f6ca2540a",
    f"{_NHTSA}, Puerto Rico",
)
_FARS_1976_FILE = DataFile(
    "fars1976_persons.csv.gz",
    "a069b36bafaa332c0f7126088e2e3e0968a90369c445ca56d991df56dd4364e2",
    f"{_NHTSA}, sequential file of 1976",
)

DATASETS: Mapping[str, DataSet] = MappingProxyType(
    {
        "adult": DataSet(_ADULT_FILE, 30162, (), _ADULT, _adult),
        "adult-numeric": _numeric(_ADULT_FILE, 48842, _ADULT_NUMERIC),
        "census": _numeric(_CENSUS_FILE, 1080, _CENSUS),
        "tarragona": _numeric(_TARRAGONA_FILE, 834, _TARRAGONA),
        "eia": _numeric(_EIA_FILE, 4092, _EIA),
        "credit": _numeric(_CREDIT_FILE, 30000, _CREDIT),
        "census-income": DataSet(
            _CENSUS_INCOME_FILE, 99762, ("age", "education"), _CENSUS_INCOME, _census_income
        ),
        "fars": _numeric(_FARS_FILE, 2434, _FARS, _fars),
        "fars-1976": _numeric(_FARS_1976_FILE, 104131, _FARS_1976, _fars_1976),
    }
)
"""The data sets by name."""
