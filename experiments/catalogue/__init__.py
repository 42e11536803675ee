"""Every table and result figure of the four papers, and our own, by name."""

from __future__ import annotations

from functools import lru_cache

from kanopy.experiments.catalogue import cost, gaps, gentile, liang, thaeter
from kanopy.experiments.specs import Experiment


@lru_cache(maxsize=1)
def catalogue() -> tuple[Experiment, ...]:
    """The experiments in the order of the papers.

    >>> [e.name for e in catalogue()][:2]
    ['cost-6.2', 'cost-6.3']
    """
    papers = (cost, thaeter, gentile, liang, gaps)
    return tuple(experiment for paper in papers for experiment in paper.EXPERIMENTS)
