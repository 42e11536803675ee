"""Microdata: an immutable table whose quasi-identifiers are to be made k-anonymous."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.arguments import is_known, mapping
from kanopy.instances.columns import nominal_codes, numeric_values
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.hierarchy import Hierarchy
from kanopy.instances.merge import merge_rows
from kanopy.instances.tables import ControlTables

_QUICK_TO_MERGE = 100_000
LEAST_WIDTH = 1e-290
"""Ranges of numeric columns below this, other than 0, are refused."""
T = TypeVar("T", bound=np.generic)
Domain = tuple[float, float] | int
Missing = Literal["error", "drop", "category"]


@dataclass(frozen=True, eq=False)
class Microdata:
    """A table of n rows with roles for its columns; build it with :meth:`from_frame`.

    Attributes
    ----------
    numeric, nominal
        Names of the quasi-identifiers, in the table's column order. Every other column is left
        untouched by a release.
    X
        The numeric quasi-identifiers as an n × d matrix, ``(values − center) / scale``.
    codes
        The nominal quasi-identifiers as an n × m matrix of category numbers.
    categories
        The sorted values behind each column of ``codes``.
    center, scale
        What standardisation subtracted and divided by (0 and 1 if it was not asked for, and for
        constant columns, which carry no information to weigh).
    weights
        One non-negative weight per quasi-identifier, numeric ones first. They multiply squared
        deviations (``sse``), mismatches (``hamming``) and losses (``range``); 1 by default.
    lower, upper
        The permissible range of each numeric column, in the units of ``X`` (003, definition 4).
    domain_sizes
        The number of permissible values of each nominal column.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"age": [30, 34, 52, 58], "sex": ["f", "f", "m", "m"]})
    >>> data = Microdata.from_frame(df, standardize=False)
    >>> data
    Microdata(4 rows; numeric: age; nominal: sex; 4 distinct)
    >>> data.codes.ravel().tolist()
    [0, 0, 1, 1]
    """

    _frame: pd.DataFrame = field(repr=False)
    numeric: tuple[str, ...]
    nominal: tuple[str, ...]
    X: NDArray[np.float64] = field(repr=False)
    codes: NDArray[np.int32] = field(repr=False)
    categories: tuple[NDArray[np.object_], ...] = field(repr=False)
    center: NDArray[np.float64] = field(repr=False)
    scale: NDArray[np.float64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    lower: NDArray[np.float64] = field(repr=False)
    upper: NDArray[np.float64] = field(repr=False)
    domain_sizes: NDArray[np.int64] = field(repr=False)
    confidential: tuple[str, ...] = ()
    strata: str | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)
    domains: Mapping[str, Domain] = field(default_factory=dict, repr=False)
    standardize: bool = True
    name: str = ""

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        nominal: Sequence[str] | None = None,
        numeric: Sequence[str] | None = None,
        confidential: Sequence[str] = (),
        strata: str | None = None,
        weights: Mapping[str, float] | None = None,
        domains: Mapping[str, Domain] | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        standardize: bool = True,
        missing: Missing = "error",
        name: str = "",
    ) -> Microdata:
        """Read a table; roles that are not given follow from the columns' dtypes.

        Parameters
        ----------
        frame
            The table. It is neither changed nor kept open to change.
        nominal, numeric
            The quasi-identifiers. If one is given, the other defaults to none. If neither is,
            number columns are numeric and the rest nominal, except confidential and strata columns.
        confidential
            Columns that a release keeps as they are and that l-diversity and t-closeness look at.
        strata
            A column whose values no cluster may cross.
        weights
            Weight by column name; columns that are not named weigh 1.
        domains
            Permissible ``(low, high)`` of a numeric column or number of permissible values of a
            nominal one, where that is more than occurs in the data.
        hierarchies
            Generalisation hierarchy by column name; leaves may spell the values as text.
        standardize
            Shift and scale numeric columns to mean 0 and variance 1 (dividing by n).
        missing
            What to do about missing values in quasi-identifiers and strata: refuse (``"error"``),
            leave out their rows (``"drop"``), or count them as one more nominal value
            (``"category"``, nominal columns only).
        """
        if not isinstance(frame, pd.DataFrame):
            raise KanopyError(f"expected a pandas DataFrame, got {type(frame).__name__}")
        if missing not in ("error", "drop", "category"):
            raise unknown("treatment of missing values", missing, ("error", "drop", "category"))
        _check_names(frame)
        _check_dtypes(frame)
        nominal = _columns("nominal", nominal, frame)
        numeric = _columns("numeric", numeric, frame)
        confidential = _columns("confidential", confidential, frame) or []
        if strata is not None and not is_known(strata, frame.columns):
            raise unknown("strata column", strata, map(str, frame.columns))
        numeric_names, nominal_names = _roles(frame, nominal, numeric, confidential, strata)
        if len(frame) == 0:
            raise KanopyError("the table has no rows; there is nothing to anonymise")
        identifiers = [*numeric_names, *nominal_names]
        frame = frame.copy(deep=False)
        if missing == "drop":
            needed = [*identifiers, strata] if strata else identifiers
            frame = frame.dropna(subset=needed)
            if len(frame) == 0:
                raise KanopyError("every row has a missing value; nothing is left after dropping")
        if strata is not None and bool(frame[strata].isna().any()):
            raise KanopyError(f"strata column {strata!r} has missing values; fill or drop them")

        values = [numeric_values(frame[name]) for name in numeric_names]
        raw = np.column_stack(values) if values else np.empty((len(frame), 0))
        if not isinstance(standardize, (bool, np.bool_)):
            raise KanopyError(f"standardize must be True or False, got {standardize!r}")
        center, scale = _standardisation(raw, bool(standardize), numeric_names)
        domains = mapping(domains, "domains", '{"age": (0, 120)}')
        hierarchies = mapping(hierarchies, "hierarchies", '{"town": tree}')
        coded = [nominal_codes(frame[name], missing == "category") for name in nominal_names]
        codes = (
            np.column_stack([column for column, _ in coded])
            if coded
            else np.empty((len(frame), 0), dtype=np.int32)
        )
        low, high, sizes = _domains(
            domains, numeric_names, raw, nominal_names, [len(c) for _, c in coded]
        )
        trees = _fitted(hierarchies, nominal_names, [c for _, c in coded])
        points = (raw - center) / scale
        chosen = _weights(mapping(weights, "weights", '{"age": 2.0}'), identifiers)
        _check_costs(points, chosen)
        _check_widths((high - low) / scale, numeric_names)
        return cls(
            _frame=frame,
            numeric=numeric_names,
            nominal=nominal_names,
            X=_frozen(points),
            codes=_frozen(codes),
            categories=tuple(_frozen(c) for _, c in coded),
            center=_frozen(center),
            scale=_frozen(scale),
            weights=_frozen(chosen),
            lower=_frozen((low - center) / scale),
            upper=_frozen((high - center) / scale),
            domain_sizes=_frozen(sizes),
            confidential=tuple(confidential),
            strata=strata,
            hierarchies=trees,
            domains=dict(domains),
            standardize=bool(standardize),
            name=name,
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The original table (a copy: pandas copies on write)."""
        return self._frame.copy(deep=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._frame)

    def __len__(self) -> int:
        return self.n

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns a release changes, in the table's order."""
        chosen = {*self.numeric, *self.nominal}
        return tuple(column for column in self._frame.columns if column in chosen)

    @property
    def kind(self) -> Literal["numeric", "nominal", "mixed"]:
        """What the quasi-identifiers are."""
        if not self.nominal:
            return "numeric"
        return "mixed" if self.numeric else "nominal"

    @property
    def numeric_weights(self) -> NDArray[np.float64]:
        """Weights of the columns of ``X``."""
        return self.weights[: len(self.numeric)]

    @property
    def nominal_weights(self) -> NDArray[np.float64]:
        """Weights of the columns of ``codes``."""
        return self.weights[len(self.numeric) :]

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """``X`` with each column times √weight, so that ``sse`` is plain squared distance."""
        return _frozen(np.ascontiguousarray(self.X * np.sqrt(self.numeric_weights)))

    @cached_property
    def stratum_of_row(self) -> NDArray[np.int32]:
        """Number of each row's stratum; all 0 without strata."""
        if self.strata is None:
            return _frozen(np.zeros(self.n, dtype=np.int32))
        return _frozen(nominal_codes(self._frame[self.strata], False)[0])

    @cached_property
    def _merged(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        # standardisation may round different values to the same, so the table itself is asked
        values = [numeric_values(self._frame[name]) for name in self.numeric]
        columns = [np.unique(column, return_inverse=True)[1] for column in values]
        by_name = dict(zip(self.numeric, columns, strict=True))
        by_name |= dict(zip(self.nominal, self.codes.T, strict=True))
        first, types, counts = merge_rows([by_name[name] for name in self.quasi_identifiers])
        return _frozen(first), _frozen(types), _frozen(counts)

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Position of the first row of each distinct combination."""
        return self._merged[0]

    @property
    def types(self) -> NDArray[np.int64]:
        """For each row, the number of its combination in :attr:`combinations`."""
        return self._merged[1]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each combination occurs: the abbreviated frequency vector y⁰ (000, 1.1)."""
        return self._merged[2]

    @property
    def combinations(self) -> pd.DataFrame:
        """The distinct combinations of quasi-identifiers, in lexicographic order."""
        rows = self._frame[list(self.quasi_identifiers)].iloc[self.first_rows]
        return rows.reset_index(drop=True)

    def tables(self, control: int | Sequence[Sequence[str]]) -> ControlTables:
        """Frequency tables over :attr:`combinations`: all up to a dimension, or the named ones."""
        columns = {
            name: self.codes[self.first_rows, j].astype(np.int64)
            for j, name in enumerate(self.nominal)
        }
        if self.numeric:
            raise KanopyError(
                f"frequency tables need nominal columns, but {', '.join(self.numeric)} "
                "is numeric; name it in nominal= to count its values"
            )
        return ControlTables.build({n: columns[n] for n in self.quasi_identifiers}, control)

    def unstandardize(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values in the table's own units for rows given in the units of ``X``."""
        return np.asarray(points * self.scale + self.center)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> Microdata:
        """The instance of these rows alone, standardised and bounded by them unless given."""
        positions = np.asarray(rows)
        chosen: NDArray[np.int64] = np.zeros((), dtype=np.int64)
        with suppress(IndexError):
            everyone = np.arange(self.n, dtype=np.int64)
            chosen = everyone[positions if positions.size else positions.astype(np.int64)]
        if chosen.ndim != 1:
            raise KanopyError(f"rows must list positions from 0 to {self.n - 1}, like [0, 2, 5]")
        return self._rebuild(self._frame.iloc[chosen])

    def restrict(self, rows: NDArray[np.integer]) -> Microdata:
        """These rows of the same instance: standardisation, domains and categories stay."""
        return replace(
            self,
            _frame=self._frame.iloc[rows],
            X=_frozen(self.X[rows]),
            codes=_frozen(self.codes[rows]),
        )

    def with_hierarchies(self, hierarchies: Mapping[str, Hierarchy]) -> Microdata:
        """The same instance with these generalisation hierarchies instead."""
        return replace(self, hierarchies=_fitted(hierarchies, self.nominal, self.categories))

    def _rebuild(self, frame: pd.DataFrame) -> Microdata:
        identifiers = [*self.numeric, *self.nominal]
        return Microdata.from_frame(
            frame,
            nominal=self.nominal,
            numeric=self.numeric,
            confidential=self.confidential,
            strata=self.strata,
            weights=dict(zip(identifiers, self.weights.tolist(), strict=True)),
            domains=self.domains,
            hierarchies=self.hierarchies,
            standardize=self.standardize,
            missing="category",
            name=self.name,
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that a solution depends on; equal for equal instances."""
        digest = hashlib.sha256()
        digest.update(repr((self.numeric, self.nominal, self.X.shape, self.codes.shape)).encode())
        arrays = (self.X, self.codes, self.weights, self.lower, self.upper, self.domain_sizes)
        for array in (*arrays, self.stratum_of_row):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        roles = [
            f"{role}: {', '.join(names)}"
            for role, names in (
                ("numeric", self.numeric),
                ("nominal", self.nominal),
                ("confidential", self.confidential),
                ("strata", (self.strata,) if self.strata else ()),
            )
            if names
        ]
        label = f"{self.name}: " if self.name else ""
        distinct = [f"{len(self.counts)} distinct"] if self.n <= _QUICK_TO_MERGE else []
        parts = "; ".join([f"{self.n} rows", *roles, *distinct])
        return f"Microdata({label}{parts})"


def _frozen(array: NDArray[T]) -> NDArray[T]:
    array.flags.writeable = False
    return array


def _check_names(frame: pd.DataFrame) -> None:
    names: list[Hashable] = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise KanopyError("column names must be strings; rename with frame.columns = [...]")
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise KanopyError(f"column names occur twice: {', '.join(twice)}; rename one of each")


def _check_dtypes(frame: pd.DataFrame) -> None:
    for name in frame.columns:
        if frame[name].dtype == np.float16:  # pandas cannot group by them
            raise KanopyError(f"column {name!r} is float16; convert it with astype('float32')")


def _columns(role: str, given: Sequence[str] | None, frame: pd.DataFrame) -> list[str] | None:
    """The names as a list, each of them a column; an index of columns will do as well."""
    if given is None:
        return None
    if isinstance(given, str):
        raise KanopyError(f"{role} takes a list of columns; write {role}=[{given!r}]")
    if not isinstance(given, Collection):
        raise KanopyError(f"{role} takes a list of columns, got {type(given).__name__}")
    for name in given:
        if not is_known(name, frame.columns):
            raise unknown(f"{role} column", name, map(str, frame.columns))
    return list(given)


def _roles(
    frame: pd.DataFrame,
    nominal: Sequence[str] | None,
    numeric: Sequence[str] | None,
    confidential: Sequence[str],
    strata: str | None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept = {*confidential, strata}
    if nominal is None and numeric is None:
        candidates = [name for name in frame.columns if name not in kept]
        is_number = {
            name: pd.api.types.is_numeric_dtype(frame[name])
            and not pd.api.types.is_bool_dtype(frame[name])
            for name in candidates
        }
        numeric = [name for name in candidates if is_number[name]]
        nominal = [name for name in candidates if not is_number[name]]
    both = sorted({*(numeric or ())} & {*(nominal or ())})
    if both:
        raise KanopyError(f"{', '.join(both)} is both nominal and numeric; choose one")
    taken = sorted(kept & {*(numeric or ()), *(nominal or ())} - {None}, key=str)
    if taken:
        raise KanopyError(
            f"{', '.join(map(str, taken))} cannot be a quasi-identifier and confidential or strata"
        )
    if not numeric and not nominal:
        raise KanopyError("no usable column: name at least one in nominal= or numeric=")
    in_order = list(frame.columns)
    chosen_numeric = tuple(name for name in in_order if name in set(numeric or ()))
    chosen_nominal = tuple(name for name in in_order if name in set(nominal or ()))
    return chosen_numeric, chosen_nominal


def _check_widths(widths: NDArray[np.float64], names: tuple[str, ...]) -> None:
    """Refuse ranges so small that losses, which are shares of them, would overflow."""
    for name, width in zip(names, widths.tolist(), strict=True):
        if 0 < width < LEAST_WIDTH:
            raise KanopyError(
                f"values of {name!r} differ by less than {LEAST_WIDTH:g}; multiply the column first"
            )


def _standardisation(
    raw: NDArray[np.float64], standardize: bool, names: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    with np.errstate(over="ignore", invalid="ignore"):
        center = raw.mean(axis=0)
        scale = raw.std(axis=0)
        constant = np.ptp(raw, axis=0) == 0  # rounding may leave a constant column a tiny std
        sums = scale if standardize else np.sum(raw * raw, axis=0)
    for name, ok in zip(names, np.isfinite(sums) | (constant & standardize), strict=True):
        if not ok:
            raise KanopyError(f"values of {name!r} overflow when squared; divide the column first")
    if not standardize:
        return np.zeros(raw.shape[1]), np.ones(raw.shape[1])
    center[constant] = raw[0, constant]
    scale[constant | (scale == 0)] = 1.0
    return center, scale


def _fitted(
    hierarchies: Mapping[str, Hierarchy],
    nominal: Sequence[str],
    categories: Sequence[NDArray[np.object_]],
) -> dict[str, Hierarchy]:
    trees = {}
    for column, tree in hierarchies.items():
        if not is_known(column, nominal):
            raise unknown("nominal column in hierarchies", column, nominal)
        if not isinstance(tree, Hierarchy):
            raise KanopyError(f"hierarchy of {column!r} is no Hierarchy: {type(tree).__name__}")
        values = categories[list(nominal).index(column)]
        trees[column] = tree.fitted(values)
        trees[column].check_covers(column, values)
    return trees


def _check_costs(points: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
    """Raise if sums of weighted squares, or of weighted pairs of rows, are beyond any float.

    A distance is at most 4 times the sum of squares; methods add two of them up.
    """
    rows, columns = points.shape
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->j", points, points) @ weights[:columns]
        largest = max(16 * squares, float(rows) ** 2 * weights.sum())
    if not np.isfinite(largest):
        raise KanopyError("weighted costs overflow; divide the weights or the columns first")


def _weights(weights: Mapping[str, float], identifiers: list[str]) -> NDArray[np.float64]:
    for name in weights:
        if name not in identifiers:
            raise unknown("quasi-identifier in weights", name, identifiers)
    array = np.ones(len(identifiers))
    for name, weight in weights.items():
        try:
            array[identifiers.index(name)] = value = float(weight)
        except (TypeError, ValueError, OverflowError):
            value = np.nan
        if not 0 <= value < np.inf:
            raise KanopyError(f"weight of {name!r} is {weight!r}; it must be a number ≥ 0")
    if not array.any():
        raise KanopyError("all weights are 0; give at least one column a positive weight")
    return array


def _domains(
    domains: Mapping[str, Domain],
    numeric: tuple[str, ...],
    raw: NDArray[np.float64],
    nominal: tuple[str, ...],
    occurring: list[int],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    low = raw.min(axis=0) if raw.shape[1] else np.empty(0)
    high = raw.max(axis=0) if raw.shape[1] else np.empty(0)
    sizes = np.array(occurring, dtype=np.int64)
    for name, domain in domains.items():
        if name in numeric:
            j = numeric.index(name)
            least, most = _interval(name, domain)
            if not least <= low[j] <= high[j] <= most:
                raise KanopyError(f"domain {domain} of {name!r} does not cover its values")
            low[j], high[j] = least, most
        elif name in nominal:
            j = nominal.index(name)
            if not isinstance(domain, (int, np.integer)) or domain < sizes[j]:
                raise KanopyError(
                    f"domain of {name!r} must be a number of values ≥ {sizes[j]}, which occur"
                )
            sizes[j] = domain
        else:
            raise unknown("quasi-identifier in domains", name, [*numeric, *nominal])
    return low, high, sizes


def _interval(name: str, domain: Domain) -> tuple[float, float]:
    try:
        least, most = (float(bound) for bound in domain)  # type: ignore[union-attr]
    except (TypeError, ValueError, OverflowError):
        least = most = np.nan
    if not (np.isfinite(least) and np.isfinite(most)):
        raise KanopyError(f"domain of {name!r} must be (low, high), two finite numbers")
    return least, most
