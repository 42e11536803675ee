"""001: F. Thaeter, *k-anonymous Microaggregation*, 2021, chapters 5 to 8 and appendices A to C.

The appendices hold every number; the tables of chapters 5 to 7 are extracts and means of them. So
each table is a choice of rows of ``published/thaeter.csv``, and its entries follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

import pandas as pd

from kanopy.experiments.specs import Entry, Experiment, Task, options, parts, published
from kanopy.experiments.thaeter import PUBLISHED, parsed
from kanopy.solvers.heuristics.gain import GRID

GONE = ("cloud1", "cloud2", "winnipeg")
QUICK = {
    "adult-numeric": "adult-numeric rows=600 seed=1",
    "credit": "credit rows=300 seed=1",
    "eia": "eia rows=600 seed=1",
    "census": "census rows=300 seed=1",
    "tarragona": "tarragona rows=300 seed=1",
}
VALUE = {"loss": "information_loss", "seconds": "cpu", "size": "average_size"}
VALUE |= {"gamma": "option:gamma"}
WHAT = {"loss": "Information loss in percent", "seconds": "Seconds"}
WHAT |= {"size": "Average class size", "gamma": "Best gain factor γ"}
DRAWS = 25
"""Simulated tables of each kind."""
LIMIT = 3600.0

SAME = (
    "The same algorithms on the same data: on Census, Tarragona and EIA all 108 losses of the "
    "maximum-distance family agree to the printed digits (table A.1), those of ONA* and ONA*γ "
    "within 1 % or half a printed digit, and the best of 10, 100 and 1000 random runs of LMaS and "
    "ONA within 5.2, 2.9 and 1.5 % (table B.1), half of these within 1 %."
)
STUDY = "`python -m kanopy.experiments.thaeter` compares method by method"
TIES = (
    "Adult's three columns tie massively and the order of ties is not printed, which is worth up "
    "to 1.5 %; Credit Card agrees within 1 %, the Mondrian family to the printed digits "
    f"({STUDY})."
)
CLOCK = (
    "Seconds are those of another machine and language (Java, 4.8 GHz desktop): compare their "
    "growth with n and k, not their size."
)
DRAWN = (
    "SimU and SimC are other draws of the same distributions: means of 25 agree within 2 % "
    f"({STUDY})."
)
NO_DATA = (
    "Cloud1, Cloud2 and Winnipeg are not to be had; their rows show the published values only."
)


@lru_cache(maxsize=1)
def _all() -> pd.DataFrame:
    return pd.read_csv(PUBLISHED, keep_default_na=False)


def chosen(tables: Sequence[str], data: str = "", methods: Sequence[str] = ()) -> pd.DataFrame:
    """Rows of the file, with their labels; a name in ``methods`` may carry its options."""
    frame = _all()
    name = (frame["method"] + " " + frame["options"]).str.strip()
    keep = frame["table"].isin(tables)
    if data:
        keep &= frame["data"] == data
    if methods:
        keep &= name.isin(methods)
    kinds = frame.loc[keep, "measure"].nunique()
    first = frame["data"] if not data else frame["measure"]
    row = first + ": " + name if kinds > 1 or not data else name
    return frame.assign(row=row, column="k = " + frame["k"].astype(str))[keep]


def instances(name: str, quick: bool) -> list[str]:
    """The data set, or its draws."""
    if name in ("simu", "simc"):
        small = {"simu": "simu n=200 seed=0", "simc": "simc clusters=5 seed=0"}
        return [small[name]] if quick else [f"{name} seed={i}" for i in range(DRAWS)]
    return [QUICK.get(name, name) if quick else name]


def entries(rows: Callable[[], pd.DataFrame], quick: bool) -> Iterator[Entry]:
    """Entries of the chosen rows."""
    for row in rows().to_dict("records"):
        data, k = str(row["data"]), int(row["k"])
        given = parsed(str(row["options"]))
        if quick:
            if k != 5 or data in GONE:
                continue
            given |= {"runs": 2} if "runs" in given else {}
        for instance in instances(data, quick):
            tries = [given]
            if row["measure"] == "gamma":
                tries = [{**given, "gamma": gamma} for gamma in (GRID[::10] if quick else GRID)]
            for attempt in tries:
                task = Task(
                    instance,
                    str(row["method"]),
                    k,
                    "sse",
                    options(attempt),
                    seconds=LIMIT,
                    measures=("loss",),
                )
                yield Entry(row["row"], row["column"], task, VALUE[str(row["measure"])])


def _published(rows: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    cells = rows()[["row", "column", "value"]].rename(columns={"value": "published"})
    return cells.drop_duplicates(["row", "column"])  # the appendix repeats ONA* beside MONA


def _made(name: str, title: str, rows: Callable[[], pd.DataFrame], reading: str) -> Experiment:
    data, kinds = set(rows()["data"]), set(rows()["measure"])
    gone = sorted(data & set(GONE))
    return Experiment(
        f"thaeter-{name}",
        title,
        f"001, table {name}",
        lambda quick: list(entries(rows, quick)),
        " ".join([reading, *([NO_DATA] if gone else []), *([CLOCK] if "seconds" in kinds else [])]),
        partial(_published, rows),
        summary="best" if "gamma" in kinds else "mean",
        missing=", ".join(gone),
    )


APPENDIX = {
    "A.1": SAME,
    "A.2": SAME,
    "A.3": TIES,
    "A.4": DRAWN,
    "A.5": SAME,
    "A.6": TIES,
    "A.7": DRAWN,
    "A.8": SAME,
    "A.9": f"{SAME} Neighbouring factors often tie; ours is the least of equals.",
    "B.1": SAME,
    "B.2": SAME,
    "B.3": TIES,
    "B.4": DRAWN,
    "B.5": SAME,
    "B.6": TIES,
    "B.7": DRAWN,
    "B.8": f"{SAME} Neighbouring factors often tie; ours is the least of equals.",
    "C.1": TIES,
    "C.2": TIES,
    "C.3": SAME,
    "C.4": TIES,
    "C.5": TIES,
    "C.6": SAME,
    "8.1": "TFRP and DBA as far as they are described: 19 of 20 losses agree to the printed "
    "digits, TFRP on Tarragona, k = 10, within 0.3 %. EIA was published for another choice of "
    "columns and is left out of TFRP's row.",
    "8.4": "SBM as the thesis implements it: nine of twelve losses agree to the printed digits and "
    "Census, k = 3, within 0.3 %. EIA, k = 3, is 4 % lower; Tarragona, k = 10, is 40.9 against a "
    "printed 32.59, which is below that of MDAV+ and out of line with the row.",
}
"""Tables that stand in the file under their own name, and how they are to be read."""

MAXIMUM = ("md", "mdav", "mdav+", "v-mdav", "mdav*", "mdav*-gamma")
LLOYD = ("mdav+", "mdav*", "mdav*-gamma", "lmas runs=100", "ona runs=100", "ona*", "ona*-gamma")
LLOYD_10 = (*LLOYD[:4], "ona runs=10", *LLOYD[5:])
NEAR_LINEAR = (
    "mondrian",
    "mondrian-v",
    "mondrian-v2d",
    "ona*",
    *tuple(f"{name} rho={rho}" for rho in ("0.3", "0.5", "0.7") for name in ("mona", "mona-2d")),
)
EXTRACTS = {
    "5.4": (("A.1", "A.5", "A.8", "A.9"), "eia", MAXIMUM, SAME),
    "5.5": (("A.3", "A.6", "A.8", "A.9"), "credit", MAXIMUM, TIES),
    "5.6": (("A.4", "A.7", "A.9"), "simc", MAXIMUM, DRAWN),
    "6.6": (("A.1", "A.5", "B.1", "B.5", "B.8"), "eia", LLOYD, SAME),
    "6.7": (("A.3", "A.6", "B.3", "B.6", "B.8"), "credit", LLOYD_10, TIES),
    "6.8": (("A.4", "A.7", "B.4", "B.7", "B.8"), "simc", LLOYD, DRAWN),
    "7.4": (("B.3", "B.6", "C.1", "C.4"), "adult-numeric", NEAR_LINEAR, TIES),
    "7.5": (("B.3", "B.6", "C.2", "C.5"), "credit", NEAR_LINEAR, TIES),
    "7.6": (("C.3", "C.6"), "winnipeg", NEAR_LINEAR, SAME),
}
"""Extracts: tables, data set and methods."""

RATIOS = {
    "5.3": (("A.1", "A.2", "A.3", "A.4"), MAXIMUM),
    "6.2": (("A.1", "A.2", "A.3", "A.4", "B.1", "B.2", "B.3", "B.4"), LLOYD),
    "7.3": (
        ("B.3", "C.1", "C.2", "C.3"),
        ("mondrian", "mondrian-v", "mondrian-v2d", "mona rho=0.5", "mona-2d rho=0.5", "ona*"),
    ),
}
"""Means over all benchmarks."""


def _title(tables: Sequence[str], data: str, methods: Sequence[str]) -> str:
    kinds = dict.fromkeys(chosen(tables, data, methods)["measure"])
    return f"{', '.join(WHAT[str(kind)] for kind in kinds)}: {data}"


def _ratio_entries(name: str, quick: bool) -> list[Entry]:
    tables, methods = RATIOS[name]
    found = entries(lambda: chosen(tables, methods=methods), quick)
    placed = [
        Entry(e.row.partition(": ")[2], f"{parts(e.task.instance)[0]} {e.column}", e.task, e.value)
        for e in found
    ]
    return sorted(placed, key=lambda e: methods.index(e.row))


def _census(method: str, k: int, quick: bool, seed: int = 0, *measures: str) -> Task:
    instance = QUICK["census"] if quick else "census"
    given = options(runs=1) if method in ("lmas", "ona") else options()
    wanted = ("loss", *measures)
    return Task(instance, method, k, "sse", given, seed, LIMIT, measures=wanted)


def _consistency(quick: bool, repetitions: int = 100) -> list[Entry]:
    found = []
    for method in ("mdav*", "lmas", "ona", "ona*"):
        repeated = (3 if quick else repetitions) if method in ("lmas", "ona") else 1
        for seed in range(repeated):
            task = _census(method, 10, quick, seed)
            found.append(Entry(method, "loss", task, "information_loss"))
    return found


def _histogram(quick: bool) -> list[Entry]:
    return [e for e in _consistency(quick, 1000) if e.row in ("lmas", "ona")]


def _rounds(quick: bool) -> list[Entry]:
    found = []
    for k in (5,) if quick else (2, 5, 10):
        for method in ("ona", "ona*", "ona*-gamma"):
            for seed in range((3 if quick else 1000) if method == "ona" else 1):
                task = _census(method, k, quick, seed, "rounds")
                found.append(Entry(method, f"k = {k}", task, "rounds"))
    return found


def _closest(quick: bool) -> list[Entry]:
    found = []
    for k in (5,) if quick else (2, 3, 4, 5, 7, 10):
        for label, given in (("mdav*", options()), ("mdav* closest=cost", options(closest="cost"))):
            instance = QUICK["credit"] if quick else "credit"
            task = Task(instance, "mdav*", k, "sse", given, seconds=LIMIT, measures=("loss",))
            for what, value in (("loss", "information_loss"), ("seconds", "cpu")):
                found.append(Entry(f"{what}: {label}", f"k = {k}", task, value))
    return sorted(found, key=lambda e: e.row)


LIMITED = {"7.7": "C.1", "7.8": "C.2", "7.9": "C.3"}
"""Figures of the split limit ρ, k = 10, and the tables that have their values."""


def _by_limit(table: str, k: int) -> pd.DataFrame:
    """The table's rows for one k: column ρ; those of methods without ρ in every column."""
    rows = chosen([table])
    rows = rows[rows["k"] == k]
    own = rows["options"].str.removeprefix("rho=")
    columns = own.where(own != "", " ".join(dict.fromkeys(own[own != ""]))).str.split()
    return rows.assign(row=rows["method"], column=columns).explode("column")


def _limits(table: str, quick: bool) -> list[Entry]:
    return list(entries(partial(_by_limit, table, 5 if quick else 10), quick))


SUMMARIES = "thaeter_summaries.csv"
_RATIO_READING = (
    "Means of ratios over the benchmark sets that are to be had: without Cloud1 and Cloud2, so "
    "that they may differ by a point or two though every single loss agrees."
)
_WINNIPEG_READING = (
    "Means of ratios over Adult and Credit Card, without Winnipeg, which is not to be had. Those "
    "of ONA*, for which the thesis has none on Winnipeg either, agree to the printed digits; the "
    "others are up to nine points lower, though every single loss agrees."
)

EXPERIMENTS: tuple[Experiment, ...] = (
    *(
        Experiment(
            f"thaeter-{name}",
            "Mean loss of one heuristic in percent of another's",
            f"001, table {name}",
            partial(_ratio_entries, name),
            _WINNIPEG_READING if name == "7.3" else _RATIO_READING,
            published(SUMMARIES, name),
            summary="ratios",
            unit="%",
            missing="winnipeg" if name == "7.3" else "cloud1, cloud2",
        )
        for name in RATIOS
    ),
    Experiment(
        "thaeter-5.7",
        "MDAV* with the closest cluster by cost, Credit Card",
        "001, table 5.7",
        _closest,
        "In the thesis the choice of the closest cluster matters in the last digit only and "
        f"costs a factor of five to ten in time. {CLOCK}",
        published(SUMMARIES, "5.7"),
    ),
    Experiment(
        "thaeter-6.3",
        "Spread of repeated runs, Census, k = 10: information loss in percent",
        "001, table 6.3 (100 runs)",
        _consistency,
        "LMaS and ONA are random: lowest and highest of 100 runs vary from seed to seed, medians "
        "and "
        "means agree within two standard errors. MDAV* and ONA* are deterministic and agree.",
        published(SUMMARIES, "6.3"),
        summary="spread",
        figure="boxes",
        unit="information loss in %",
    ),
    Experiment(
        "thaeter-fig6.4",
        "Losses of 1000 runs of LMaS and ONA, Census, k = 10",
        "001, figure 6.4",
        _histogram,
        "In the thesis almost every run of ONA is below the best of LMaS, and ONA spreads less. So "
        "it is here: 98 % of the runs of ONA are below 13.36 %, the best of LMaS, and their "
        "standard deviation is 0.20 against 0.42.",
        summary="spread",
        figure="histogram",
        unit="information loss in %",
    ),
    Experiment(
        "thaeter-6.5",
        "Mean number of rounds until nothing changes, Census",
        "001, table 6.5 (ONA: 1000 runs)",
        _rounds,
        "The last round, which changes nothing, is not counted; with that reading ONA* agrees.",
        published(SUMMARIES, "6.5"),
    ),
    *(
        _made(
            name,
            _title(tables, data, methods),
            partial(chosen, tables, data, methods),
            reading,
        )
        for name, (tables, data, methods, reading) in EXTRACTS.items()
    ),
    *(
        Experiment(
            f"thaeter-fig{number}",
            f"Information loss in percent by split limit ρ, {chosen([table])['data'].iloc[0]}",
            f"001, figure {number}, with the values of table {table}",
            partial(_limits, table),
            f"{APPENDIX[table]} ONA*, a line in the figure, is in table B.3.",
            partial(_published, partial(_by_limit, table, 10)),
            figure="curves",
            unit="information loss in %",
            missing="winnipeg" if number == "7.9" else "",
        )
        for number, table in LIMITED.items()
    ),
    *(
        _made(name, WHAT[str(chosen([name])["measure"].iloc[0])], partial(chosen, [name]), reading)
        for name, reading in APPENDIX.items()
    ),
)
