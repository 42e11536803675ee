"""The ``kanopy`` command: one function per subcommand, each a thin layer over the Python API."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kanopy.cli import inputs

PANELS = {
    "Your tables": ("anonymize", "evaluate", "compare", "solve", "check"),
    "Research": ("methods", "experiment", "report", "data"),
    "Installation": ("demo", "compile", "versions"),
}
"""What a newcomer needs first stands first in ``--help``."""


class Ordered(TyperGroup):
    """Commands by panel, in the order above."""

    def list_commands(self, ctx: Any) -> list[str]:
        for panel, names in PANELS.items():
            for name in names:
                self.commands[name].rich_help_panel = panel  # type: ignore[attr-defined]
        listed = [name for names in PANELS.values() for name in names]
        return [*listed, *(name for name in self.commands if name not in listed)]


app = typer.Typer(
    name="kanopy",
    help="k-anonymity by optimisation: the least-damaging k-anonymous version of a table, "
    "and how far from optimal it can be.",
    epilog="See several methods at work: `kanopy demo`\n\n"
    "Solve twenty rows that come with kanopy: `kanopy solve example:fars -k 3`\n\n"
    "Anonymise a table of yours: `kanopy anonymize people.csv -k 3 --numeric age "
    "--nominal sex,region --confidential illness --drop name -o safe.csv`\n\n"
    "See what that lost: `kanopy evaluate people.csv safe.csv -k 3 --numeric age "
    "--nominal sex,region --confidential illness`\n\n"
    "More about a command: `kanopy anonymize --help`",
    no_args_is_help=True,
    cls=Ordered,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
data_app = typer.Typer(help="Named data sets: `list`, `fetch`.", no_args_is_help=True)
app.add_typer(data_app, name="data")

File = Annotated[
    str, typer.Argument(help="CSV or Parquet file, a data set like census, or example:fars")
]
K = Annotated[int, typer.Option("-k", help="least size of a class", min=1)]
MethodName = Annotated[str, typer.Option("--method", "-m", help="see `kanopy methods`")]
CostName = Annotated[str | None, typer.Option("--cost", help="sse, hamming or range")]
Seconds = Annotated[float | None, typer.Option("--time", "-t", help="time limit in seconds")]
Seed = Annotated[int, typer.Option(help="source of all randomness")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", help="option of the method, as name=value; repeatable"),
]
Numeric = Annotated[
    str,
    typer.Option(
        help='numeric quasi-identifiers, separated by commas (a name with a comma in "…")'
    ),
]
Nominal = Annotated[str, typer.Option(help="nominal quasi-identifiers, separated by commas")]
Confidential = Annotated[str, typer.Option(help="confidential columns, separated by commas")]
Strata = Annotated[str, typer.Option(help="column that no class may cross")]
Weights = Annotated[str, typer.Option(help="weights, as column=weight,column=weight")]
Missing = Annotated[str, typer.Option(help="missing values: error, drop or category")]
Raw = Annotated[bool, typer.Option("--raw", help="do not standardise numeric columns")]
Trees = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy", help="tree of a nominal column's values, as column=FILE; repeatable"
    ),
]
Apart = Annotated[
    bool,
    typer.Option("--apart", help="in a process of its own, which may crash or hang without harm"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no table of progress")]


@app.callback()
def common(
    context: typer.Context,
    show_values: Annotated[
        bool,
        typer.Option("--show-values", help="let errors show cells of the original table"),
    ] = False,
) -> None:
    """k-anonymity by optimisation: the least-damaging k-anonymous version of a table."""
    if show_values:
        from kanopy.instances.errors import showing_values

        context.with_resource(showing_values())


@app.command()
def solve(
    file: File,
    k: K,
    method: MethodName = "auto",
    cost: CostName = None,
    time: Seconds = None,
    seed: Seed = 0,
    option: Settings = None,
    numeric: Numeric = "",
    nominal: Nominal = "",
    confidential: Confidential = "",
    strata: Strata = "",
    weights: Weights = "",
    missing: Missing = "error",
    raw: Raw = False,
    hierarchy: Trees = None,
    apart: Apart = False,
    quiet: Quiet = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="write the class of each row to this CSV or Parquet"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="draw objective and bound over time into this PNG, SVG or PDF"),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(help="write a proof that `kanopy check` verifies to this .json or .json.gz"),
    ] = None,
) -> None:
    """Solve an instance and report objective, bound and gap."""
    from kanopy.cli import commands

    columns = inputs.Columns(
        numeric, nominal, confidential, strata, weights, missing, raw, hierarchy or []
    )
    question = inputs.Question(k, method, cost, time, seed, option or [], apart)
    commands.solve(file, columns, question, quiet, output, plot, certificate)


@app.command()
def anonymize(
    file: File,
    k: K,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV or Parquet to write")],
    method: MethodName = "auto",
    cost: CostName = None,
    time: Seconds = None,
    seed: Seed = 0,
    option: Settings = None,
    numeric: Numeric = "",
    nominal: Nominal = "",
    confidential: Confidential = "",
    strata: Strata = "",
    weights: Weights = "",
    missing: Missing = "error",
    raw: Raw = False,
    hierarchy: Trees = None,
    apart: Apart = False,
    quiet: Quiet = False,
    kind: Annotated[
        str | None,
        typer.Option(
            help="centroids, ranges, members, counts or freeform; by default as cost and method are"
        ),
    ] = None,
    drop: Annotated[str, typer.Option(help="columns to leave out, such as names")] = "",
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="random row order, so that it tells nothing")
    ] = False,
    escape_formulas: Annotated[
        bool,
        typer.Option("--escape-formulas", help="CSV: texts that spreadsheets would run get a '"),
    ] = False,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="rows in the original's order, not sorted by content"),
    ] = False,
    keep_identifiers: Annotated[
        bool,
        typer.Option(
            "--keep-identifiers",
            help="also columns that differ in every row and have no given role",
        ),
    ] = False,
) -> None:
    """Write the anonymised version of a table.

    Name the columns that somebody may know from elsewhere, such as age, sex or place: `--numeric`
    and `--nominal`. They are made alike in classes of at least k rows. Without these options all
    columns are. Columns that nobody shall learn, such as an illness, are `--confidential`; they and
    all others stay as they are, so `--drop` names.
    """
    from kanopy.cli import commands

    columns = inputs.Columns(
        numeric, nominal, confidential, strata, weights, missing, raw, hierarchy or [], drop
    )
    question = inputs.Question(k, method, cost, time, seed, option or [], apart)
    kept = inputs.Kept(shuffle, escape_formulas, keep_order, keep_identifiers)
    commands.anonymize(file, columns, question, quiet, output, kind, kept)


@app.command()
def compare(
    file: File,
    k: K,
    methods: Annotated[str, typer.Option(help="methods, separated by commas")] = "",
    cost: CostName = None,
    time: Annotated[float, typer.Option("--time", "-t", help="seconds for each method")] = 60,
    seed: Seed = 0,
    numeric: Numeric = "",
    nominal: Nominal = "",
    confidential: Confidential = "",
    strata: Strata = "",
    weights: Weights = "",
    missing: Missing = "error",
    raw: Raw = False,
    hierarchy: Trees = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="draw the comparison into this PNG, SVG or PDF"),
    ] = None,
) -> None:
    """Run several methods on one table and compare objective, bound, gap and time."""
    from kanopy.cli import commands

    columns = inputs.Columns(
        numeric, nominal, confidential, strata, weights, missing, raw, hierarchy or []
    )
    commands.compare(file, columns, k, methods, cost, time, seed, plot)


@app.command()
def evaluate(
    original: File,
    release: Annotated[Path, typer.Argument(help="the anonymised CSV or Parquet file")],
    k: Annotated[
        int | None,
        typer.Option("-k", help="fail unless every class has this many rows"),
    ] = None,
    control: Annotated[
        int | None,
        typer.Option(help="compare frequency tables up to this dimension"),
    ] = None,
    numeric: Numeric = "",
    nominal: Nominal = "",
    confidential: Confidential = "",
    strata: Strata = "",
    weights: Weights = "",
    missing: Missing = "error",
    raw: Raw = False,
    hierarchy: Trees = None,
) -> None:
    """Measure what a release lost and what it still reveals."""
    from kanopy.cli import commands

    columns = inputs.Columns(
        numeric, nominal, confidential, strata, weights, missing, raw, hierarchy or []
    )
    commands.evaluate(original, release, columns, k, control)


@app.command()
def check(
    certificate: Annotated[Path, typer.Argument(help="file that `solve --certificate` wrote")],
    file: File,
    backend: Annotated[
        str | None,
        typer.Option(help="counts: have highs, scip, cpsat or gurobi prove the bound again"),
    ] = None,
) -> None:
    """Verify a certificate in exact arithmetic, without the engine that wrote it."""
    from kanopy.cli import commands

    commands.check(certificate, file, backend)


@app.command()
def methods() -> None:
    """List every method."""
    from kanopy.cli import commands

    commands.methods()


@data_app.command("list")
def list_data() -> None:
    """List the named data sets and whether they are at hand."""
    from kanopy.cli import commands

    commands.list_data()


@data_app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="a name from `kanopy data list`")],
    folder: Annotated[
        Path | None,
        typer.Option(help="where to keep it; by default the user's cache"),
    ] = None,
) -> None:
    """Download a data set and check it."""
    from kanopy.cli import commands

    commands.fetch(name, folder)


StorePath = Annotated[Path, typer.Option(help="file of results, made if there is none")]
Quick = Annotated[bool, typer.Option("--quick", help="tiny instances: does it work at all?")]
Older = Annotated[
    bool, typer.Option("--accept-older", help="take results of other versions of the code, too")
]
RESULTS = Path("kanopy-results.sqlite")


@app.command()
def experiment(
    names: Annotated[
        list[str],
        typer.Argument(help="`list`, `all`, names like gentile-3, or how they begin: thaeter-A"),
    ],
    store: StorePath = RESULTS,
    quick: Quick = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="processes", min=1)] = 1,
    dask: Annotated[
        str | None, typer.Option(help="run on Dask: a scheduler's address, or `local`")
    ] = None,
    accept_older: Older = False,
    retry: Annotated[bool, typer.Option("--retry", help="run what failed before again")] = False,
) -> None:
    """Reproduce published tables and figures; stop and resume at any moment."""
    from kanopy.cli import experiments

    if names == ["list"]:
        experiments.listing(store, accept_older)
    else:
        experiments.run(names, store, quick, jobs, dask, accept_older, retry)


@app.command()
def report(
    names: Annotated[
        list[str] | None, typer.Argument(help="experiments to show; all by default")
    ] = None,
    store: StorePath = RESULTS,
    output: Annotated[Path, typer.Option("--output", "-o", help="folder to write to")] = Path(
        "kanopy-report"
    ),
    quick: Quick = False,
    accept_older: Older = False,
) -> None:
    """Write one page with every table and figure, published and ours side by side."""
    from kanopy.cli import experiments

    experiments.report(store, output, names or ["all"], quick, accept_older)


@app.command("compile")
def compile_kernels() -> None:
    """Compile all kernels now, once after an installation, so that no later run waits for them."""
    from kanopy.cli import commands

    commands.compile_kernels()


@app.command()
def versions() -> None:
    """Print the versions that a bug report should name."""
    from kanopy.cli import commands

    commands.versions()


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="picture to write (PNG, SVG or PDF)")
    ] = Path("kanopy-demo.png"),
) -> None:
    """Solve synthetic tables by several methods, and draw how far from optimal each can be."""
    from kanopy.cli import demo as demonstration

    demonstration.demo(output)


def main() -> None:
    """Entry point: errors a user can put right become one line and exit code 2."""
    from kanopy.cli import signals
    from kanopy.instances.errors import KanopyError

    signals.install()
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    try:
        app()
    except SystemExit as end:
        if signals.came() and end.code in (1, 130):  # typer's own answer to an interruption
            print("interrupted before a first solution", file=sys.stderr)
            sys.exit(signals.exit_code())
        raise
    except KanopyError as error:
        from kanopy.checking.certificate import CertificateError
        from kanopy.verification import VerificationError

        failed = isinstance(error, VerificationError | CertificateError)
        print(f"{'verification failed' if failed else 'error'}: {error}", file=sys.stderr)
        sys.exit(1 if failed else 2)
    except KeyboardInterrupt:
        print("interrupted before a first solution", file=sys.stderr)
        sys.exit(signals.exit_code())
