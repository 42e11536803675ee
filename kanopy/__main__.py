"""``python -m kanopy`` is the command line."""

from kanopy.cli import main

main()
