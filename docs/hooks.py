"""Pages that mkdocs builds from the code itself: the registry, docstrings, and real runs.

A method's page has four parts: the problem, the maths, the code, and the result, which is what the
code printed when the site was built. ``KANOPY_DOCS_RUN=0`` leaves the runs out, for a quick look.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from docstrings import inline, markdown  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402

import kanopy as kn  # noqa: E402
from kanopy.solvers.registry import Method, all_methods  # noqa: E402

RUN = os.environ.get("KANOPY_DOCS_RUN", "1") != "0"

PROBLEMS = {
    "partition": "Put the rows of a table into classes of at least k rows, so that what is lost "
    "when the rows of a class become alike is least.",
    "frequency": "Publish new counts of the combinations of values that occur in a table, none of "
    "them between 1 and k − 1, so that the frequency tables one would make of it change least.",
    "representatives": "Put the rows into classes of at least k and let one member of each stand "
    "for all of its class, so that the frequency tables one would make of it change least.",
    "freeform": "Generalise every row so that it covers k of the original ones, and every original "
    "is covered by k. No two rows need be alike: the release is *not* k-anonymous in the usual "
    "sense.",
}

MATHS = {
    "sse": r"\mathrm{sse} = \sum_{C}\sum_{i\in C}\sum_j w_j\,(x_{ij}-\bar x_{Cj})^2,\qquad"
    r"\bar x_{Cj} = \frac1{|C|}\sum_{i\in C} x_{ij}",
    "hamming": r"\mathrm{hamming} = \sum_{C}\;\sum_{\{i,l\}\subseteq C}\sum_j w_j\,"
    r"[x_{ij}\ne x_{lj}]",
    "range": r"\mathrm{range} = \sum_{C} |C| \sum_j w_j\,\ell_j(C),\qquad \ell_j(C) = \begin{cases}"
    r"\dfrac{\max_{i\in C}x_{ij}-\min_{i\in C}x_{ij}}{U_j-L_j} & \text{numbers}\\[2ex]"
    r"\dfrac{|\{x_{ij}: i\in C\}|-1}{|D_j|} & \text{categories}\end{cases}",
    "max-error": r"\max_t\;\bigl(|(Ay^0-Ay)_t| - g_t\bigr) + w\sum_i |y_i-y^0_i|,\qquad"
    r"y_i\in\{0\}\cup\{k,k+1,\dots\}",
    "chi2": r"\chi^2 = \sum_t \frac{\bigl((Ay^0-Ay)_t\bigr)^2}{(Ay^0)_t} + w\sum_i|y_i-y^0_i|",
}

DATA = {
    "numeric": 'data = kn.example("fars")  # twenty rows of paper 003',
    "one column": 'data = kn.example("extension")  # eleven values of paper 001',
    "nominal": 'data = kn.generate("synthetic", n=60, p=0.2, k=3, seed=1)  # as in paper 000',
}

PAPERS = {
    "000": "V. C. Cost, *An Integer Optimization Approach to k-Anonymity on Nominal Data*, PhD "
    "thesis, Trier 2023",
    "001": "F. Thaeter, *k-anonymous Microaggregation*, PhD thesis, Lübeck 2021",
    "002": "C. Gentile, E. Spagnolo-Arrizabalaga, J. Castro, *An Algorithm for the Microaggregation"
    " Problem Using Column Generation*, IASI-CNR R. 20-02, 2020",
    "003": "Y. Liang, R. Samavi, *Optimization-Based k-Anonymity Algorithms*, 2020",
}

MODELS = {
    "aggregation": ("nominal", "labels=start.labels, control=2"),
    "auxiliary": ("nominal", "duals=np.full(data.n, 2.0)"),
    "center-lp": ("one column", ""),
    "chi-ex": ("nominal", "control=2"),
    "master": ("one column", ""),
    "msafe": ("nominal", "control=2"),
    "pairwise": ("one column", ""),
    "pricing-edge": ("one column", "duals=np.full(data.n, 2.0)"),
    "pricing-node-edge": ("nominal", "duals=np.full(data.n, 2.0)"),
    "safe-basic": ("nominal", "control=2"),
    "sse-nonlinear": ("one column", ""),
}


FURTHER = {"branch-and-price": "kanopy.solvers.branch_and_price.engine"}
"""Where the text behind a method stands if not in its own module."""


def on_config(config: Any) -> None:
    """Put the generated pages into the navigation."""
    wanted = {
        "methods/*": ["methods/index.md", *(f"methods/{slug(name)}.md" for name in all_methods())],
        "models/*": ["models/index.md", *(f"models/{name}.md" for name in MODELS)],
    }
    for section in config.nav:
        for title, pages in section.items():
            if isinstance(pages, str) and pages in wanted:
                section[title] = wanted[pages]


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Search without a server needs a script that the theme would load from the network."""
    above = "../" * page.url.count("/")
    return output.replace(
        "https://unpkg.com/iframe-worker/shim", f"{above}assets/iframe-worker-shim.js"
    )


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The same for the page of errors, which lies at the top."""
    return output_content.replace(
        "https://unpkg.com/iframe-worker/shim", "assets/iframe-worker-shim.js"
    )


def pages() -> Any:
    """Every generated page: its path and Markdown."""
    yield "methods/index.md", methods_index()
    for method in all_methods().values():
        yield f"methods/{slug(method.name)}.md", method_page(method)
    yield "models/index.md", models_index()
    for name in MODELS:
        yield f"models/{name}.md", model_page(name)
    for script in sorted((HERE / "tutorials").glob("*.py")):
        yield f"tutorials/{script.stem}.md", tutorial(script.read_text())
    yield "papers.md", papers()
    yield "benchmarks.md", benchmarks()
    yield "reference/api.md", api()
    yield "reference/command_line.md", command_line()


def slug(name: str) -> str:
    """A method's name as a file name."""
    return name.replace("*", "-star").replace("+", "-plus")


def executed(code: str, names: dict[str, Any]) -> str:
    """What code prints, in a folder of its own."""
    if not RUN:
        return "(not run)"
    out = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
    ):
        exec(compile(code, "<docs>", "exec"), names)
    return out.getvalue().rstrip()


def fenced(language: str, text: str) -> str:
    """A code block."""
    lines = text.strip("\n").rstrip()
    return f"```{language}\n{lines}\n```\n"


def source_of(module: str) -> str:
    """Path of a module in the repository."""
    path = module.removeprefix("kanopy.").replace(".", "/")
    top = path.split("/")[0]
    return f"{path}.py" if top in ("instances", "models", "solvers", "experiments") else module


def formula(cost: str) -> str:
    """A cost as displayed maths."""
    return f"\\[\n{MATHS[cost]}\n\\]\n"


def method_code(method: Method) -> str:
    """A small run of a method, as a user would write it."""
    kind = method.kinds[0]
    data = DATA["one column" if method.name == "univariate" else kind]
    arguments = [f'method="{method.name}"']
    lines = ["import kanopy as kn", "", data]
    if method.costs[0] not in ("sse", "hamming", "range"):
        arguments.append("control=2")
    elif method.costs == ("range",):
        arguments.append('cost="range"')
    if method.name.startswith("aggregation-"):
        lines.append('start = kn.solve(data, k=3, method="ils", stop=kn.MaxIterations(2000))')
        arguments.append("initial=start")
    arguments.append("stop=kn.MaxRuntime(2)")
    lines.append(f"s = kn.solve(data, k=3, {', '.join(arguments)})")
    lines += ["print(s)", "print(s.release().head(4).to_string())"]
    return "\n".join(lines)


def method_page(method: Method) -> str:
    """The problem, the maths, the code, the result."""
    module = importlib.import_module(method.run.__module__)
    code = method_code(method)
    flags = [
        ("what", "this method"),
        ("shape", method.shape),
        ("costs", ", ".join(f"`{cost}`" for cost in method.costs)),
        ("data", ", ".join(method.kinds)),
        ("exact", "yes, given time" if method.exact else "no"),
        ("gives a bound", "yes" if method.bound else "no"),
        ("source", method.paper or "kanopy"),
        ("code", f"`{source_of(method.run.__module__)}`"),
    ]
    labels = getattr(module, f"{slug(method.name).replace('-', '_')}_labels", None)
    described = [module.__doc__, labels.__doc__ if labels else method.run.__doc__]
    if method.name in FURTHER:
        described.append(importlib.import_module(FURTHER[method.name]).__doc__)
    parts = [
        f"# {inline(method.name)}\n",
        f"{inline(method.summary[0].upper() + method.summary[1:])}.\n",
        table(*flags) + "\n",
        f"## The problem\n\n{PROBLEMS[method.shape]} "
        "See [concepts](../concepts.md) for shapes, costs and bounds.\n",
        "## The maths\n",
        *(formula(cost) for cost in method.costs),
        *(markdown(text) + "\n" for text in described if text),
        "## The code\n",
        fenced("python", code),
        options_table(method.options),
        "## The result\n",
        fenced("text", executed(code, {})),
    ]
    return "\n".join(parts)


def table(*rows: tuple[str, ...]) -> str:
    """A Markdown table; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def options_table(options: type) -> str:
    """Options with their defaults, and what their docstring says."""
    fields = dataclasses.fields(options)
    if not fields:
        return "The method has no options.\n"
    rows = []
    for field in fields:
        default = None if field.default is dataclasses.MISSING else field.default
        rows.append((f"`{field.name}`", f"`{default!r}`"))
    inherited = [c for c in reversed(options.__mro__[:-1]) if "Attributes" in (c.__doc__ or "")]
    notes = [markdown(c.__doc__) for c in inherited]
    shown = table(("option", "default"), *rows)
    return "\n".join(["Options, given as `options={…}`:\n", shown, "", *notes, ""])


def methods_index() -> str:
    """Every method in one table."""
    rows = [
        f"| [{inline(m.name)}]({slug(m.name)}.md) | {inline(m.summary)} | {', '.join(m.costs)} "
        f"| {'yes' if m.exact else ''} | {'yes' if m.bound else ''} | {m.paper} |"
        for m in all_methods().values()
    ]
    head = (
        "# Methods\n\n`auto` chooses one by kind of data, cost and size. *Exact* methods prove "
        "optimality given time; a *bound* is a proven lower bound of the cost.\n\n"
        "| method | what it does | costs | exact | bound | source |\n|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


def model_module(name: str) -> Any:
    """Module of a model."""
    return importlib.import_module(f"kanopy.models.{name.replace('-', '_')}")


def first_line(docstring: str | None) -> str:
    """First sentence of a docstring, on one line."""
    return inspect.cleandoc(docstring or "").split("\n\n")[0].replace("\n", " ")


def models_index() -> str:
    """Every model in one table."""
    rows = [
        f"| [{name}]({name}.md) | {inline(first_line(model_module(name).__doc__))} |"
        for name in MODELS
    ]
    return (
        "# Models\n\nEach model is a Pyomo model with stable component names, built by "
        "`kn.build(name, data, k, …)`. They are the specification: the methods are tested against "
        "them.\n\n| model | what it is |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def model_page(name: str) -> str:
    """The problem, the maths, the code, the result."""
    module = model_module(name)
    kind, arguments = MODELS[name]
    first, _, rest = inspect.cleandoc(module.__doc__).partition("\n\n")
    lines = ["import pyomo.environ as pyo", "", "import kanopy as kn"]
    if "np." in arguments:
        lines.insert(0, "import numpy as np")
    if name != "sse-nonlinear":  # no back-end here takes it
        lines += [
            "from kanopy.models.extract import extract",
            "from kanopy.solvers.backends.choice import default_backend",
            "from kanopy.solvers.backends.protocol import Limits",
        ]
    lines += ["", DATA[kind].replace("n=60", "n=20")]
    if "start" in arguments:
        lines.append('start = kn.solve(data, k=3, method="random")')
    given = f", {arguments}" if arguments else ""
    lines += [
        f'model = kn.build("{name}", data, k=3{given})',
        'print(model.nvariables(), "variables,", model.nconstraints(), "constraints")',
        "for part in model.component_objects(pyo.Var):",
        '    print(f"{part.name}: {len(part)} variables")',
    ]
    if name != "sse-nonlinear":
        lines += [
            "",
            "program = extract(model).form",
            "answer = default_backend(program).solve(program, Limits(seconds=3))",
            'print(f"{answer.status}: {answer.objective:.6g}, bound {answer.bound:.6g}")',
        ]
    code = "\n".join(lines)
    return "\n".join(
        [
            f"# {name}\n",
            f"## The problem\n\n{inline(first.replace(chr(10), ' '))}\n",
            f"## The maths\n\n{markdown(rest)}\n",
            "## The code\n",
            fenced("python", code),
            f"Source: `{source_of(module.__name__)}`.\n",
            "## The result\n",
            fenced("text", executed(code, {})),
        ]
    )


def tutorial(script: str) -> str:
    """A script with Markdown cells as a page, with what each step prints."""
    names: dict[str, Any] = {}
    parts = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for kind, text in re.findall(r"# %%( \[markdown\])?\n(.*?)(?=# %%|\Z)", script, re.DOTALL):
            if kind:
                parts.append(re.sub(r"^# ?", "", text.strip(), flags=re.MULTILINE) + "\n")
                continue
            parts.append(fenced("python", text))
            out = io.StringIO()
            if RUN:
                with contextlib.redirect_stdout(out):
                    exec(compile(text, "<tutorial>", "exec"), names)
            if out.getvalue():
                parts.append(
                    f'<div class="out" markdown>\n\n{fenced("text", out.getvalue())}\n</div>\n'
                )
    return "\n".join(parts)


def path_of(module: str) -> str:
    """The file of a module, with places where a narrow column may break it."""
    broken = re.sub("([/_])", r"\1<wbr>", source_of(module))
    return f"<code>{broken}</code>"


def papers() -> str:
    """From the papers to the code."""
    from kanopy.experiments.catalogue import catalogue

    experiments = catalogue()
    parts = [
        "# From the papers to the code\n",
        "Where each algorithm, model and table of the four papers is. `kanopy experiment NAME` "
        "reproduces a table or figure, see [the tutorial](tutorials/reproduce_table.md).\n",
    ]
    for number, title in PAPERS.items():
        parts.append(f"## {number}\n\n{title}.\n")
        rows = [
            f"| {inline(m.paper)} | method [{inline(m.name)}](methods/{slug(m.name)}.md) "
            f"| {path_of(m.run.__module__)} |"
            for m in all_methods().values()
            if number in m.paper
        ]
        rows += [
            f"| {inline(first_line(model_module(name).__doc__))} | model [{name}](models/{name}.md)"
            f" | {path_of(model_module(name).__name__)} |"
            for name in MODELS
            if f"({number}," in model_module(name).__doc__.replace("\n", " ").split("::")[0]
        ]
        parts.append("| where | what | code |\n|---|---|---|\n" + "\n".join(rows) + "\n")
        shown = [e for e in experiments if e.source.startswith(number)]
        parts.append(
            "| table or figure | experiment | what |\n|---|---|---|\n"
            + "\n".join(f"| {e.source} | `{e.name}` | {inline(e.title)} |" for e in shown)
            + "\n"
        )
    return "\n".join(parts)


def benchmarks() -> str:
    """The best known solutions that are kept, and the speeds that are promised."""
    from kanopy.archive import FOLDER
    from kanopy.experiments.bench_branch_and_price import proofs_markdown
    from kanopy.experiments.benchmarks import BENCHMARKS

    kept = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
    best = [
        f"| {b['name'].replace(' ', '&nbsp;')} | {b['rows']} | {b['k']} | {b['cost']} "
        f"| {b['objective']:.7g} | {b['bound']:.7g} "
        f"| {100 * (1 - b['bound'] / b['objective']):.3f} | {b['method']} |"
        for b in kept
    ]
    promised = [
        f"| {inline(b.name)} | {abs(b.limit):g} {b.unit} | {b.published} |" for b in BENCHMARKS
    ]
    code = "\n".join(
        [
            "import kanopy as kn",
            "",
            'data = kn.generate("simu", n=60, seed=1)',
            'bound = kn.solve(data, 3, "branch-and-price", stop=kn.MaxRuntime(10)).bound',
            'for name in ("random", "mondrian", "mdav", "mdav*", "ona*", "ils"):',
            "    s = kn.solve(data, 3, name, stop=kn.MaxRuntime(1), seed=1)",
            '    print(f"{name:9} {s.objective:8.3f}  {100 * (s.objective / bound - 1):6.2f} %")',
        ]
    )
    return "\n".join(
        [
            "# Benchmarks\n",
            "## Best known\n",
            "The best partitions that we know, each with a proven bound, are kept with the package "
            "(`kn.best_known(data, k)`), and verified when they are read.\n",
            "| data | rows | k | cost | objective | bound | gap in % | found by |",
            "|---|--:|--:|---|--:|--:|--:|--:|\n" + "\n".join(best) + "\n",
            "## Heuristics above the bound\n",
            "Sixty uniform rows (SimU of paper 001), squared error; percent above a proven "
            "bound, run when this page was built:\n",
            fenced("python", code),
            fenced("text", executed(code, {})),
            "## Speeds that are promised\n",
            "`make bench` measures each in a process of its own, with kernels compiled, and says "
            "which of these limits hold on your machine; the last column is what the papers "
            "report from theirs. A limit in *times* is a least ratio.\n",
            "| benchmark | limit | published |\n|---|--:|--:|\n" + "\n".join(promised) + "\n",
            "## Proofs beside the papers\n",
            "What `branch-and-price` proved and how fast, from runs that come with kanopy: "
            "one row for the samples of an instance, with the largest gap, the mean and the "
            "greatest time, one core each. `make bench` measures the quick ones on your machine, "
            "`make bench FULL=1` all of them.\n",
            proofs_markdown() + "\n",
        ]
    )


def api() -> str:
    """Every public name with its signature and docstring."""
    parts = ["# API\n", "`import kanopy as kn`\n"]
    for name in kn.__all__:
        thing = getattr(kn, name)
        if callable(thing):
            parts += documented(f"kn.{name}", thing)
    parts.append("## kn.measures\n\n" + markdown(kn.measures.__doc__) + "\n")
    for module, names in (
        ("kanopy.estimators", ("Microaggregation", "Generalisation")),
        ("kanopy.solvers.registry", ("register",)),
        ("kanopy.solvers.costs", ("register_cost",)),
        ("kanopy.solvers.backends.choice", ("register_backend",)),
        ("kanopy.solvers.problem", ("Problem", "Outcome")),
        ("kanopy.solvers.run", ("Run",)),
        ("kanopy.checking", ("check", "read_certificate")),
    ):
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            parts += documented(f"{module}.{name}", thing)
    return "\n".join(parts)


def documented(title: str, thing: Any) -> list[str]:
    """A heading, the signature, the docstring, and the methods of a class."""
    parts = [f"## {title}\n"]
    if not (inspect.isclass(thing) and issubclass(thing, Exception)):
        text = re.sub(r"<factory>|<object object at \w+>", "…", str(inspect.signature(thing)))
        text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are kept as texts
        text = re.sub(r"numpy\._typing\.\w+\.|(?<![\w.])(?:\w+\.)+(?=[A-Z])", "", text)
        if len(text) > 80:
            text = text.replace("(", "(\n    ", 1).replace(", ", ",\n    ")
        parts.append(fenced("python", title.rpartition(".")[2] + text))
    parts.append(markdown(thing.__doc__) + "\n")
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        members = [
            f"`{name}`\n:   {inline(first_line(member.__doc__))}\n"
            for name, member in vars(thing).items()
            if not name.startswith("_")
            and getattr(member, "__doc__", None)
            and (callable(member) or isinstance(member, property | classmethod))
        ]
        if members:
            parts += ["**Members**\n", *members]
    return parts


def command_line() -> str:
    """The help of every command."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from kanopy.cli import app

    runner = CliRunner(env={"COLUMNS": "88", "TERMINAL_WIDTH": "88", "TERM": "dumb"})
    parts = ["# Command line\n", fenced("text", runner.invoke(app, ["--help"]).output)]
    for name in get_command(app).commands:  # type: ignore[attr-defined]
        parts.append(f"## kanopy {name}\n")
        parts.append(fenced("text", runner.invoke(app, [name, "--help"]).output))
    return "\n".join(parts)
