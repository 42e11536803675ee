"""Certificates: what a sceptic needs to believe a bound, and the checker that reads them.

Nothing here imports a method, a solver or a search of the package; the checker has its own, in
whole numbers. Read it in this order: :mod:`certificate` (what a file holds), :mod:`whole` (costs
as whole numbers), :mod:`search` (all clusters of small reduced cost), :mod:`proof` (the steps).
"""

from __future__ import annotations

from kanopy.checking.certificate import Certificate, CertificateError, read_certificate
from kanopy.checking.proof import Checked, check

__all__ = ["Certificate", "CertificateError", "Checked", "check", "read_certificate"]
