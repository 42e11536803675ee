import contextlib
import functools
import gzip
import hashlib
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kanopy.instances import datasets
from kanopy.instances import fetch as module
from kanopy.instances.datasets import DATASETS, DataFile, DataSet, load
from kanopy.instances.errors import KanopyError
from kanopy.instances.fetch import (
    HOMES,
    Home,
    convert_adult,
    convert_census_income,
    convert_credit,
    fetch,
)

RAW = b"x y,z\r1,2\r3,4\r"
TABLE = b"x_y,z\n1,2\n3,4\n"


class Handler(BaseHTTPRequestHandler):
    """Answers with what the test put under a path; a number of bytes to withhold, if any."""

    def __init__(self, pages, *arguments):
        self.pages = pages
        super().__init__(*arguments)

    def do_GET(self):
        if self.path not in self.pages:
            self.send_error(404)
            return
        content, withheld = self.pages[self.path]
        if withheld == "silence":
            time.sleep(2)
            return
        self.send_response(200)
        if withheld != "no length":
            self.send_header("Content-Length", str(len(content) + int(withheld)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(**pages):
    handler = functools.partial(Handler, {f"/{name}": page for name, page in pages.items()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A data set 'toy' whose raw file has carriage returns and a blank in its header."""
    file = DataFile("toy.csv.gz", hashlib.sha256(TABLE).hexdigest(), "nowhere")
    entry = {"toy": DataSet(file, 2, ("x_y",), ("x_y",), lambda frame: frame)}
    home = Home(("http://127.0.0.1:9/raw.csv",), (None,), convert_credit)
    monkeypatch.setattr(module, "DATASETS", entry)
    monkeypatch.setattr(datasets, "DATASETS", entry)
    monkeypatch.setattr(module, "HOMES", {"toy": home})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KANOPY_DATA", raising=False)
    return tmp_path


def served_toy(content=RAW, withheld=0):
    return served(**{"raw.csv": (content, withheld)})


def files_below(folder):
    return sorted(name for _, _, names in os.walk(folder) for name in names)


def test_fetched_file_is_written_to_the_cache_and_can_be_loaded(toy):
    with served_toy() as source:
        path = fetch("toy", source=source)
    assert path == toy / "cache" / "kanopy" / "toy.csv.gz"
    assert gzip.decompress(path.read_bytes()) == TABLE
    assert files_below(toy) == ["toy.csv.gz"]
    assert load("toy", standardize=False).X.tolist() == [[1.0], [3.0]]


def test_answers_without_a_length_are_checked_by_content(toy):
    with served_toy(withheld="no length") as source:
        assert fetch("toy", toy / "here", source).parent == toy / "here"
    with served_toy(RAW[:-4], "no length") as source, pytest.raises(KanopyError, match="SHA-256"):
        fetch("toy", toy / "there", source)
    assert files_below(toy) == ["toy.csv.gz"]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ((RAW, 5), "stopped after 14 of 19 bytes"),
        ((b"x y,z\r1,2\r3,5\r", 0), "SHA-256 differs"),
        ((b"\xff\xfe", 0), "SHA-256 differs"),
        ((b"", 0), "SHA-256 differs"),
    ],
)
def test_bad_downloads_leave_nothing(toy, page, message):
    with served_toy(*page) as source, pytest.raises(KanopyError, match=message):
        fetch("toy", source=source)
    assert files_below(toy) == []


def test_wrong_raw_file_is_refused_before_conversion(toy, monkeypatch):
    home = Home(("http://x/raw.csv",), ("0" * 64,), lambda raw: pytest.fail("converted"))
    monkeypatch.setattr(module, "HOMES", {"toy": home})
    with served_toy() as source, pytest.raises(KanopyError, match="SHA-256 differs"):
        fetch("toy", source=source)


def test_an_older_file_survives_a_bad_download(toy):
    with served_toy() as source:
        path = fetch("toy", source=source)
    before = path.read_bytes()
    with served_toy(RAW, 9) as source, pytest.raises(KanopyError):
        fetch("toy", source=source)
    assert path.read_bytes() == before


def test_missing_page_and_dead_server(toy):
    with served() as source, pytest.raises(KanopyError, match="answered 404"):
        fetch("toy", source=source)
    with pytest.raises(KanopyError, match="cannot download"):
        fetch("toy", source=source)
    assert files_below(toy) == []


def test_silent_server_times_out(toy, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    start = time.monotonic()
    with served_toy(withheld="silence") as source, pytest.raises(KanopyError, match="timed out"):
        fetch("toy", source=source)
    assert time.monotonic() - start < 10


def test_endless_download_is_cut_off(toy, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 13)
    with served_toy() as source, pytest.raises(KanopyError, match="more than 13 bytes"):
        fetch("toy", source=source)


def test_unwritable_folder(toy):
    (toy / "file").write_text("")
    with served_toy() as source:
        with pytest.raises(KanopyError, match="cannot create"):
            fetch("toy", toy / "file" / "below", source)
        (toy / "full" / "toy.csv.gz").mkdir(parents=True)
        with pytest.raises(KanopyError, match="cannot write"):
            fetch("toy", toy / "full", source)


def test_only_web_addresses(toy):
    (toy / "raw.csv").write_bytes(RAW)
    with pytest.raises(KanopyError, match="http or https"):
        fetch("toy", source=f"file://{toy}")


def test_names():
    with pytest.raises(KanopyError, match="unknown data set 'iris'"):
        fetch("iris")
    with pytest.raises(KanopyError, match=r"cannot be fetched.*sdcMicro.*casc_eia.*KANOPY"):
        fetch("eia")
    assert set(HOMES) <= set(DATASETS)


def test_adult_conversion():
    raw = [
        b"39, State-gov, 77516, Bachelors, 13, <=50K\n\n",
        b"|1x3 Cross validator\n25, Private, 226802, 11th, 7, <=50K.\n\n",
    ]
    assert convert_adult(raw).decode().splitlines()[1:] == [
        "39,State-gov,77516,Bachelors,13,<=50K,train",
        "25,Private,226802,11th,7,<=50K,test",
    ]


def test_census_income_conversion():
    """The first line of the original test part."""
    line = (
        "38, Private, 6, 36, 1st 2nd 3rd or 4th grade, 0, Not in universe, Married-civilian "
        "spouse present, Manufacturing-durable goods, Machine operators assmblrs & inspctrs, "
        "White, Mexican (Mexicano), Female, Not in universe, Not in universe, Full-time "
        "schedules, 0, 0, 0, Joint one under 65 & one 65+, Not in universe, Not in universe, "
        "Spouse of householder, Spouse of householder, 1032.38, ?, ?, ?, Not in universe under "
        "1 year old, ?, 4, Not in universe, Mexico, Mexico, Mexico, Foreign born- Not a citizen "
        "of U S , 0, Not in universe, 2, 12, 95, - 50000.\n"
    )
    header, row = convert_census_income([gzip.compress(line.encode())]).decode().splitlines()
    assert header == (
        "age,sex,marital,race,birthplace,education,workclass,occupation,occupation_code,"
        "industry_code,hispanic,citizenship,wage_per_hour,capital_gain,capital_loss,dividends,"
        "weeks_worked,weight,year,income"
    )
    assert row == (
        "38,Female,Married-civilian spouse present,White,Mexico,1st 2nd 3rd or 4th grade,Private,"
        "Machine operators assmblrs & inspctrs,36,6,Mexican (Mexicano),"
        "Foreign born- Not a citizen of U S,0,0,0,0,12,1032.38,95,- 50000"
    )
    with pytest.raises(KanopyError, match="42 fields"):
        convert_census_income([gzip.compress(b"1, 2\n")])


def unpacked(path):
    return gzip.decompress(path.read_bytes()).decode()


def content_of(name):
    if "KANOPY_DATA" not in os.environ:
        pytest.skip("KANOPY_DATA does not name a folder of data sets")
    return unpacked(Path(os.environ["KANOPY_DATA"]) / DATASETS[name].file.name)


@pytest.mark.real_data
def test_adult_from_the_original_files(tmp_path):
    """The two originals, rebuilt from our file, have the known SHA-256 and give it back."""
    rows = [line.rsplit(",", 1) for line in content_of("adult").splitlines()[1:]]
    parts = {
        part: [row.replace(",", ", ") for row, split in rows if split == part]
        for part in ("train", "test")
    }
    data = "\n".join(parts["train"]) + "\n\n"
    test = "\n".join(["|1x3 Cross validator", *(f"{row}." for row in parts["test"])]) + "\n\n"
    pages = {"adult.data": (data.encode(), 0), "adult.test": (test.encode(), 0)}
    with served(**pages) as source:
        path = fetch("adult", tmp_path, source)
    assert unpacked(path) == content_of("adult")


@pytest.mark.real_data
def test_credit_from_a_file_with_carriage_returns(tmp_path):
    header, rest = content_of("credit").split("\n", 1)
    raw = header.replace("default_payment_next_month", "default payment next month") + "\n" + rest
    name = "default%20of%20credit%20card%20clients.csv"
    with served(**{name: (raw.replace("\n", "\r").encode() + b"\n", 0)}) as source:
        path = fetch("credit", tmp_path, source)
    assert unpacked(path) == content_of("credit")
