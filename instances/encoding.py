"""Categories as numbers: the two encodings of 003, section 2.5.

Without either, the cost ``range`` charges a nominal column by its value sets (definition 8).
"""

from __future__ import annotations

import numpy as np

from kanopy.instances.microdata import Domain, Microdata


def numbered(data: Microdata) -> Microdata:
    """Every nominal column as a numeric one, its categories numbered from 0 in their order.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"sex": list("mfm")}))
    >>> numbered(data).frame["sex"].tolist()
    [1, 0, 1]
    """
    frame = data.frame
    domains: dict[str, Domain] = {n: d for n, d in data.domains.items() if n in data.numeric}
    for j, name in enumerate(data.nominal):
        frame[name] = data.codes[:, j]
        domains[name] = (0, max(int(data.domain_sizes[j]) - 1, 0))
    return Microdata.from_frame(
        frame,
        numeric=data.quasi_identifiers,
        confidential=data.confidential,
        strata=data.strata,
        weights=dict(zip((*data.numeric, *data.nominal), data.weights.tolist(), strict=True)),
        domains=domains,
        standardize=False,
        name=data.name,
    )


def expanded(data: Microdata) -> Microdata:
    """Every nominal column as 0/1 columns, one per category, of weight w/|H| each.

    A class of d ≥ 2 categories then pays w·d/|H| instead of the w·(d − 1)/|H| of definition 8.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"job": list("abc")}))
    >>> expanded(data).frame.columns.tolist(), expanded(data).weights.round(3).tolist()
    (['job = a', 'job = b', 'job = c'], [0.333, 0.333, 0.333])
    """
    frame = data.frame
    names = list(data.numeric)
    weights = dict(zip(data.numeric, data.numeric_weights.tolist(), strict=True))
    domains: dict[str, Domain] = {n: d for n, d in data.domains.items() if n in data.numeric}
    for j, name in enumerate(data.nominal):
        for code, value in enumerate(data.categories[j]):
            column = f"{name} = {value}"
            frame[column] = (data.codes[:, j] == code).astype(np.int64)
            weights[column] = float(data.nominal_weights[j]) / int(data.domain_sizes[j])
            domains[column] = (0, 1)
            names.append(column)
    return Microdata.from_frame(
        frame.drop(columns=list(data.nominal)),
        numeric=names,
        confidential=data.confidential,
        strata=data.strata,
        weights=weights,
        domains=domains,
        standardize=False,
        name=data.name,
    )
