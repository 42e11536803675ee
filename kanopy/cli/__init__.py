"""The command line. Modules are imported by the command that needs them: ``--help`` stays quick."""

from __future__ import annotations

from kanopy.cli.app import app, main

__all__ = ["app", "main"]
