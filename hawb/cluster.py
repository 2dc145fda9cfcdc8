r"""A simulated cluster in Python, with one method for each verb of a scenario.

Each method applies its step at once:

    cluster = Cluster("a", "b", "c", version="3.10")
    cluster.set_policy("ha-all", r"^ha\.", {"ha-mode": "all"}).declare("ha.orders", node="a").publish("ha.orders", 100)
    cluster.stop("b").start("b").publish("ha.orders", 10).stop("c").kill("a")
    print(cluster.why("ha.orders", 1))

In a notebook, a cluster is displayed as a diagram and tables, and `show()` opens it in the lab. You can undo steps, and
copy a cluster or save it as a scenario. If RabbitMQ refuses a step, the method raises no exception, but gives a warning
(`RefusedWarning`) and adds an entry to `errors`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hawb.scenario import numbering, signatures
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump, plain
from hawb.scenario.fields import Verb
from hawb.scenario.frames import ByName, Rows
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.saving import write
from hawb.scenario.script import script
from hawb.scenario.verbs import VERBS, PublishMode

if TYPE_CHECKING:
    from hawb.cluster_verbs import Verbs
    from hawb.lab.page import Lab
    from hawb.views.planning.alternatives import Table as AlternativesTable
    from hawb.views.planning.forecast import Table as ForecastTable
    from hawb.views.story.pictures import Panel

else:
    Verbs = object

_CALLER = 3
"""The stack level of the line that called the verb, for warnings of `Cluster._apply`."""


class RefusedWarning(UserWarning):
    """Warn that RabbitMQ refused a step. `Cluster.errors` has RabbitMQ's error, and further steps can follow."""


class Cluster(Verbs):
    """A simulated RabbitMQ cluster. `nodes` are the names of its nodes, which all run at first.

    `settings` are the keys of `cluster` in a scenario file: `version`, `queue_master_locator`, `timing` and so on. The
    constructor and every verb raise ScenarioRefused if hawb would refuse a scenario file with the same content.

    Example: `Cluster("a", "b", "c", version="3.13")`
    """

    _lab: Lab | None = None

    def __init__(self, *nodes: str, title: str = "A cluster", seed: int = 0, **settings: object):
        given = {"scenario": title, "seed": seed, "cluster": {"nodes": list(nodes), **settings}}
        self.run = Run(read_scenario(given))

    @classmethod
    def of(cls, scenario: Scenario) -> Cluster:
        """Return the cluster at the end of a scenario.

        Example: `Cluster.of(scenario)`, where `hawb.scenario.load.load` returned the scenario
        """
        cluster = cls.__new__(cls)
        cluster.run = Run.of(scenario)
        return cluster

    @classmethod
    def load(cls, file: str | Path) -> Cluster:
        """Return the cluster at the end of a scenario file. Raise ScenarioRefused, OSError.

        Example: `Cluster.load("data/scenarios/quorum-leader-killed.yaml")`
        """
        return cls.of(load(Path(file)))

    # Each verb of `hawb.scenario.verbs` is a method: made below, except this one

    def publish(
        self,
        queue: str | Iterable[str],
        count: int = 1,
        *,
        at: float | None = None,
        size: int = 1024,
        persistent: bool = True,
        mode: PublishMode = "confirm",
        node: str | None = None,
        priority: int | None = None,
        connection: str = "default",
    ) -> Self:
        """basic.publish: `count` messages of `size` bytes to a queue, or each message to several queues.

        Example: `cluster.publish("orders", 100)`
        """
        target = {"queue": queue} if isinstance(queue, str) else {"queues": list(queue)}
        fields = {"size": size, "persistent": persistent, "mode": mode, "node": node, "priority": priority}
        given = {name: value for name, value in fields.items() if value is not None}
        return self._apply("publish", target | {"count": count} | given | {"connection": connection}, at)

    # Undo, copy and export

    def undo(self, steps: int = 1) -> Cluster:
        """Undo the last steps. Raise IndexError if there are fewer.

        Example: `cluster.undo(2)`
        """
        for _ in range(steps):
            self.run.undo()
        self._moved()
        return self

    def rewind(self, to: int = 0) -> Cluster:
        """Undo all steps except the first `to`. Raise IndexError if there are fewer.

        Example: `cluster.rewind()` goes back to the beginning.
        """
        return self.undo(len(self.run.steps) - to)

    def copy(self) -> Cluster:
        """Return a copy of the cluster. Later steps on the copy do not change the original, and vice versa.

        Example: `cluster.copy().kill("a")`
        """
        other = Cluster.__new__(Cluster)
        other.run = self.run.copy()
        return other

    def yaml(self) -> str:
        """Return the scenario so far as YAML.

        Example: `print(cluster.yaml())`
        """
        from hawb.views.display import PlainText

        return PlainText(dump(self.run.scenario))

    def python(self) -> str:
        """Return the scenario so far as a Python script.

        Example: `print(cluster.python())`
        """
        from hawb.views.display import PlainText

        return PlainText(script(self.run.scenario))

    def html(self) -> str:
        """Return the report of the story so far as an HTML page. The page loads no other files.

        Example: `Path("story.html").write_text(cluster.html(), encoding="utf-8")`
        """
        from hawb.planning.advised import advised
        from hawb.views.story.report import page

        return page(self.outcome, self.yaml(), advised(self.run, self.outcome))

    def save(self, file: str | Path) -> Path:
        """Write the scenario so far to a file, replacing it, and return the path. Raise OSError.

        Example: `cluster.save("story.yaml")`
        """
        write(Path(file), self.yaml())
        return Path(file)

    @property
    def lab(self) -> Lab:
        """Return the lab's page for this cluster, as a widget.

        A click on the page changes this cluster, and a verb called on this cluster changes the page. Raise
        ModuleNotFoundError if the extra `lab` is not installed.
        """
        if self._lab is None:
            from hawb.lab.page import lab_of

            self._lab = lab_of(self.run.copy(), self._follow)
        return self._lab

    def show(self) -> Lab:
        """Return the lab's page for this cluster. Call this method in the last line of a notebook cell.

        Example: `cluster.show()`
        """
        return self.lab

    # The present state

    @property
    def outcome(self) -> dict:
        """Return the outcome as `hawb run --json` prints it.

        Example: `cluster.outcome["nodes"]["a"]`
        """
        return outcome(self.run)

    @property
    def was(self) -> dict | None:
        """Return the outcome before the last step; None if there is no step."""
        steps = len(self.run.steps)
        return outcome(self.run, self.run.moment(steps - 1)) if steps else None

    @property
    def queues(self) -> ByName:
        """Return the queues by name. `.to_frame()` returns them as a DataFrame.

        Example: `cluster.queues["orders"]["state"]`
        """
        return ByName(self.outcome["queues"])

    @property
    def ledger(self) -> ByName:
        """Return what happened to every message, by queue. `.to_frame()` returns it as a DataFrame.

        Example: `cluster.ledger["orders"]["lost_confirmed"]`
        """
        return ByName(self.outcome["ledger"])

    @property
    def losses(self) -> Rows:
        """Return the lost messages, with the cause of each loss. `.to_frame()` returns them as a DataFrame.

        Example: `cluster.losses.to_frame()`
        """
        return Rows(self.outcome["losses"])

    @property
    def errors(self) -> Rows:
        """Return the steps that RabbitMQ refused, with its error texts. `.to_frame()` returns them as a DataFrame.

        Example: `cluster.errors[-1]["text"]`
        """
        return Rows(self.outcome["errors"])

    @property
    def events(self) -> Rows:
        """Return the events in order. `.to_frame()` returns them as a DataFrame.

        Example: `[event["event"] for event in cluster.events]`
        """
        return Rows(self.outcome["events"])

    def why(self, queue: str, message: int) -> str:
        """Return a paragraph that says what happened to one message, and why.

        Raise ValueError if the message is unknown.

        Example: `cluster.why("orders", 1)`
        """
        from hawb.views.display import Sentences
        from hawb.views.story.why import why

        return Sentences(why(self.outcome, queue, message))

    def what_would_have_kept(self, queue: str, step: int | None = None) -> AlternativesTable:
        """Play the story again with one change at a time, and return how many of a queue's messages each change keeps.

        `step` is the index of the step that did harm; 0 is the first step. By default, it is the last step that lost
        messages or, if no step lost messages, the last step that did harm. The result's `alternatives` has the runs.
        Raise ValueError if the step did no harm; the error names the steps that did harm.

        Example: `cluster.what_would_have_kept("orders")`
        """
        from hawb.planning.alternatives import what_would_have_kept
        from hawb.planning.harm import harms
        from hawb.views.planning.alternatives import Table

        found = [harm for harm in harms(self.run) if harm.queue == queue]
        chosen = [harm for harm in found if step in (None, harm.step)]
        if not chosen:
            there = ", ".join(numbering.place(harm.step) for harm in found)
            known = f"steps that did harm: {there}" if found else "it lost no messages and was always available"
            asked = "" if step is None else f" at {numbering.place(step)}"
            raise ValueError(f"nothing did harm to {queue!r}{asked}; {known}")
        return Table(what_would_have_kept(self.run, max(chosen, key=lambda harm: (bool(harm.lost), harm.step))))

    def safe_to_stop(self, *nodes: str) -> ForecastTable:
        """Return what would happen to each queue if a node were stopped or killed now.

        This is done for each of `nodes`, by default for each running node. The result also has the results of
        RabbitMQ's own checks; its `forecasts` has the forecasts as values.

        Example: `cluster.safe_to_stop("a")`
        """
        from hawb.planning.safe_to_stop import safe_to_stop
        from hawb.views.planning.forecast import Table

        return Table(safe_to_stop(self.run, nodes or None))

    def raft(self, queue: str, at: float | None = None) -> str:
        """Return the Raft group of a quorum queue as text: each member's role, term, vote and log.

        With `at`, in seconds, return the group at that time, including messages in transit. Raise ValueError if the
        queue is not a quorum queue, or if the time is in the past.

        Example: `cluster.raft("orders")`
        """
        from hawb.views.cluster import raft
        from hawb.views.display import PlainText

        moment = self.run.moment() if at is None else self.run.moment_at(at)
        return PlainText(raft.text(moment.state, self.run.settings.names, queue))

    def story(self) -> str:
        """Return the events as sentences, each with its time in seconds.

        Example: `print(cluster.story())`
        """
        from hawb.views.display import Sentences
        from hawb.views.story.telling import sentences

        return Sentences("\n".join(f"{sentence.t:>10.3f} s  {sentence.text}" for sentence in sentences(self.outcome)))

    def __repr__(self) -> str:
        from hawb.views.cluster.queue_table import list_queues

        return list_queues(self.outcome)

    def _repr_html_(self) -> str:
        from hawb.views.cluster import ledger, matrix, metadata, queue_table

        now, was = self.outcome, self.was
        return matrix.svg(now, was) + metadata.html(now) + queue_table.html(now, was) + ledger.html(now, was)

    def _repr_svg_(self) -> str:
        from hawb.views.story import pictures

        return pictures.svg([self.panel()], self.was)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from hawb.views.display import mimebundle

        return mimebundle(self, include, exclude)

    def panel(self, caption: str = "") -> Panel:
        """Return the cluster's picture with a caption. `hawb.views.story.pictures` draws several side by side."""
        from hawb.views.story.pictures import panel

        return panel(caption, self.outcome, self.run.moment().state, self.run.settings.names)

    def _apply(self, verb: str, argument: object, at: float | None) -> Cluster:
        step = {verb: argument} | ({} if at is None else {"at": at})
        before = self.run.moment()
        # A story knows from its beginning which nodes will join, so it is played again from there.
        if verb == "join" and argument not in self.run.settings.names:
            values = plain(self.run.scenario)
            self.run = Run.of(read_scenario(values | {"steps": [*values.get("steps", ()), step]}))
            refused = self.run.moment().refusals[len(before.refusals) :]
        else:
            self.run.apply_plain(step)
            refused = self.run.moment().refusals_since(before)
        for refusal in refused:
            warnings.warn(f"RabbitMQ refused {verb}: {refusal.text}", RefusedWarning, stacklevel=_CALLER)
        self._moved()
        return self

    def _follow(self, run: Run) -> None:
        """Take over the run that a person has changed in the lab."""
        self.run = run

    def _moved(self) -> None:
        """Show the cluster's present state in the lab."""
        if self._lab is not None:
            self._lab.follow(self.run.copy())


def _method(name: str, struct: type[Verb]) -> Callable[..., Cluster]:
    """Return the method for a verb."""
    signature = signatures.signature(struct)

    def method(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        given = dict(bound.arguments)
        del given["self"]
        at = given.pop("at", None)
        return self._apply(name, signatures.argument(struct, given), at)

    method.__name__, method.__qualname__ = name, f"Cluster.{name}"
    method.__doc__ = signatures.description(name, struct)
    setattr(method, "__signature__", signature)  # noqa: B010 - functions are not known to have it
    return method


for _name, _struct in VERBS.items():
    if not hasattr(Cluster, _name):
        setattr(Cluster, _name, _method(_name, _struct))
