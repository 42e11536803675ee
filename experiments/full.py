"""``make results``: run the full form of the catalogue and write ``results/*.csv``.

The parts go one after the other, the cheapest first, and the files are written after each, so that
it can be stopped at any moment and goes on where it was. A result in the store or in the files
counts as done whatever version of the code it is of, since the files say which; ``--anew`` runs
everything for this one. Names given as arguments replace the parts. A run brings the measures of
all experiments that share it, so that none of them needs it again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from kanopy.experiments.catalogue import catalogue
from kanopy.experiments.results import kept_results, write_results
from kanopy.experiments.runner import campaign
from kanopy.experiments.specs import choose, united
from kanopy.experiments.store import Store, is_done

PARTS: tuple[tuple[str, ...], ...] = (
    # seconds
    ("liang-1", "liang-4", "liang-5", "liang-6", "liang-7", "liang-8", "cost-6.2", "cost-6.3"),
    ("thaeter-8.1", "thaeter-8.4"),
    ("liang-fig9", "liang-fig2c", "liang-fig7", "liang-fig8", "liang-fig8-k100", "liang-fig10"),
    ("thaeter-fig7.7", "thaeter-fig7.8", "thaeter-A.1"),
    # minutes
    ("liang-fig5", "liang-fig3-adult"),
    ("cost-6.6", "cost-fig6.9"),
    ("cost-6.10",),
    ("gentile-3",),
    ("liang-fig2a",),
    ("liang-fig3",),
    ("cost-6.8",),
    ("liang-fig2a-8",),
    ("bounds-over-time",),
    ("gaps-generalisation",),
    ("gaps-tables",),
    ("gaps-nominal",),
    ("liang-fig6-k3", "liang-fig6-k5"),
    ("gentile-4",),
    # an hour or two each
    ("gaps-numeric",),
    ("thaeter-B.1",),
    ("thaeter-A.2", "thaeter-B.2"),
    ("thaeter-5.7", "thaeter-A.3"),
    ("thaeter-5.4", "thaeter-6.6"),
    ("thaeter-7", "thaeter-fig7", "thaeter-C"),
    ("cost-fig6.21", "cost-fig6.23", "cost-fig6.24"),
    # a night or more each
    ("cost-fig6.2",),
    ("cost-figB.2",),
    ("cost-fig6.20",),
    ("thaeter-6.3", "thaeter-fig6.4", "thaeter-6.5"),
    ("thaeter-5.5", "thaeter-6.7", "thaeter-B.3"),
    ("thaeter-A.4",),
    ("cost-fig6.1", "cost-figB.1", "cost-6.5"),
    ("thaeter-B.4",),
    # days
    ("thaeter-5.6", "thaeter-6.8"),
    ("thaeter-A.9", "thaeter-B.8"),
)
"""Every run of the catalogue, by what it takes on two cores; experiments whose runs others have
already are not named."""


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="experiments instead of all parts, in this order")
    parser.add_argument("--store", type=Path, default=Path("kanopy-results.sqlite"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--anew", action="store_true", help="results of other versions do not do")
    given = parser.parse_args()
    store, every = Store(given.store), catalogue()
    shared = {task.key: task for task in united(t for e in every for t in e.tasks())}
    for names in [(name,) for name in given.names] or PARTS:
        chosen = choose(every, names)
        began = time.perf_counter()
        tasks = united(shared[t.key] for experiment in chosen for t in experiment.tasks())
        if not given.anew:
            kept = kept_results(tasks)
            tasks = [task for task in tasks if not is_done(kept.get(task), task)]
        outcome = campaign(tasks, store, jobs=given.jobs, accept_older=not given.anew)
        write_results(store, every)
        print(f"{', '.join(names)}: {outcome}; {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
