"""The course of a run as data: one row per event, read by the display, the plot and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import overload

import pandas as pd


@dataclass(frozen=True, slots=True)
class Event:
    """One row of a trace; a method fills what it knows."""

    time: float
    mark: str = ""
    """``*`` a better solution, ``^`` a better bound, empty a progress report."""
    objective: float | None = None
    bound: float | None = None
    iterations: int | None = None
    nodes: int | None = None
    open_nodes: int | None = None
    columns: int | None = None
    cuts: int | None = None
    lp: float | None = None
    weight: float | None = None
    """Weight of the partition where the objective is that of its representatives (000, 4.2)."""
    weight_bound: float | None = None
    """A proven lower bound of the weight of all partitions."""

    @property
    def gap(self) -> float | None:
        """(objective − bound) / objective as far as both are known."""
        from kanopy.solvers.stop import relative_gap

        if self.objective is None or self.bound is None:
            return None
        return relative_gap(self.objective, self.bound)


class Trace(Sequence[Event]):
    """Events in order of time.

    >>> trace = Trace([Event(0.1, "*", objective=5.0), Event(0.4, "^", objective=5.0, bound=4.0)])
    >>> trace.frame()[["time", "objective", "bound"]].values.tolist()
    [[0.1, 5.0, nan], [0.4, 5.0, 4.0]]
    """

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._events = tuple(events)

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Trace: ...
    def __getitem__(self, index: int | slice) -> Event | Trace:
        if isinstance(index, slice):
            return Trace(self._events[index])
        return self._events[index]

    def frame(self) -> pd.DataFrame:
        """The trace as a table, one row per event; empty cells are missing."""
        names = list(Event.__dataclass_fields__)
        table = pd.DataFrame([asdict(event) for event in self._events], columns=names)
        numbers = [name for name in names if name != "mark"]
        return table.astype(dict.fromkeys(numbers, float))

    def __repr__(self) -> str:
        return f"Trace({len(self)} events)"
