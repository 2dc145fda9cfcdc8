"""The tests of what changed, which `make check` runs: `python tests/given/changed_tests.py [--list] [ARGUMENTS]`.

What changed is what git finds since the branch left `origin/main`, or since HEAD where there is no such branch, with
files that git does not track yet. The imports decide which test files that touches, as `ruff analyze graph` reads them:
first the changed test files, then those in the room of a changed module, nearest in imports first, then the others
that import it, directly or by way of other modules. A changed data file touches the test files that name it or its
folder.

Tests that start Spark or a browser, that compile the kernel, that need a broker, or that `make test-full` keeps are
left out, so are all but the nearest `FILES`, and whatever has not begun after `SECONDS`: the last lines say so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = 'src = [".", "tests", "tests/given", "tests/study"]'
LEFT_OUT = "not (browser or spark or broker or full or kernel)"
FILES = 40
SECONDS = 40
"""After so many seconds no further test begins; ruff, ty and the tests under way take the rest of a minute."""
SCENARIO_TESTS = "tests/house/test_scenarios.py"


def output(*command: str) -> str:
    """Return the standard output of a command. Raise CalledProcessError if it fails."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def changed_files() -> list[str]:
    """Return the paths of all changed and new files that exist, relative to the checkout."""
    known = subprocess.run(["git", "rev-parse", "--verify", "--quiet", "origin/main"], cwd=ROOT, capture_output=True)
    since = output("git", "merge-base", "HEAD", "origin/main").strip() if known.returncode == 0 else "HEAD"
    names = output("git", "diff", "--name-only", "-z", since).split("\0")
    names += output("git", "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return [name for name in dict.fromkeys(names) if name and (ROOT / name).is_file()]


def dependents() -> dict[str, list[str]]:
    """Return, for each Python file, the files that import it."""
    return json.loads(output(
        str(Path(sys.executable).with_name("ruff")), "analyze", "graph", "--direction", "dependents", "--quiet",
        "--config", SOURCES, "hawb", "tests", "benchmarks",
    ))  # fmt: skip


def room(name: str) -> str:
    """Return the room of a file of `hawb` or `tests`: the name of its folder there."""
    parts = Path(name).parts
    return parts[1] if len(parts) > 2 else ""


def is_test(name: str) -> bool:
    """Return True if a path is that of a test file."""
    return name.startswith("tests/") and Path(name).name.startswith("test_") and name.endswith(".py")


def distances(changed: list[str], importers: dict[str, list[str]]) -> dict[str, int]:
    """Return the changed files and all that import them, each with the length of the shortest chain of imports."""
    found, reached = dict.fromkeys(changed, 0), list(changed)
    for name in reached:
        for importer in importers.get(name, ()):
            if importer not in found:
                found[importer] = found[name] + 1
                reached.append(importer)
    return found


def naming(changed: list[str]) -> set[str]:
    """Return the test files that name a changed data file, or the folder of `data` that it is in."""
    data = [Path(name) for name in changed if name.startswith("data/")]
    words = {word for file in data for word in (file.name, *file.parts[1:2]) if word != "README.md"}
    texts = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
             for file in (ROOT / "tests").rglob("test_*.py")} if words else {}  # fmt: skip
    return {name for name, text in texts.items() if any(word in text for word in words)}


def chosen(changed: list[str], importers: dict[str, list[str]]) -> list[str]:
    """Return the test files that a change touches, those that most likely fail first."""
    far = distances([name for name in changed if name.endswith(".py")], importers)
    rooms = {room(name) for name in changed if name.startswith("hawb/")}
    touched = {name: (far[name] > 0, room(name) not in rooms, far[name]) for name in far if is_test(name)}
    touched |= {name: (True, False, 1) for name in naming(changed) if name not in touched}
    if any(name.startswith("data/scenarios/") for name in changed):
        touched[SCENARIO_TESTS] = (False, False, 0)
    return sorted(touched, key=lambda name: (*touched[name], name))


def main(arguments: list[str]) -> int:
    """Run the tests of what changed; the exit status is pytest's, 0 if there are none."""
    changed = changed_files()
    files = chosen(changed, dependents())
    kinds = defaultdict(int)
    for name in changed:
        kinds[Path(name).parts[0]] += 1
    result = ", ".join(f"{count} in {place}" for place, count in sorted(kinds.items())) or "none"
    sys.stdout.write(f"changed files: {result}; test files that they touch: {len(files)}\n")
    sys.stdout.flush()
    if "--list" in arguments:
        sys.stdout.write("".join(f"{name}\n" for name in files))
        return 0
    if not files:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses=2", "--dist=loadfile", f"-m={LEFT_OUT}",
               "--no-loadscope-reorder", f"--begin-within={SECONDS}", *arguments, *files[:FILES]]  # fmt: skip
    status = subprocess.run(command, cwd=ROOT).returncode
    if (left := len(files) - FILES) > 0:
        sys.stdout.write(f"{left} more test files import what changed: make test\n")
    return 0 if status == 5 else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
