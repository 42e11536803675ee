"""Fetch named data sets from their public homes, checked by SHA-256.

Nothing is kept of a download that fails, stops short or has other content than expected.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import http.client
import io
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kanopy.instances.datasets import DATASETS, cache_folder
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.files import decompress, write_whole

TIMEOUT = 60.0
"""Seconds without an answer after which a download is given up."""
LARGEST = 256 * 2**20
"""Bytes after which a download is not what was asked for."""


@dataclass(frozen=True)
class Home:
    """Addresses of the raw files, their SHA-256 where known, and what makes our file of them."""

    addresses: tuple[str, ...]
    sha256: tuple[str | None, ...]
    convert: Callable[[Sequence[bytes]], bytes]


def fetch(
    name: str, folder: str | os.PathLike[str] | None = None, source: str | None = None
) -> Path:
    """Download a data set and write its file, by default into the user's cache; gives its path.

    Parameters
    ----------
    name
        A name of :func:`kanopy.instances.datasets.datasets`.
    folder
        Where to write; created if it does not exist.
    source
        Address of a folder that holds the raw files under their own names, in place of the public
        home: a mirror.
    """
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    file = DATASETS[name].file
    if name not in HOMES:
        raise KanopyError(
            f"{name!r} cannot be fetched: it is no plain text file at its home ({file.source}). "
            f"Convert it to {file.name} and put that into $KANOPY_DATA or {cache_folder()}"
        )
    home = HOMES[name]
    raw = []
    for address, expected in zip(home.addresses, home.sha256, strict=True):
        if source is not None:
            address = source.rstrip("/") + "/" + address.rsplit("/", 1)[1]
        content = _download(address)
        if expected is not None and hashlib.sha256(content).hexdigest() != expected:
            raise _changed(name, address)
        raw.append(content)
    try:
        table = home.convert(raw)
    except (KanopyError, UnicodeDecodeError, IndexError, ValueError) as error:
        raise _changed(name, address) from error
    if hashlib.sha256(table).hexdigest() != file.sha256:
        raise _changed(name, address)
    target = (Path(folder) if folder is not None else cache_folder()) / file.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KanopyError(f"cannot create {str(target.parent)!r}: {error.strerror}") from error
    compressed = target.name.endswith(".gz")
    write_whole(target, gzip.compress(table, mtime=0) if compressed else table)
    return target


def _changed(name: str, address: str) -> KanopyError:
    return KanopyError(
        f"{address} is not the {name!r} that is known (its SHA-256 differs); nothing was kept. "
        "Try again, or another source"
    )


def _download(address: str) -> bytes:
    if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
        raise KanopyError(f"source must be an http or https address, not {address!r}")
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            announced = answer.headers.get("Content-Length")
            content: bytes = answer.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        raise KanopyError(f"{address} answered {error.code} {error.reason}; try later") from error
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise KanopyError(f"cannot download {address}: {error}; check the connection") from error
    if len(content) > LARGEST:
        raise KanopyError(f"{address} sends more than {LARGEST} bytes; that is no known data set")
    if announced is not None and len(content) != int(announced):
        raise KanopyError(
            f"{address} stopped after {len(content)} of {announced} bytes; nothing was kept. "
            "Try again"
        )
    return content


_ADULT_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country", "income", "split"),
)


def convert_adult(raw: Sequence[bytes]) -> bytes:
    """``adult.data`` and ``adult.test`` as one CSV with the column ``split``.

    Blanks after commas, empty lines, the first line of ``adult.test`` and the full stop after its
    classes go.
    """
    lines = [",".join(_ADULT_COLUMNS)]
    for part, content in zip(("train", "test"), raw, strict=True):
        for line in content.decode("utf-8").splitlines():
            if line and not line.startswith("|"):
                lines.append(line.replace(", ", ",").removesuffix(".") + "," + part)
    return _joined(lines)


def convert_credit(raw: Sequence[bytes]) -> bytes:
    r"""The credit card table: the last column's name with underscores, ``\n`` line ends."""
    header, *rows = raw[0].decode("utf-8").splitlines()
    return _joined([header.replace(" ", "_"), *rows])


_CENSUS_INCOME_FIELDS = MappingProxyType(
    {  # column: its place among the 42 fields of census-income.test
        "age": 0,
        "sex": 12,
        "marital": 7,
        "race": 10,
        "birthplace": 34,
        "education": 4,
        "workclass": 1,
        "occupation": 9,
        "occupation_code": 3,
        "industry_code": 2,
        "hispanic": 11,
        "citizenship": 35,
        "wage_per_hour": 5,
        "capital_gain": 16,
        "capital_loss": 17,
        "dividends": 18,
        "weeks_worked": 39,
        "weight": 24,
        "year": 40,
        "income": 41,
    }
)


def convert_census_income(raw: Sequence[bytes]) -> bytes:
    """20 of the 42 columns of ``census-income.test.gz``, without blanks and closing full stops."""
    text = decompress(raw[0], "census-income.test.gz").decode("utf-8")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_CENSUS_INCOME_FIELDS)
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 42:
            raise KanopyError(f"expected 42 fields a line, found {len(fields)}")
        fields[41] = fields[41].removesuffix(".")
        writer.writerow([fields[place] for place in _CENSUS_INCOME_FIELDS.values()])
    return buffer.getvalue().encode()


def _joined(lines: Sequence[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_GITHUB = "https://raw.githubusercontent.com"
_ADULT = Home(
    (f"{_UCI}/adult/adult.data", f"{_UCI}/adult/adult.test"),
    (
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    convert_adult,
)

# UCI keeps the credit table as an Excel book and Census-Income inside nested archives; public
# copies of the plain files, at a fixed commit, need no further package. The CASC sets are R data
# files and the FARS set is joined from eleven dBASE archives: no conversion is offered for them.
HOMES: Mapping[str, Home] = MappingProxyType(
    {
        "adult": _ADULT,
        "adult-numeric": _ADULT,
        "credit": Home(
            (
                f"{_GITHUB}/yusufnb/cs-498-hw6/4a4207419535687d2d12cca5d7326aa3c2d8305c/"
                "default%20of%20credit%20card%20clients.csv",
            ),
            (None,),
            convert_credit,
        ),
        "census-income": Home(
            (
                f"{_GITHUB}/drawbridge/keras-mmoe/5532ffb3ed6bccf4a0eae9d189fa0d661357425f/data/"
                "census-income.test.gz",
            ),
            (None,),
            convert_census_income,
        ),
    }
)
"""Data sets that can be fetched."""
