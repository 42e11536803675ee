"""The one error that kanopy raises for what a user can put right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class KanopyError(ValueError):
    """Input that cannot be used; the message names the value, the limit and the way out."""


_SHOWING = ContextVar("showing values", default=False)


@contextmanager
def showing_values(show: bool = True) -> Iterator[None]:
    """Let errors show cells of the original table, which they never do otherwise."""
    before = _SHOWING.set(show)
    try:
        yield
    finally:
        _SHOWING.reset(before)


def such_as(values: Iterable[object], most: int = 3) -> str:
    """Some values as part of a message, if they may be shown; else nothing.

    >>> such_as(["Ann"])
    ''
    >>> with showing_values():
    ...     such_as(["Ann", "Bob"])
    " (such as 'Ann', 'Bob')"
    """
    some = [repr(value) for _, value in zip(range(most), values, strict=False)]
    return f" (such as {', '.join(some)})" if some and _SHOWING.get() else ""


def cause(error: BaseException) -> BaseException | None:
    """An error of a library as the cause of ours, if it may be shown: they like to quote cells."""
    return error if _SHOWING.get() else None


def unknown(what: str, name: object, known: Iterable[str]) -> KanopyError:
    """Error for a name that does not exist, listing those that do.

    >>> print(unknown("column", "born", ["age", "born, in"]))
    unknown column 'born'; choose one of: age, "born, in"
    """
    listed = (f'"{one}"' if "," in one else one for one in known)
    return KanopyError(f"unknown {what} {name!r}; choose one of: {', '.join(listed)}")
