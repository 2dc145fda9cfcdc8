"""pyproject.toml says what hawb needs, requirements.lock at which versions, environment.yml the same for conda."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (ROOT / "requirements.lock").read_text().replace(" \\\n", "").splitlines()
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
PIP = CONDA[-1]["pip"]
PYTHONS = ("3.11", "3.12", "3.13")


def by_name(lines: list[str]) -> dict[str, set[Requirement]]:
    """Return requirements by normalised name. One name may have several, each with its own marker."""
    found = defaultdict(set)
    for line in lines:
        requirement = Requirement(line)
        found[canonicalize_name(requirement.name)].add(requirement)
    return dict(found)


LOCKED = by_name([line.partition("    --hash=")[0] for line in LOCK])
DIRECT = by_name(PROJECT["dependencies"] + [line for name, lines in EXTRAS.items() if name != "all" for line in lines])


def locked_version(name: str, python: str) -> str:
    marked = {"python_version": python, "python_full_version": f"{python}.9"}
    [version] = {
        str(next(iter(pin.specifier)).version)
        for pin in LOCKED.get(name, ())
        if pin.marker is None or pin.marker.evaluate(marked)
    }
    return version


def test_each_line_of_the_lock_has_one_version_and_hashes() -> None:
    one_version = re.compile(r"[a-z0-9-]+==[0-9a-z.]+( ; [^:/@\\]+)?(    --hash=sha256:[0-9a-f]{64})+")
    assert [line for line in LOCK if not one_version.fullmatch(line)] == []


def test_makefile_installs_by_hash_except_the_checkout_and_uv() -> None:
    commands = re.sub(r"\\\n\s*", "", (ROOT / "Makefile").read_text()).splitlines()
    installing = [line for line in commands if re.search(r"/pip (install|download) (?!\$\(BY_HASH\))", line)]
    assert [line.split()[-1] for line in installing] == [".", "uv==$(UV_VERSION)"]
    assert all("--no-deps" in line for line in installing[:-1])


@pytest.mark.parametrize("python", PYTHONS)
def test_lock_satisfies_every_requirement_on_every_python(python: str) -> None:
    build = by_name(PYPROJECT["dependency-groups"]["build"] + PYPROJECT["build-system"]["requires"])
    for requirements in (DIRECT, build):
        for name, wanted in requirements.items():
            version = locked_version(name, python)
            assert all(requirement.specifier.contains(version) for requirement in wanted), (name, version)


def test_extra_all_contains_every_other_extra() -> None:
    [all_extras] = [Requirement(line) for line in EXTRAS["all"]]
    assert all_extras.name == PROJECT["name"]
    assert all_extras.extras == set(EXTRAS) - {"all"}


def test_conda_installs_the_lock_by_pip() -> None:
    assert PIP == ["--requirement requirements.lock"]


def test_conda_provides_python_java_and_pip() -> None:
    brought = {re.match(r"[a-z]+", line)[0]: line for line in CONDA[:-1]}
    assert set(brought) == {"python", "openjdk", "pip"}
    assert SpecifierSet(brought["python"].removeprefix("python")) == SpecifierSet(PROJECT["requires-python"])


def test_requires_python_matches_the_tested_pythons() -> None:
    supported = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(30) if supported.contains(f"3.{minor}")] == list(PYTHONS)
