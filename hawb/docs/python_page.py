"""Write the page of hawb's Python API, from signatures and docstrings.

`PUBLIC` is the supported API: what README, notebooks and pages use. Everything else may change at any time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

from hawb.cluster import Cluster
from hawb.docs.prose import paragraphs
from hawb.scenario.verbs import VERBS

PUBLIC = {
    "Scenarios": ("hawb.scenario.load.load", "hawb.scenario.run.Run", "hawb.scenario.outcome.outcome"),
    "Looking ahead": (
        "hawb.planning.safe_to_stop.safe_to_stop", "hawb.planning.inventory.of_files", "hawb.planning.inventory.of_run",
        "hawb.planning.lint.lint", "hawb.planning.explore.explore", "hawb.study.replicas.what_if",
    ),
    "Incidents": (
        "hawb.incident.understanding.understand", "hawb.views.incident.incident_report.account",
        "hawb.views.incident.incident_report.report_of",
    ),
    "Studies": (
        "hawb.study.load.load", "hawb.study.register", "hawb.study.spark.session", "hawb.study.pipeline.run",
        "hawb.study.kept.kept", "hawb.study.estimates.compared", "hawb.study.throughput.one_queue",
        "hawb.study.throughput.cluster", "hawb.study.sync_duration.duration", "hawb.study.published.table",
    ),
    "Lessons": tuple(f"hawb.lessons.{name}" for name in (
        "predict", "truth", "tell", "look", "beside", "logs", "show_rule", "exercise", "check", "game", "play",
        "reset_lesson")),
}  # fmt: skip
HEAD = """# In Python

Start with `hawb.Cluster`. It has a method for each [verb](verbs.md) of a scenario. Each method plays its step at once
and returns the cluster. In a notebook, a cluster is shown as a diagram and tables.

"""
VERBS_HEAD = "### A method for each verb\n\n[The verbs](verbs.md) say what each field accepts.\n"
REST_HEAD = "### Undo, copy, export and inspect\n"


def python_page() -> str:
    """Return the page."""
    parts = [HEAD, ":::{py:module} hawb\n:::\n", "## Cluster\n", _described("class", "Cluster", Cluster), VERBS_HEAD]
    parts += [_described("method", f"Cluster.{name}", getattr(Cluster, name)) for name in VERBS]
    parts.append(REST_HEAD)
    rest = (name for name in vars(Cluster) if not name.startswith("_") and name not in VERBS)
    parts += [_member(Cluster, f"Cluster.{name}", name) for name in rest]
    for title, names in PUBLIC.items():
        parts.append(f"## {title}\n")
        parts += [part for name in names for part in _offered(name)]
    return "\n".join(parts)


def _offered(name: str) -> Iterator[str]:
    """Yield the description of another module's function, or of a class and its members, under its full name."""
    module, _, own = name.rpartition(".")
    found = getattr(import_module(module), own)
    if not inspect.isclass(found):
        yield _described("function", name, found)
        return
    yield _described("class", name, found)
    yield from (_member(found, f"{name}.{member}", member) for member in vars(found) if not member.startswith("_"))


def _member(owner: type, name: str, member: str) -> str:
    """Return the description of a method or property of a class."""
    found = vars(owner)[member]
    if isinstance(found, property | cached_property):
        return _described("property", name, found)
    return _described("method", name, getattr(owner, member), isinstance(found, classmethod))


def _described(kind: str, name: str, found: Any, of_class: bool = False) -> str:
    """Return the description of an object, in the form of Sphinx's Python domain."""
    signature = "" if kind == "property" else _signature(found)
    mark = ":classmethod:\n" * of_class
    return f":::{{py:{kind}}} {name}{signature}\n{mark}\n{paragraphs(found.__doc__)}\n:::\n"


def _signature(found: Callable) -> str:
    """Return a signature in one line, with types as in the source."""
    whole = inspect.signature(found)
    parameters = [one.replace(annotation=_bare(one.annotation), default=_default(one.default))
                  for one in whole.parameters.values() if one.name != "self"]  # fmt: skip
    return str(whole.replace(parameters=parameters, return_annotation=_bare(whole.return_annotation)))


def _bare(annotation: Any) -> Any:
    return Bare(annotation) if isinstance(annotation, str) else annotation


def _default(value: Any) -> Any:
    return Bare("...") if callable(value) and value is not inspect.Parameter.empty else value


class Bare(str):
    """Text that is shown in a signature without quotes."""

    def __repr__(self) -> str:
        return str(self)
