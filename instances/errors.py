"""The one error that kanopy raises for what a user can put right."""

from __future__ import annotations

from collections.abc import Iterable


class KanopyError(ValueError):
    """Input that cannot be used; the message names the value, the limit and the way out."""


def unknown(what: str, name: object, known: Iterable[str]) -> KanopyError:
    """Error for a name that does not exist, listing those that do."""
    return KanopyError(f"unknown {what} {name!r}; choose one of: {', '.join(known)}")
