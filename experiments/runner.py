"""Campaigns: every task that is not yet in the store is run, and kept as soon as it is done.

Workers only compute; the campaign's own process writes, so that workers may be on other machines,
where SQLite's locks would not reach. Killing it loses the runs in progress and nothing else. Tasks
go in a random order: two campaigns on one store seldom meet, and the estimate of the time left does
not suffer from small ones coming first. No result depends on the order.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import islice
from types import FrameType
from typing import Any

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from kanopy.experiments.quantities import QUANTITIES
from kanopy.experiments.specs import UNTRIED, Task, lacking, make_instance, united
from kanopy.experiments.store import Record, Store, code_version, is_done
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example
from kanopy.instances.generators import generate
from kanopy.instances.microdata import Microdata
from kanopy.solution import Solution
from kanopy.solvers.registry import all_methods
from kanopy.solvers.stop import MaxRuntime
from kanopy.solvers.trace import Trace
from kanopy.solving import solve

_EVENTS = 60
"""Most events that are kept of a trace."""
_PATIENCE = 3.0
"""How many times its limit, and half a minute, a run may take before it is given up."""

Event = tuple[float, float | None, float | None]


@dataclass
class Outcome:
    """What became of a campaign's tasks."""

    run: int = 0
    """Done now."""
    kept: int = 0
    """Found in the store."""
    failed: int = 0
    unavailable: Counter[str] = field(default_factory=Counter)
    """Reasons why tasks could not be tried."""

    def __str__(self) -> str:
        said = [f"{self.run} run, {self.kept} found in the store, {self.failed} failed"]
        said += [f"{number} × {reason}" for reason, number in self.unavailable.items()]
        return "; ".join(said)


def campaign(
    tasks: Iterable[Task],
    store: Store,
    *,
    jobs: int = 1,
    dask: str | None = None,
    accept_older: bool = False,
    retry: bool = False,
    listen: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Run what is missing and keep it.

    Parameters
    ----------
    jobs
        Processes on this machine.
    dask
        Address of a Dask scheduler, or ``local``; None for joblib's own processes.
    accept_older
        Take results of other versions of the code for done.
    retry
        Run what failed before again.
    listen
        Called with the number of tasks done and of all.
    """
    outcome = Outcome()
    code = code_version()
    pending: list[Task] = []
    for task in united(tasks):
        reason = unavailable(task)
        if reason:
            outcome.unavailable[reason] += 1
        elif is_done(store.find(task, None if accept_older else code), task, retry):
            outcome.kept += 1
        else:
            pending.append(task)
    random.Random().shuffle(pending)
    total = len(pending)
    while pending:
        out: list[Task] = []
        left = iter(pending)

        def next_tasks(left: Iterator[Task] = left, out: list[Task] = out) -> Iterator[Task]:
            for task in left:
                if is_done(store.find(task, code), task, retry):
                    outcome.kept += 1  # by another campaign in the meantime
                    continue
                out.append(task)
                yield task

        try:
            for record in _records(next_tasks(), jobs, dask):
                out.remove(record.task)
                _keep(store, record, outcome)
                if listen:
                    listen(outcome.run + outcome.failed, total)
        except BrokenProcessPool:
            # Some task of those under way killed its worker: one by one, it shows which.
            for task in out:
                _keep(store, _alone(task), outcome)
        pending = list(left)
    return outcome


def _keep(store: Store, record: Record, outcome: Outcome) -> None:
    store.add(record)
    if record.error:
        outcome.failed += 1
    else:
        outcome.run += 1


def _records(tasks: Iterator[Task], jobs: int, dask: str | None) -> Iterator[Record]:
    if dask is not None:
        yield from _on_dask(tasks, dask)
        return
    if jobs == 1:
        yield from map(execute, tasks)
        return
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(
            n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        yield from parallel(joblib.delayed(execute)(task) for task in tasks)


def _on_dask(tasks: Iterator[Task], address: str) -> Iterator[Record]:
    """Run tasks on a cluster, a few more at a time than it has threads.

    Dask itself runs the tasks of a worker that is lost on another one; a task whose worker dies
    again and again (``distributed.scheduler.allowed-failures`` times) is recorded as failed.
    """
    try:
        distributed: Any = importlib.import_module("dask.distributed")
    except ImportError:
        raise KanopyError("Dask is not installed; pip install 'kanopy[distributed]'") from None
    make = distributed.Client
    with make(threads_per_worker=1) if address == "local" else make(address) as client:
        under_way: dict[Any, Task] = {}
        completed = distributed.as_completed()

        def submit() -> None:
            wanted = 2 * max(1, sum(client.nthreads().values())) - len(under_way)
            for task in islice(tasks, wanted):
                future = client.submit(execute, task, pure=False)
                under_way[future] = task
                completed.add(future)

        submit()
        for future in completed:
            task = under_way.pop(future)
            failed = future.exception()
            if failed is None:
                yield future.result()
            else:
                yield _record(task, error=f"its worker failed: {type(failed).__name__}: {failed}")
            submit()


def _alone(task: Task) -> Record:
    """Run a task in a process of its own; if that dies, its record says so."""
    try:
        with ProcessPoolExecutor(1) as pool:
            record: Record = pool.submit(execute, task).result()
            return record
    except BrokenProcessPool as error:
        return _record(task, error=f"its process died: {type(error).__name__}")


def unavailable(task: Task) -> str:
    """Why a task cannot be tried here and now, or an empty text."""
    known = all_methods()
    for name in filter(None, (task.method, task.start)):
        if name != UNTRIED and name not in known:
            return f"method {name} not available"
    if task.cost and task.method != UNTRIED and task.cost not in known[task.method].costs:
        return f"method {task.method} not available for {task.cost}"
    for name in task.measures:
        if name not in QUANTITIES:
            return f"measure {name} not available"
    return lacking(task.instance)


def execute(task: Task) -> Record:
    """Run one task; what goes wrong is recorded, not raised."""
    try:
        data = make_instance(task.instance)
        if task.method != UNTRIED:  # compiling must neither be timed nor given up halfway
            _warm(task.method, task.cost, data.kind, task.options)
        with _patience(task):
            return _measured(task, data)
    except Exception as error:  # whatever it is, the other tasks go on
        return _record(task, error=f"{type(error).__name__}: {error}")


def _measured(task: Task, data: Microdata) -> Record:
    solution = None if task.method == UNTRIED else _solve(task, data)
    found: dict[str, float] = {}
    for name in task.measures:
        found |= QUANTITIES[name](data, solution, task.control)
        found[f"{name}:"] = 1.0
    if solution is None:
        return _record(task, status="measured", measures=found)
    return _record(
        task,
        objective=float(solution.objective),
        bound=None if solution.bound is None else float(solution.bound),
        status=solution.status,
        runtime=solution.runtime,
        cpu=solution.cpu,
        measures=found,
        trace=thinned(solution.trace),
        versions=versions() | {"solver": solution.solver or ""},
    )


def _solve(task: Task, data: Microdata) -> Solution:
    initial = None
    if task.start:
        initial = solve(data, task.k, task.start, seed=task.seed).labels
    return solve(
        data,
        task.k,
        task.method,
        cost=task.cost or None,
        stop=MaxRuntime(task.seconds) if task.seconds else None,
        seed=task.seed,
        initial=initial,
        options=task.given,
        control=task.control or None,
    )


@cache
def _warm(method: str, cost: str, kind: str, options: str) -> None:
    """Compile or load what the method needs on a small table, so that no run's time has it."""
    if kind == "numeric":
        small = example("testdata")
    elif kind == "nominal":
        small = generate("synthetic", n=30, p=0.5, k=3, seed=0)
    else:
        small = make_instance("census-income rows=30")
    try:
        labels = solve(small, 3, "random", seed=0).labels
        chosen = all_methods()[method]
        solve(
            small,
            3,
            method,
            cost=cost or None,
            stop=MaxRuntime(1.0),  # beyond compiling
            options=Task("", "", options=options).given,
            initial=labels if chosen.shape == "representatives" else None,
        )
    except KanopyError:
        return  # the run itself will say what is wrong


@contextmanager
def _patience(task: Task) -> Iterator[None]:
    """Give a run up that does not keep its limit, as far as Python gets to say so."""
    if not task.seconds or threading.current_thread() is not threading.main_thread():
        yield
        return
    longest = _PATIENCE * task.seconds + 30

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not ended after {longest:g} s, its limit being {task.seconds:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, longest)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def thinned(trace: Trace) -> tuple[Event, ...]:
    """At most so many events of a trace, evenly, and always the last."""
    events = [(round(e.time, 4), e.objective, e.bound) for e in trace]
    if len(events) <= _EVENTS:
        return tuple(events)
    step = (len(events) - 1) / (_EVENTS - 1)
    return tuple(events[round(i * step)] for i in range(_EVENTS))


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions that a result may depend on."""
    names = ("highspy", "numba", "numpy", "scipy")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: importlib.metadata.version(name) for name in names},
    }


def _record(task: Task, **found: Any) -> Record:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Record(task, code_version(), **{"versions": versions(), "finished": now, **found})


def available(tasks: Sequence[Task]) -> Counter[str]:
    """Reasons why some of the tasks cannot be tried, with their number."""
    return Counter(filter(None, map(unavailable, tasks)))
