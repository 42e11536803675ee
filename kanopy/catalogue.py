"""The table of methods, for people and for the README."""

from __future__ import annotations

import pandas as pd

from kanopy.solvers.registry import all_methods


def methods() -> pd.DataFrame:
    """Every method by name: shape, costs, data kinds, whether exact, whether it bounds, source.

    >>> methods().loc["univariate", ["shape", "costs", "paper"]].tolist()
    ['partition', 'sse', '001, section 4.3']
    """
    rows = [
        {
            "method": method.name,
            "shape": method.shape,
            "costs": ", ".join(method.costs),
            "data": ", ".join(method.kinds),
            "exact": method.exact,
            "bound": method.bound,
            "paper": method.paper,
            "summary": method.summary,
        }
        for method in all_methods().values()
    ]
    return pd.DataFrame(rows).set_index("method")


def methods_markdown() -> str:
    """The table of methods as it stands in the README."""
    table = methods()
    lines = [
        "| method | what it does | costs | exact | bound | source |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {row['summary']} | {row['costs']} | {'yes' if row['exact'] else ''} "
        f"| {'yes' if row['bound'] else ''} | {row['paper']} |"
        for name, row in table.iterrows()
    ]
    return "\n".join(lines)
