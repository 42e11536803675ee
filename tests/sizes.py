"""How many random instances a test tries: some in every run, all with KANOPY_LONG_TESTS=1."""

import os

LONG = bool(os.environ.get("KANOPY_LONG_TESTS"))


def how_many(few: int, many: int) -> int:
    """``few``, or ``many`` in the long form."""
    return many if LONG else few
