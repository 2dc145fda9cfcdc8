"""`python -m benchmarks [NAME ...]`: all benchmarks, or those named."""

from __future__ import annotations

import importlib
import platform
import sys

BENCHMARKS = (
    "engine", "depth", "flows", "raft", "command", "lab", "browser", "explore", "upgrade", "safe", "kernel",
    "preset", "audit", "logs", "coverage",
)  # fmt: skip


def main(names: list[str]) -> None:
    """Print the figures of each benchmark."""
    print(f"Python {platform.python_version()}, {platform.machine()}; median (least to most) of several rounds")
    for name in names or BENCHMARKS:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{name}: {module.__doc__.splitlines()[0]}")
        for line in module.figures():
            print("  " + line)


if __name__ == "__main__":
    main(sys.argv[1:])
