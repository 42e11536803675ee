"""What the subcommands do."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from pandas.api.types import is_float_dtype
from rich.console import Console
from rich.table import Table

import kanopy
from kanopy.cli import signals
from kanopy.cli.inputs import Columns, Kept, Question, is_named, names, read_instance
from kanopy.instances.errors import KanopyError
from kanopy.instances.files import check_target, read_table, write_table
from kanopy.instances.microdata import Microdata
from kanopy.plot import check_picture, plot_comparison, save_axes
from kanopy.release import identifiers
from kanopy.solution import Solution
from kanopy.solvers.bounds import lower_bound
from kanopy.solvers.costs import default_cost
from kanopy.solvers.registry import all_methods
from kanopy.solvers.stop import MaxRuntime, relative_gap
from kanopy.solving import solve as solve_instance

console = Console()
progress = Console(stderr=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on the terminal while something takes its time."""
    if progress.is_terminal:
        with progress.status(what):
            yield
    else:
        yield


def solve(
    file: str,
    columns: Columns,
    question: Question,
    quiet: bool,
    output: Path | None,
    plot: Path | None,
    certificate: Path | None,
) -> None:
    """Solve an instance and report objective, bound and gap."""
    if output is not None:
        check_target(output)
    if plot is not None:
        check_picture(plot)
    with working(f"reading {file}"):
        data = read_instance(file, columns)
    solution = answer(data, question, display=not quiet, certificate=certificate)
    if quiet:
        print(solution)
    if output is not None:
        decided = {"class": solution.labels}
        if solution.matches is not None:  # freeform: positions of the k originals it covers
            decided = {f"match {j + 1}": column for j, column in enumerate(solution.matches.T)}
        classes = pd.DataFrame(decided, index=data.frame.index)
        write_table(classes.rename_axis("row").reset_index(), output)
    if plot is not None:
        save_axes(solution.plot(), plot)
    signals.leave_if_interrupted(solution)


def check(path: Path, file: str, backend: str | None = None) -> None:
    """Verify a certificate against its table."""
    from kanopy.certifying import confirm, read_as
    from kanopy.checking import check as check_certificate
    from kanopy.checking import counts
    from kanopy.checking.certificate import from_bytes, parsed, read_content

    content = read_content(path)
    found = parsed(content)
    of_counts = found.get("format") == counts.FORMAT
    certificate = counts.from_json(found) if of_counts else from_bytes(content)
    as_it_is = Columns("", "", "", "", "", "category", False, [])
    with working(f"reading {file}"):
        # of a file, only the columns that the certificate names need to be in order
        named = certificate.columns and not is_named(file)
        data = read_as(certificate, read_table(file) if named else read_instance(file, as_it_is))
    with working("checking"):
        checked: object
        if isinstance(certificate, counts.CountsCertificate):
            checked = (
                counts.check_counts(certificate, data)
                if backend is None
                else confirm(certificate, data, backend)
            )
        else:
            if backend is not None:
                raise KanopyError("a partition's bound is proven here; leave --backend out")
            checked = check_certificate(certificate, data)
    print(f"{certificate.cost}, k = {certificate.k}, {data.n} rows: {checked}")


def different_everywhere(data: Microdata, columns: Sequence[str]) -> list[str]:
    """Those of the columns that look like names: texts or whole numbers that never repeat."""
    return [
        column
        for column in columns
        if data.n > 1 and data.frame[column].nunique() == data.n
        if not is_float_dtype(data.frame[column])
    ]


def warn_of_identifiers(data: Microdata) -> None:
    """Say so if a column looks like names: its values would be published as value sets."""
    for column in different_everywhere(data, (*data.nominal, *data.confidential)):
        print(
            f"warning: {column!r} differs in every row; if it identifies people, "
            f"leave it out with --drop {column}",
            file=sys.stderr,
        )


def anonymize(
    file: str,
    columns: Columns,
    question: Question,
    quiet: bool,
    output: Path,
    kind: str | None,
    kept: Kept,
) -> None:
    """Write the anonymised table."""
    check_target(output)
    with working(f"reading {file}"):
        data = read_instance(file, columns)
    left_out = [] if kept.keep_identifiers else identifiers(data)
    if not (kept.keep_identifiers or columns.numeric or columns.nominal):
        # nobody asked for these to be quasi-identifiers, and value sets would publish them
        guessed = different_everywhere(data, data.nominal)
        if guessed:
            data = read_instance(file, columns, without=guessed)
            left_out = [*guessed, *identifiers(data)]
    warn_of_identifiers(data)
    if left_out:
        print(
            f"left out, as it differs in every row: {', '.join(left_out)} "
            "(a role or --keep-identifiers keeps it)",
            file=sys.stderr,
        )
    solution = answer(data, question, display=not quiet)
    release = solution.release(
        kind, shuffle=kept.shuffle, seed=question.seed, keep_order=kept.keep_order
    ).drop(columns=left_out, errors="ignore")
    promise = f"{question.k}-anonymous"
    if solution.matches is None:
        kanopy.verify(data, release, k=question.k)
    else:  # what a freeform release promises was verified with the solution
        promise = f"freeform (each covers {question.k} originals, but they are not k-anonymous)"
    write_table(release, output, escape_formulas=kept.escape_formulas)
    console.print(f"wrote {len(release)} rows, {promise}, to {output}", highlight=False)
    signals.leave_if_interrupted(solution)


def answer(
    data: Microdata, question: Question, display: bool, certificate: Path | None = None
) -> Solution:
    """Solve as asked on the command line."""
    return solve_instance(
        data,
        question.k,
        question.method,
        cost=question.cost,
        stop=None if question.time is None else MaxRuntime(question.time),
        seed=question.seed,
        options=question.parsed_options(),
        display=display,
        certificate=certificate,
        apart=question.apart,
    )


def compare(
    file: str,
    columns: Columns,
    k: int,
    methods: str,
    cost: str | None,
    seconds: float,
    seed: int,
    plot: Path | None,
) -> None:
    """Run several methods on one table and compare them."""
    if plot is not None:
        check_picture(plot)
    with working(f"reading {file}"):
        data = read_instance(file, columns)
    chosen = names(methods) or fitting_methods(data, cost)
    solutions = []
    for name in chosen:
        with working(f"{name} on {data.name}"):
            solutions.append(
                solve_instance(data, k, name, cost=cost, stop=MaxRuntime(seconds), seed=seed)
            )
    bound = best_bound(solutions)
    console.print(comparison(f"{data.name}: {data.n} rows, k = {k}", solutions, bound))
    if plot is not None:
        save_axes(plot_comparison(solutions, bound), plot)


def fitting_methods(data: Microdata, cost: str | None) -> list[str]:
    """Partition methods for this kind of data and cost, except aliases of others."""
    wanted = cost or default_cost(data)
    several = data.X.shape[1] != 1 or data.kind != "numeric"
    return [
        method.name
        for method in all_methods().values()
        if method.shape == "partition"
        and data.kind in method.kinds
        and wanted in method.costs
        and method.name != "auto"
        and not (several and method.name == "univariate")
    ]


def best_bound(solutions: list[Solution]) -> float:
    """The best lower bound known for one problem: a method's, or the nearest-neighbour bound."""
    first = solutions[0]
    bounds = [s.bound for s in solutions if s.bound is not None]
    return max([*bounds, lower_bound(first.data, first.k, first.cost)])


def comparison(title: str, solutions: list[Solution], bound: float) -> Table:
    """Solutions of one problem, best first, with their gap to the best bound."""
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    for heading in (solutions[0].cost, "bound", "gap", "classes", "time"):
        table.add_column(heading, justify="right")
    for solution in sorted(solutions, key=lambda s: s.objective):
        table.add_row(
            solution.method,
            f"{solution.objective:.4f}",
            *(
                ("", "", "freeform")  # the bound is one of partitions
                if solution.matches is not None
                else (
                    f"{bound:.4f}",
                    f"{100 * relative_gap(solution.objective, bound):.2f} %",
                    str(len(solution.sizes)),
                )
            ),
            f"{solution.runtime:.2f} s",
        )
    return table


def evaluate(
    original: str, release: Path, columns: Columns, k: int | None, control: int | None
) -> None:
    """Measure what a release lost and what it still reveals."""
    with working(f"reading {original} and {release}"):
        data = read_instance(original, columns)
        released = read_table(release)
    with working("measuring"):
        report = kanopy.evaluate(data, released, control=control)
    table = Table(title=f"{release} against {original}", title_justify="left")
    table.add_column("measure")
    table.add_column("value", justify="right")
    for name, value in report.rows_of_text():
        table.add_row(name, value)
    console.print(table)
    if k is not None:
        kanopy.verify(data, released, k=k)


def methods() -> None:
    """List every method."""
    table = Table()
    for heading in ("method", "what it does", "costs", "exact", "bound", "source"):
        table.add_column(heading)
    for method in all_methods().values():
        table.add_row(
            method.name,
            method.summary,
            ", ".join(method.costs),
            "yes" if method.exact else "",
            "yes" if method.bound else "",
            method.paper,
        )
    console.print(table)


def list_data() -> None:
    """List the named data sets and whether they are at hand."""
    frame = kanopy.datasets()
    table = Table()
    for heading in frame.columns:
        table.add_column(str(heading))
    for row in frame.itertuples(index=False):
        table.add_row(*[("yes" if v else "no") if isinstance(v, bool) else str(v) for v in row])
    console.print(table)


def fetch(name: str, folder: Path | None) -> None:
    """Download a data set and check it."""
    from kanopy.instances.fetch import fetch as download

    with working(f"fetching {name}"):
        path = download(name, folder)
    console.print(f"{name} is at {path}", highlight=False)


def compile_kernels() -> None:
    """Compile all kernels."""
    from kanopy.warming import compile_all

    began = time.perf_counter()
    with working("compiling"):
        compile_all()
    print(f"all kernels are compiled, after {time.perf_counter() - began:.0f} s")


def versions() -> None:
    """Print the versions that a bug report should name."""
    print(f"kanopy {kanopy.__version__}")
    print(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    packages = ("numpy", "scipy", "pandas", "numba", "pyomo", "highspy", "gurobipy", "pyscipopt")
    for package in (*packages, "ortools"):
        try:
            print(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{package} not installed")
