"""``evaluate``: every measure of the papers that is defined for a release, as a small report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from kanopy import measures
from kanopy.instances.errors import KanopyError
from kanopy.instances.merge import merge_rows
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables
from kanopy.measures import TableErrors
from kanopy.released import released_losses
from kanopy.solution import Solution
from kanopy.verification import check_table

Control = int | Sequence[Sequence[str]]
_MOST_TABLE_ENTRIES = 50_000_000


@dataclass(frozen=True)
class Report:
    """Measures of one release; None where a measure is not defined for it.

    Squared errors and record linkage need numbers or categories row by row; losses by ranges and
    value sets look at the cells of a generalised release, else at the classes; table errors need
    releases made of original categories. ``freeform`` is k for a freeform solution, whose classes
    of identical rows may be smaller.
    """

    rows: int
    classes: int
    k: int
    discernability: int
    c_avg: float
    sse: float | None = None
    sst: float | None = None
    information_loss: float | None = None
    hamming: float | None = None
    ncp: float | None = None
    gcp: float | None = None
    total_il: float | None = None
    generalisation_loss: float | None = None
    chi2: float | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    chi2_all: float | None = None
    max_abs_all: float | None = None
    max_rel_all: float | None = None
    deviation: float | None = None
    problems_before: float | None = None
    distinct_diversity: int | None = None
    entropy_diversity: float | None = None
    t_closeness: float | None = None
    closeness_utility: float | None = None
    linkage: float | None = None
    freeform: int | None = None
    by_dimension: Mapping[int, TableErrors] = field(default_factory=dict)

    def series(self) -> pd.Series:
        """The measures that are defined, by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "by_dimension"}
        for dimension, errors in self.by_dimension.items():
            values |= {
                f"chi2_{dimension}d": errors.chi2,
                f"max_abs_{dimension}d": errors.max_abs,
                f"max_rel_{dimension}d": errors.max_rel,
            }
        return pd.Series({name: value for name, value in values.items() if value is not None})

    def rows_of_text(self) -> Iterator[tuple[str, str]]:
        """Measures with their full names and printed values."""
        for name, value in self.series().items():
            shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"
            yield _title(str(name)), shown

    def __str__(self) -> str:
        lines = list(self.rows_of_text())
        width = max(len(title) for title, _ in lines)
        return "\n".join(f"{title:<{width}}  {value:>12}" for title, value in lines)


_TITLES = {
    "rows": "rows",
    "classes": "classes of identical rows",
    "k": "size of the smallest class (k)",
    "discernability": "discernability C_DM",
    "c_avg": "average class size C_AVG",
    "sse": "sum of squared errors SSE",
    "sst": "total sum of squares SST",
    "information_loss": "information loss in percent",
    "hamming": "Hamming distances within classes",
    "ncp": "normalised certainty penalty NCP",
    "gcp": "global certainty penalty GCP",
    "total_il": "total information loss Total-IL",
    "generalisation_loss": "generalisation loss D",
    "chi2": "χ² sum, control tables",
    "max_abs": "maximum absolute error, control tables",
    "max_rel": "maximum relative error, control tables",
    "chi2_all": "χ² sum, all tables",
    "max_abs_all": "maximum absolute error, all tables",
    "max_rel_all": "maximum relative error, all tables",
    "deviation": "deviation of the frequency vector",
    "problems_before": "share of confidentiality problems before",
    "distinct_diversity": "distinct l-diversity",
    "entropy_diversity": "entropy l-diversity",
    "t_closeness": "t-closeness",
    "closeness_utility": "closeness utility",
    "linkage": "share re-identified by nearest record",
    "freeform": "freeform, not k-anonymous: originals covered by each row",
}


def _title(name: str) -> str:
    if name in _TITLES:
        return _TITLES[name]
    measure, _, dimension = name.rpartition("_")
    return f"{_TITLES[measure]} of dimension {dimension[:-1]}"


def evaluate(
    data: Microdata, result: Solution | pd.DataFrame, *, control: Control | None = None
) -> Report:
    """Measure a solution or a released table against the original.

    Parameters
    ----------
    data
        The original.
    result
        A solution, measured by its default release, or a released table with the same columns.
    control
        Control tables for the table errors: all up to a dimension, or a list of tables; all up to
        dimension 3 by default. An error where there are none to compare: on tables with numeric
        quasi-identifiers, and for releases of value sets.

    Examples
    --------
    >>> import kanopy as kn
    >>> data = kn.example("testdata")
    >>> r = kn.evaluate(data, kn.solve(data, k=3, method="mdav"))
    >>> r.sse, r.sst, round(r.ncp, 9), r.k
    (48.0, 91.5, 7.5, 3)
    """
    if not isinstance(data, Microdata):
        raise KanopyError(f"the original must be Microdata, got {type(data).__name__}")
    if isinstance(result, Solution):
        release, labels, k = result.release(), result.labels, result.k
    else:
        check_table(result)
        release, labels, k = result, None, None
    _check_columns(data, release)
    identical = _classes(release[list(data.quasi_identifiers)])
    level = int(np.bincount(identical).min())
    same_rows = len(release) == data.n
    freeform = isinstance(result, Solution) and result.matches is not None
    if labels is None and same_rows and not freeform:
        labels = identical
    codes = _released_codes(data, release)
    if codes is None and control is not None:
        cause = "the original has numeric quasi-identifiers" if data.numeric else None
        raise KanopyError(
            f"control tables count single values, and {cause or 'the release holds others'}; "
            "leave control out"
        )
    found: dict[str, object] = {}
    if same_rows and (freeform or isinstance(result, Solution) or _in_order(data, release, codes)):
        found |= _numeric(data, release) | _linkage(data, release, codes)
    elif same_rows:
        labels = None
        found |= _sorted_centroids(data, release)
    generalised = released_losses(data, release) if same_rows else None
    if generalised is not None:
        found |= generalised
    elif labels is not None:
        found |= _of_classes(data, labels)
    if labels is not None and data.nominal:
        found["hamming"] = measures.hamming_pair_sum(data.codes, labels, data.nominal_weights)
    if same_rows and (labels is not None or not isinstance(result, Solution) or freeform):
        found |= _disclosure(data, release, identical)
    if freeform:
        found["freeform"] = k
    if not data.numeric:
        found["problems_before"] = measures.confidentiality_problems(data.counts, k or level)
    if codes is not None:
        found |= _tables(data, codes, control)
    return Report(
        rows=len(release),
        classes=int(identical.max()) + 1,
        k=level,
        discernability=measures.discernability(identical),
        c_avg=measures.average_class_size(identical, k or level),
        **found,  # type: ignore[arg-type]
    )


def _check_columns(data: Microdata, release: pd.DataFrame) -> None:
    missing = [name for name in data.quasi_identifiers if name not in release.columns]
    if missing:
        raise KanopyError(
            f"the release lacks the quasi-identifiers {', '.join(missing)}; "
            "name those it has with --numeric/--nominal or in from_frame"
        )
    if len(release) == 0:
        raise KanopyError("the release has no rows; there is nothing to measure")


def _classes(table: pd.DataFrame) -> NDArray[np.int64]:
    groups = table.groupby(list(table.columns), dropna=False, observed=True)
    return np.asarray(groups.ngroup(), dtype=np.int64)


def _numeric(data: Microdata, release: pd.DataFrame) -> dict[str, object]:
    points = _released_points(data, release)
    if points is None:
        return {}
    return {
        "sse": measures.sse(data.points, points),
        "sst": measures.sst(data.points),
        "information_loss": measures.information_loss(data.points, points),
    }


def _in_order(data: Microdata, release: pd.DataFrame, codes: NDArray[np.int64] | None) -> bool:
    """Whether the rows may stand in the original's order, as far as the cells tell.

    They do not if the columns have the original's means, as centroids give them, but the classes
    do not; nor if a class of original values has one that none of its own rows has.
    """
    identical = _classes(release[list(data.quasi_identifiers)])
    points = _released_points(data, release)
    if points is not None:
        sizes = np.bincount(identical)[:, None]
        moved = pd.DataFrame(points - data.points).groupby(identical).sum().to_numpy()
        slack = 1e-6 * (np.abs(data.points).max(initial=0.0) + np.abs(points).max(initial=0.0))
        same_mean = (np.abs(moved.sum(axis=0)) <= slack * data.n).all()
        if same_mean and (np.abs(moved) > slack * sizes).any():
            return False
    if codes is not None:
        for before, after in zip(data.codes.T, codes.T, strict=True):
            own = pd.Series(before == after).groupby(identical).any()
            if not own.all():
                return False
    return True


def _sorted_centroids(data: Microdata, release: pd.DataFrame) -> dict[str, object]:
    """Squared errors of centroids in whatever order: all squares less those between classes."""
    points = _released_points(data, release)
    if points is None or data.nominal:
        return {}
    total = measures.sst(data.points)
    error = max(total - measures.sst(points), 0.0)
    loss = 100 * error / total if total > 0 else 0.0
    return {"sse": error, "sst": total, "information_loss": loss}


def _released_points(data: Microdata, release: pd.DataFrame) -> NDArray[np.float64] | None:
    columns = [release[name] for name in data.numeric]
    if not columns or not all(pd.api.types.is_numeric_dtype(column) for column in columns):
        return None
    raw = np.column_stack([column.to_numpy(dtype=np.float64) for column in columns])
    return np.asarray((raw - data.center) / data.scale * np.sqrt(data.numeric_weights))


def _of_classes(data: Microdata, labels: NDArray[np.int64]) -> dict[str, object]:
    frame = data.frame[list(data.quasi_identifiers)]
    table = frame.astype(dict.fromkeys(data.nominal, object))
    for j, name in enumerate(data.nominal):
        if name not in data.hierarchies:  # numbers, as a value may be missing
            table[name] = data.codes[:, j].astype(object)
    weights = dict(zip([*data.numeric, *data.nominal], data.weights.tolist(), strict=True))
    domains, trees = data.domains, data.hierarchies
    return {
        "ncp": measures.ncp(table, labels, hierarchies=trees, domains=domains, weights=weights),
        "gcp": measures.total_gcp(table, labels, domains=domains),
        "total_il": measures.total_information_loss(
            table, labels, hierarchies=trees, domains=domains
        ),
        "generalisation_loss": measures.generalisation_loss(
            table, labels, domains=domains, weights=weights
        ),
    }


def _disclosure(
    data: Microdata, release: pd.DataFrame, identical: NDArray[np.int64]
) -> dict[str, object]:
    if not data.confidential or any(name not in release.columns for name in data.confidential):
        return {}
    confidential = release[list(data.confidential)].copy()
    for name, column in confidential.items():
        if column.isna().any() and not is_numeric_dtype(column):  # a value of its own
            confidential[name] = column.astype(object).where(column.notna(), "\0missing")
    return {
        "distinct_diversity": measures.distinct_diversity(confidential, identical),
        "entropy_diversity": measures.entropy_diversity(confidential, identical),
        "t_closeness": max(
            measures.t_closeness(confidential[name], identical) for name in data.confidential
        ),
        "closeness_utility": measures.closeness_utility(confidential, identical),
    }


def _linkage(
    data: Microdata, release: pd.DataFrame, codes: NDArray[np.int64] | None
) -> dict[str, object]:
    """Share of rows linked to their own record, if the release is of one kind and comparable."""
    points = _released_points(data, release)
    if not data.nominal and points is not None:
        return {"linkage": measures.linkage_numeric(data.points, points)}
    if codes is not None:
        return {"linkage": measures.linkage_nominal(data.codes, codes)}
    return {}


def _released_codes(data: Microdata, release: pd.DataFrame) -> NDArray[np.int64] | None:
    """A nominal release in the original's category numbers; None if it holds other values."""
    if data.numeric:
        return None
    columns = []
    for name, categories in zip(data.nominal, data.categories, strict=True):
        number = {value: code for code, value in enumerate(categories)}
        values = release[name].astype(object)
        codes = [number.get(value, -1) for value in values.where(values.notna(), None)]
        columns.append(np.array(codes, dtype=np.int64))
    stacked = np.column_stack(columns)
    return None if bool((stacked < 0).any()) else stacked


def _tables(
    data: Microdata, codes: NDArray[np.int64], control: Control | None
) -> dict[str, object]:
    """Table errors over the combinations that occur before or after."""
    both = np.vstack([data.codes, codes])
    first, types, _ = merge_rows(list(both.T))
    before = np.bincount(types[: data.n], minlength=len(first))
    after = np.bincount(types[data.n :], minlength=len(first))
    columns = {name: both[first, j] for j, name in enumerate(data.nominal)}
    columns = {name: columns[name] for name in data.quasi_identifiers}
    control = min(3, len(columns)) if control is None else control
    errors = _errors(ControlTables.build(columns, control), before, after)
    found: dict[str, object] = {
        "chi2": errors.chi2,
        "max_abs": errors.max_abs,
        "max_rel": errors.max_rel,
        "by_dimension": errors.by_dimension,
        "deviation": measures.deviation(after, before),
    }
    if (2 ** len(columns) - 1) * len(first) <= _MOST_TABLE_ENTRIES:
        overall = _errors(ControlTables.build(columns, len(columns)), before, after)
        found |= {
            "chi2_all": overall.chi2,
            "max_abs_all": overall.max_abs,
            "max_rel_all": overall.max_rel,
        }
    return found


def _errors(
    tables: ControlTables, before: NDArray[np.int64], after: NDArray[np.int64]
) -> TableErrors:
    return measures.table_errors(tables.values(after), tables.values(before), tables.dimension)
