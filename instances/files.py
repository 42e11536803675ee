"""Tables in files: CSV and Parquet, written whole or not at all."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import secrets
import shutil
import zlib
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa

from kanopy.instances.errors import KanopyError

SUFFIXES = (".csv", ".csv.gz", ".parquet")


def read_table(path: str | os.PathLike[str], keep_text: bool = False) -> pd.DataFrame:
    """Table from a ``.csv``, ``.csv.gz`` or ``.parquet`` file.

    CSV files are comma separated UTF-8 with a header row. Empty cells and the words that pandas
    reads as missing (``NA``, ``NaN``, ``null``, ``None``, ``n/a``, …) become missing values;
    ``?`` stays text. With ``keep_text`` every cell is taken as it stands, so that ``NA`` and the
    empty text are values of their own. Nothing is guessed about malformed files: repeated header
    names and rows of the wrong length are errors.
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


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str], index: bool = False) -> None:
    """Write a table as the suffix says; an existing file is replaced only by a complete one.

    The same table gives the same bytes. ``index`` adds the row labels as a first column.
    """
    path = Path(path)
    suffix = _suffix(path)
    if suffix == ".parquet":
        buffer = io.BytesIO()
        try:
            frame.to_parquet(buffer, index=index)
        except (ValueError, TypeError, pa.ArrowException) as error:
            raise KanopyError(
                f"this table has no Parquet form ({type(error).__name__}): column names must be "
                "different texts and each column of one type"
            ) from error
        content = buffer.getvalue()
    else:
        content = frame.to_csv(index=index, lineterminator="\n").encode()
        if suffix == ".csv.gz":
            content = gzip.compress(content, mtime=0)
    write_whole(path, content)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: into a neighbour first, then renamed over the target."""
    path = path.resolve()  # a link stays a link
    neighbour = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
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


def decompress(content: bytes, label: str) -> bytes:
    """The content of a gzip file, or an error that names the file."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise KanopyError(f"{label!r} is not a complete gzip file; get it again") from error


def parse_csv(content: bytes, label: str, keep_text: bool = False) -> pd.DataFrame:
    """Table from the bytes of a CSV file; ``label`` names it in errors."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise KanopyError(
            f"{label!r} is not UTF-8 (byte {error.start}, line {line}); save it as UTF-8"
        ) from error
    _check_shape(text, label)
    try:
        return pd.read_csv(
            io.StringIO(text),
            keep_default_na=not keep_text,
            na_filter=not keep_text,
            low_memory=False,  # one dtype a column, however long the file
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise KanopyError(f"{label!r} is not a readable CSV file; check its quotes") from error


def _check_shape(text: str, label: str) -> None:
    """Refuse what pandas would silently repair: repeated names, short and long rows."""
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
        for row in rows:
            if len(row) != len(header):
                raise KanopyError(
                    f"{label!r} has {len(row)} cells in line {reader.line_num}, but {len(header)} "
                    "columns; check commas and quotes there"
                )
    except csv.Error as error:
        raise KanopyError(
            f"{label!r} is not a readable CSV file (line {reader.line_num}): {error}"
        ) from error


def _parse_parquet(content: bytes, label: str) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except (ValueError, TypeError, OSError, pa.ArrowException) as error:
        raise KanopyError(f"{label!r} is not a readable Parquet file; write it again") from error
    if len(frame.columns) == 0:
        raise KanopyError(f"{label!r} has no columns; there is nothing to read")
    return frame


def _suffix(path: Path) -> str:
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise KanopyError(f"{path.name!r} has an unknown suffix; use one of: {', '.join(SUFFIXES)}")
