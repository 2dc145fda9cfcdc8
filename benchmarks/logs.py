"""Logs of brokers read into events: lines a minute, on one core."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import rate, seconds
from hawb.incident.reading import read_file

KEPT = Path(__file__).parents[1] / "data" / "logs"
LINES = 200_000
CLIENT = (
    "2026-11-27 08:{:02}:{:02}.{:06}+00:00 [info] <0.{}.0> closing AMQP connection <0.{}.0> "
    "(10.1.{}.9:{} -> 10.0.0.1:5672 - orders {}, vhost: '/', user: 'shop')\n"
)
UNKNOWN = "2026-11-27 08:{:02}:{:02}.{:06}+00:00 [warning] <0.{}.0> Plugin number {} of {} says {} and {}\n"


def figures() -> Iterator[str]:
    """Return lines for logs of real nodes, a busy broker's log of clients, and a log of unknown messages."""
    real = "".join(gzip.decompress(file.read_bytes()).decode() for file in sorted(KEPT.rglob("*.log.gz")))
    several = {
        "what real nodes logged": real * (LINES // real.count("\n") + 1),
        "clients come and go": "".join(CLIENT.format(*_numbers(n)) for n in range(LINES)),
        "what no rule knows": "".join(UNKNOWN.format(*_numbers(n)) for n in range(LINES)),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in several.items():
            file = Path(folder) / "rabbit@a.log"
            file.write_text(text)
            taken = seconds(lambda file=file: read_file(file), 3)
            yield rate(f"{name}: lines", text.count("\n"), taken) + "   wanted: 8,333 on each of two cores"


def _numbers(n: int) -> tuple[int, ...]:
    return (n // 60 % 60, n % 60, n % 1_000_000, n, n + 1, n % 250, 1024 + n % 60_000, n)
