"""Tables in files: CSV and Parquet, written whole or not at all."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import re
import secrets
import shutil
import zlib
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_numeric_dtype

from kanopy.instances.errors import KanopyError, cause

SUFFIXES = (".csv", ".csv.gz", ".parquet")
MOST_BYTES = 1 << 28
MOST_CELLS = 1 << 25
MOST_TIMES = 200
"""A packed file may unpack to so many bytes (Parquet: cells), or to so many times its own size.

Packed tables of real data are some ten times smaller; only a file that is made to fill the memory
of its reader is smaller by more than this."""
LEADING_ZERO = re.compile(r"(?:^|[,\"\n\r])0[0-9]")
"""What the text of a table holds if one of its cells begins with a zero before other digits."""
FORMULA = re.compile(r"\s*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet may run as a formula."""


def read_table(path: str | os.PathLike[str], keep_text: bool = False) -> pd.DataFrame:
    """Table from a ``.csv``, ``.csv.gz`` or ``.parquet`` file.

    CSV files are comma separated UTF-8 with a header row. Empty cells and the words that pandas
    reads as missing (``NA``, ``NaN``, ``null``, ``None``, ``n/a``, …) become missing values;
    ``?`` stays text, and so do columns of digits with leading zeros, such as postcodes. With
    ``keep_text`` every cell is taken as it stands, so that ``NA`` and the empty text are values of
    their own. Nothing is guessed about malformed files: repeated header names and rows of the wrong
    length are errors.
    """
    path = Path(path)
    suffix = _suffix(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise KanopyError(f"there is no file {str(path)!r}; check the path") from None
    except OSError as error:
        raise KanopyError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not content:
        raise KanopyError(f"{str(path)!r} is empty; it needs a header row and data rows")
    if suffix == ".parquet":
        return _parse_parquet(content, str(path))
    if suffix == ".csv.gz":
        content = decompress(content, str(path))
    return parse_csv(content, str(path), keep_text)


def write_table(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    index: bool = False,
    escape_formulas: bool = False,
) -> None:
    """Write a table as the suffix says; an existing file is replaced only by a complete one.

    The same table gives the same bytes. ``index`` adds the row labels as a first column.
    ``escape_formulas`` puts an apostrophe before texts in CSV files that a spreadsheet would run.
    """
    path = Path(path)
    suffix = _suffix(path)
    if escape_formulas and suffix != ".parquet":
        frame = escaped(frame)
    if suffix == ".parquet":
        buffer = io.BytesIO()
        try:
            frame.to_parquet(buffer, index=index)
        except (ValueError, TypeError, pa.ArrowException) as error:
            raise KanopyError(
                f"this table has no Parquet form ({type(error).__name__}): column names must be "
                "different texts and each column of one type"
            ) from cause(error)
        content = buffer.getvalue()
    else:
        content = _csv(frame, index).encode()
        if suffix == ".csv.gz":
            content = gzip.compress(content, mtime=0)
    write_whole(path, content)


def _csv(frame: pd.DataFrame, index: bool) -> str:
    text: str = frame.to_csv(index=index, lineterminator="\n")
    if "\r" in text:  # which readers take for the end of a line unless it is quoted
        text = frame.to_csv(index=index, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text


def escaped(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before each name and text that looks like a formula.

    Numbers, also those written as text, stay as they are.

    >>> escaped(pd.DataFrame({"=1": ["=cmd|' /C calc'!A0", "-3", "plain"]})).to_numpy().tolist()
    [["'=cmd|' /C calc'!A0"], ['-3'], ['plain']]
    """
    safe = frame.rename(columns=_escaped_cell)
    for j, name in enumerate(safe.columns):
        column = frame.iloc[:, j]
        if not pd.api.types.is_numeric_dtype(column):
            safe[name] = column.astype(object).map(_escaped_cell)
    return safe


def _escaped_cell(value: object) -> object:
    if not isinstance(value, str) or not FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: into a neighbour first, then renamed over the target."""
    path = path.resolve()  # a link stays a link
    neighbour = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():  # a pipe or device takes no neighbour's place
            path.write_bytes(content)
            return
        try:
            with neighbour.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                shutil.copymode(path, neighbour)
            neighbour.replace(path)
        finally:
            neighbour.unlink(missing_ok=True)
    except OSError as error:
        raise KanopyError(
            f"cannot write {str(path)!r}: {error.strerror}; choose another place"
        ) from error


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise if a table cannot be written there: before hours of work, not after."""
    _suffix(Path(path))
    check_place(path)


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise if no file can be written there."""
    if not isinstance(path, (str, os.PathLike)):
        raise KanopyError(f"a file must be given by its path, got {type(path).__name__}")
    path = Path(path)
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise KanopyError(
            f"cannot write {str(path)!r}: there is no such folder, or it is not ours to write to; "
            "choose another place"
        )
    if path.is_dir():
        raise KanopyError(f"cannot write {str(path)!r}: it is a folder; choose another place")


def decompress(content: bytes, label: str) -> bytes:
    """The content of a gzip file, or an error that names the file."""
    most = max(MOST_BYTES, MOST_TIMES * len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise KanopyError(f"{label!r} is not a complete gzip file; get it again") from error
    if len(unpacked) > most:
        raise KanopyError(
            f"{label!r} unpacks to more than {most} bytes, {MOST_TIMES} times its size; "
            "if that is meant, unpack it first"
        )
    return unpacked


def parse_csv(content: bytes, label: str, keep_text: bool = False) -> pd.DataFrame:
    """Table from the bytes of a CSV file; ``label`` names it in errors."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise KanopyError(
            f"{label!r} is not UTF-8 (byte {error.start}, line {line}); save it as UTF-8"
        ) from error
    shape = _checked_shape(text, label)
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            keep_default_na=not keep_text,
            na_filter=not keep_text,
            low_memory=False,  # one dtype a column, however long the file
        )
        if LEADING_ZERO.search(text):
            frame = _with_leading_zeros(frame, text, keep_text)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise KanopyError(f"{label!r} is not a readable CSV file; check its quotes") from cause(
            error
        )
    if frame.shape != shape:
        raise KanopyError(
            f"{label!r} has {shape[0]} rows of {shape[1]} cells by one reading, but "
            f"{frame.shape[0]} of {frame.shape[1]} by another; check it for odd quotes, control "
            "characters and lines of blanks"
        )
    return frame


def _with_leading_zeros(frame: pd.DataFrame, text: str, keep_text: bool) -> pd.DataFrame:
    """Columns of digits as texts where a cell has a leading zero: these are codes, no numbers."""
    numbers = [c for c, dtype in enumerate(frame.dtypes) if is_numeric_dtype(dtype)]
    texts = pd.read_csv(
        io.StringIO(text), usecols=numbers, dtype=str, keep_default_na=not keep_text
    )
    for name, column in texts.items():
        cells = column.dropna()
        if cells.str.match(r"0\d").any() and cells.str.fullmatch(r"\d+").all():
            frame[name] = column
    return frame


def _checked_shape(text: str, label: str) -> tuple[int, int]:
    """Rows and columns; refuses what pandas would silently repair.

    That is repeated names, short and long rows.
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        rows = (row for row in reader if row)  # pandas, too, skips blank lines
        header = next(rows, None)
        if header is None:
            raise KanopyError(f"{label!r} is empty; it needs a header row and data rows")
        twice = sorted(name for name, count in Counter(header).items() if count > 1)
        if twice:
            raise KanopyError(
                f"{label!r} has columns of the same name: {', '.join(map(repr, twice))}; "
                "rename one of each"
            )
        other = _other_separator(text) if len(header) == 1 else None
        if other is not None:
            raise KanopyError(
                f"{label!r} is separated by {other}, kanopy reads commas; save it with commas, and "
                "numbers with decimal points, or read it with pandas and use Microdata.from_frame"
            )
        number = 0
        for row in rows:
            number += 1
            if len(row) != len(header):
                raise KanopyError(
                    f"{label!r} has {len(row)} cells in line {reader.line_num}, but {len(header)} "
                    "columns; check commas and quotes there"
                )
    except csv.Error as error:
        raise KanopyError(
            f"{label!r} is not a readable CSV file (line {reader.line_num}): {error}"
        ) from error
    return number, len(header)


def _other_separator(text: str) -> str | None:
    """What seems to separate the cells of the first two rows instead of commas."""
    for character, name in ((";", "semicolons"), ("\t", "tabs")):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=character)
        first = [row for row, _ in zip((row for row in reader if row), range(2), strict=False)]
        if len(first) == 2 and len(first[0]) == len(first[1]) > 1:
            return name
    return None


def _parse_parquet(content: bytes, label: str) -> pd.DataFrame:
    try:
        told = pq.read_metadata(io.BytesIO(content))
        cells = told.num_rows * max(1, told.num_columns)
        groups = [told.row_group(g) for g in range(told.num_row_groups)]
        parts = [g.column(c) for g in groups for c in range(g.num_columns)]
        unpacked = sum(part.total_uncompressed_size for part in parts)
        large = (
            cells > max(MOST_CELLS, MOST_TIMES * len(content))
            or unpacked > max(MOST_BYTES, MOST_TIMES * len(content))
            or any(part.num_values > cells for part in parts)
        )
        frame = None if large else pd.read_parquet(io.BytesIO(content))
        for _, column in [] if frame is None else frame.items():
            if isinstance(column.dtype, pd.StringDtype):  # whose bytes may be no UTF-8
                pa.array(column).validate(full=True)
    except Exception as error:  # damaged files make the two libraries raise whatever they like
        raise KanopyError(f"{label!r} is not a readable Parquet file; write it again") from cause(
            error
        )
    if frame is None:
        raise KanopyError(
            f"{label!r} is {len(content)} bytes long, but tells of {told.num_rows} rows and "
            f"{unpacked} bytes; if that is meant, write it without compression"
        )
    if len(frame.columns) == 0:
        raise KanopyError(f"{label!r} has no columns; there is nothing to read")
    return frame


def _suffix(path: Path) -> str:
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise KanopyError(f"{path.name!r} has an unknown suffix; use one of: {', '.join(SUFFIXES)}")
