"""Environments in which hawb's wheel is installed with some of its extras and nothing else.

Nothing is fetched: what an extra requires, and what that requires in turn, is linked from the environment that the
tests run in. So whatever the wheel forgot to require is not there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SITE = Path(sysconfig.get_path("purelib"))
SHARED = ("share", "etc")
"""Where distributions put things beside their modules: front ends, settings and kernels of Jupyter."""
PATIENCE_S = 120


def built(root: Path, target: str, folder: Path) -> Path:
    """Build a wheel or sdist of a checkout, or of an unpacked sdist, with hawb's own backend and without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SOURCE_DATE_EPOCH")}
    _do(command, cwd=root, env=environment)
    [found] = folder.iterdir()
    return found


def installed(wheel: Path, extras: Iterable[str], folder: Path) -> Path:
    """A new environment in a folder, with a wheel and what some of its extras take; the folder of its programs."""
    _do([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    programs = Path(sysconfig.get_path("scripts", "venv", {"base": str(folder)}))
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(programs / "python"), "--disable-pip-version-check"]
    _do([*pip, "install", "--no-deps", "--no-index", str(wheel)])
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    [own] = [one for one in distributions(path=[str(site)]) if one.name == "hawb"]
    names = required(own, extras)
    for path in linked(names):
        _link(site / path, SITE / path)
    for path in (path for name in names for path in recorded()[name].shared):
        _link(folder / path, Path(sys.prefix) / path)
    return programs


def _do(command: list[str], **options: object) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S, **options)


def _link(place: Path, to: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(to)


def required(own: Distribution, extras: Iterable[str]) -> set[str]:
    """Return the names of all distributions that one requires with some extras, and of those that they require."""
    found: set[tuple[str, str]] = set()
    todo = [(own, extra) for extra in ("", *extras)]
    for each, extra in todo:
        for requirement in map(Requirement, each.requires or ()):
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
                continue
            for more in ("", *requirement.extras):
                if (key := (canonicalize_name(requirement.name), more)) not in found:
                    found.add(key)
                    todo.append((distribution(requirement.name), more))
    return {name for name, _ in found}


def linked(names: set[str], below: tuple[str, ...] = ()) -> Iterator[Path]:
    """What of this environment's modules belongs to distributions and to no other: files and folders, as few as can
    be."""
    depth, owners = len(below), defaultdict(set)
    for name, files in recorded().items():
        for parts in files.modules:
            if len(parts) > depth and parts[:depth] == below:
                owners[parts[depth]].add(name)
    for part, by in owners.items():
        if by <= names:
            yield Path(*below, part)
        elif by & names:
            yield from linked(names, (*below, part))


class Recorded(NamedTuple):
    """What a distribution has put into this environment: its modules, as parts of paths below `SITE`, and files in
    `SHARED`, as paths below the environment. Its programs, which name the environment, are left out."""

    modules: list[tuple[str, ...]]
    shared: list[Path]


@cache
def recorded() -> dict[str, Recorded]:
    """Return what each distribution has installed into this environment."""
    found = {}
    for each in distributions(path=[str(SITE)]):
        modules, shared = [], []
        for line in (each.read_text("RECORD") or "").splitlines():
            parts = tuple(line.rsplit(",", 2)[0].strip('"').split("/"))
            inner = tuple(part for part in parts if part != "..")
            if parts == inner and parts[0] != "__pycache__" and not parts[0].endswith(".pth"):
                modules.append(parts)
            elif parts != inner and inner[0] in SHARED:
                shared.append(Path(*inner))
        found[canonicalize_name(each.name)] = Recorded(modules, shared)
    return found
