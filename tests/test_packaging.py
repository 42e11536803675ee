"""Wheel and sdist hold all that an installation needs, and work where there is no repository.

Built by the build back-end in a copy of the repository, without the network; the dependencies are
those of the environment that runs the tests.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta as b; {}(sys.argv[1])"
TRY = """
import sys, kanopy as kn
assert kn.__file__.startswith(sys.argv[1]), kn.__file__
s = kn.solve(kn.example("fars"), k=3, method="random")  # without kernels, to be compiled anew
assert kn.evaluate(s.data, s.release()).k >= 3
from kanopy.experiments.catalogue import catalogue
tables = [e.name for e in catalogue() if e.published is not None]
assert "gentile-3" in tables
from kanopy.archive import FOLDER
assert list(FOLDER.glob("*.json"))
from kanopy.cli import main
sys.argv[1:] = sys.argv[2:]
main()
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the sdist."""
    source, dist = tmp_path_factory.mktemp("source") / "kanopy", tmp_path_factory.mktemp("dist")
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "site")
    shutil.copytree(ROOT, source, ignore=unwanted)
    for hook in ("b.build_sdist", "b.build_wheel"):
        code = BUILD.format(hook)
        subprocess.run(
            [sys.executable, "-c", code, str(dist)], cwd=source, check=True, capture_output=True
        )
    return dist


def contents(folder):
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", ".DS_Store"} & {*path.parts}
    }


def test_wheel_holds_every_module_and_data_file(built):
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = contents("kanopy")
    for folder in ("experiments", "instances", "models", "solvers"):
        wanted |= {f"kanopy/{name}" for name in contents(folder)}
    assert {name.replace(os.sep, "/") for name in wanted} == names


def test_sdist_holds_what_the_wheel_is_built_from(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("kanopy", "experiments", "instances", "models", "solvers", "tests"):
        assert contents(folder) <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "docs/demo.png"} <= names
    assert not [name for name in names if name.endswith((".nbi", ".nbc", ".pyc"))]


def test_wheel_works_elsewhere(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    target, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--target", target, wheel], check=True)
    # -S leaves site-packages and with it the editable installation out; what we need is put back.
    packages = [path for path in sys.path if path.endswith("-packages")]
    environment = {"PYTHONPATH": os.pathsep.join([str(target), *packages])}
    environment |= {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ran = subprocess.run(
        [sys.executable, "-S", "-c", TRY, str(target), "versions"],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "kanopy" in ran.stdout
