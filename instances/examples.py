"""The papers' small tables, by name, with the partitions that are printed for them.

Numeric examples are not standardised, so that the printed numbers come out. Two tables stand in
figures that are lost in the text and are reconstructed:

- ``survey`` (000, example 1.1.1): the frequency tables of fig. 1.3 and the three confidentiality
  problems named for k = 2 leave two employed women. Both are taken to be German, since two women
  with different citizenships would be confidentiality problems too.
- ``extension`` (001, fig. 5.1): one column (the figure says two) whose eleven values give every
  number that the text prints: centroid 34, costs 258.8 and 21.2 of the two partitions,
  cost_N(x4) = 40.67, cost_E(x4) = 32.19 and cost_E(x5) = 2.61.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.arguments import is_known
from kanopy.instances.errors import unknown
from kanopy.instances.microdata import Microdata

Classes = tuple[tuple[int, ...], ...]

PARTITIONS: Mapping[str, Classes] = MappingProxyType(
    {
        "testdata-global": ((0, 4, 5), (1, 2, 3)),  # 001, table 3.1a
        "testdata-local": ((0, 1, 2), (3, 4, 5)),  # 001, table 3.1b
        "aggregation": ((0, 1, 2), (3, 4, 5), (6, 7, 8)),  # 000, example 5.1.2
        "plurality": ((0, 1, 2, 3),),  # 000, example 5.1.3
        "extension-v-mdav": ((8, 9, 10), (0, 1, 2), (3, 4, 5, 6, 7)),  # 001, fig. 5.1a
        "extension-mdav*": ((8, 9, 10), (0, 1, 2, 3, 4), (5, 6, 7)),  # 001, fig. 5.1b
        "ehr": ((0, 1, 2), (3, 4, 5, 6)),  # 003, table 1b
        # 003, table 4b: the optimum at weights ¼ each, and what Split & Carry finds
        "fars-equal": (
            (0, 2, 15, 17),
            (1, 11, 12),
            (3, 4, 18),
            (5, 6, 8, 9),
            (7, 10, 16),
            (13, 14, 19),
        ),
        # 003, table 4c: the optimum at weights .8, .05, .1, .05
        "fars-unequal": (
            (0, 8, 10, 16),
            (1, 14, 15),
            (2, 3, 13, 18),
            (4, 6, 9),
            (5, 7, 11),
            (12, 17, 19),
        ),
        # 003, table 7: what Greedy Search finds
        "fars-greedy": (
            (12, 1, 11),
            (14, 7, 10, 4),
            (16, 5, 9),
            (19, 13, 6, 18),
            (8, 0, 17),
            (2, 15, 3),
        ),
    }
)
"""Printed partitions as rows per class, rows counted from 0."""


def examples() -> list[str]:
    """Names that :func:`example` knows.

    >>> examples()[:3]
    ['testdata', 'survey', 'safe-basic']
    """
    return list(_EXAMPLES)


def example(name: str) -> Microdata:
    """A small table of the papers.

    >>> example("survey").counts.tolist()
    [2, 1, 1, 1]
    """
    if not is_known(name, _EXAMPLES):
        raise unknown("example", name, _EXAMPLES)
    return _EXAMPLES[name](name)


def partition(name: str) -> NDArray[np.int64]:
    """Labels of a printed partition of :data:`PARTITIONS`.

    >>> partition("testdata-global").tolist()
    [0, 1, 1, 1, 0, 0]
    """
    if name not in PARTITIONS:
        raise unknown("printed partition", name, PARTITIONS)
    classes = PARTITIONS[name]
    labels = np.empty(sum(map(len, classes)), dtype=np.int64)
    for number, rows in enumerate(classes):
        labels[list(rows)] = number
    return labels


def _nominal(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Callable[[str], Microdata]:
    def build(name: str) -> Microdata:
        return Microdata.from_frame(pd.DataFrame(rows, columns=list(columns)), name=name)

    return build


def _numeric(
    columns: Sequence[str], rows: Sequence[Sequence[float]], weight: float = 1.0
) -> Callable[[str], Microdata]:
    def build(name: str) -> Microdata:
        return Microdata.from_frame(
            pd.DataFrame(rows, columns=list(columns)),
            weights=dict.fromkeys(columns, weight),
            standardize=False,
            name=name,
        )

    return build


def _ehr(name: str) -> Microdata:
    rows = [
        (37, 0, 22071, "Pneumonia"),
        (35, 0, 22098, "Diabetes"),
        (36, 0, 23061, "Anemia"),
        (61, 1, 55107, "Pneumonia"),
        (63, 1, 55099, "Diabetes"),
        (66, 1, 55324, "Diabetes"),
        (63, 1, 55229, "Diabetes"),
    ]
    frame = pd.DataFrame(rows, columns=["Age", "Sex", "Zipcode", "Disease"])
    return Microdata.from_frame(frame, confidential=["Disease"], standardize=False, name=name)


_FARS = (
    *((64, 2, 4, 0), (29, 1, 0, 0), (42, 2, 0, 0), (41, 2, 4, 1), (53, 1, 2, 1)),
    *((59, 1, 4, 0), (49, 1, 4, 0), (59, 1, 2, 0), (80, 1, 4, 0), (50, 1, 4, 0)),
    *((64, 1, 3, 0), (55, 1, 0, 0), (25, 1, 0, 0), (42, 1, 4, 0), (33, 1, 2, 0)),
    *((31, 2, 2, 0), (68, 1, 3, 0), (20, 2, 4, 0), (40, 1, 4, 1), (18, 1, 4, 0)),
)

_EXAMPLES: Mapping[str, Callable[[str], Microdata]] = MappingProxyType(
    {
        # 001, table 2.1
        "testdata": _numeric(
            ("Attribute 1", "Attribute 2"), ((3, 6), (6, 3), (9, 3), (9, 3), (12, 6), (12, 9))
        ),
        # 000, example 1.1.1
        "survey": _nominal(
            ("Sex", "Citizenship", "Working status"),
            (
                ("female", "Germany", "employed"),
                ("female", "Germany", "employed"),
                ("female", "Germany", "inactive"),
                ("male", "Germany", "unemployed"),
                ("male", "Others", "inactive"),
            ),
        ),
        # 000, example 3.2.1
        "safe-basic": _nominal(
            ("Sex", "Citizenship"), (("female", "Germany"),) * 2 + (("male", "Others"),) * 2
        ),
        # 000, example 5.1.2
        "aggregation": _nominal(
            ("Sex", "Working status"),
            tuple((sex, status) for status in ("empl", "unempl", "inact") for sex in "ffm"),
        ),
        # 000, example 5.1.3
        "plurality": _nominal(
            ("Working status", "Job position"),
            (
                ("employed", "official"),
                ("employed", "employee"),
                ("inactive", "None"),
                ("unemployed", "None"),
            ),
        ),
        # 000, example 5.1.1
        "compensation": _nominal(
            ("Sex", "Citizenship"),
            tuple((sex, home) for sex in ("female", "male") for home in ("Germany", "Others")),
        ),
        # 001, fig. 5.1
        "extension": _numeric(
            ("x",), tuple((value,) for value in (1, 2, 3, 5, 6, 19, 20, 21, 98, 99, 100))
        ),
        # 003, table 1a; Sex is 0 for F and 1 for M, as in table 1b
        "ehr": _ehr,
        # 003, table 2a
        "fars": _numeric(("AGE", "SEX", "INJ_SEV", "DRINKING"), _FARS, weight=0.25),
    }
)
