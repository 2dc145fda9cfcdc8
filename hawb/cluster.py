"""A cluster to play with in Python: one method for each verb of a scenario, applied at once.

    cluster = Cluster("a", "b", "c", version="3.10")
    cluster.set_policy("ha-all", r"^ha\\.", {"ha-mode": "all"}).declare("ha.orders", node="a").publish("ha.orders", 100)
    cluster.stop("b").start("b").publish("ha.orders", 10).stop("c").kill("a")
    print(cluster.why("ha.orders", 1))

In a notebook a cluster shows itself as diagram and tables, and `show()` opens it in the lab. It can be taken back,
copied and saved as a scenario. What RabbitMQ refuses raises nothing: it is a warning and stands in `errors`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hawb.scenario import numbering, signatures
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump, plain
from hawb.scenario.forms import Verb
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
    """RabbitMQ refused a step; the story goes on, and the refusal stands in `Cluster.errors`."""


class Cluster(Verbs):
    """A simulated RabbitMQ cluster.

    `nodes` are names, all of them running. `settings` are those of a scenario's cluster (`version`,
    `queue_master_locator`, `timing`, …). Raises ScenarioRefused, here as in every verb, for what a scenario file would
    be refused for.
    """

    _lab: Lab | None = None

    def __init__(self, *nodes: str, title: str = "A cluster", seed: int = 0, **settings: object):
        given = {"scenario": title, "seed": seed, "cluster": {"nodes": list(nodes), **settings}}
        self.run = Run(read_scenario(given))

    @classmethod
    def of(cls, scenario: Scenario) -> Cluster:
        """The cluster to which a scenario leads."""
        cluster = cls.__new__(cls)
        cluster.run = Run.of(scenario)
        return cluster

    @classmethod
    def load(cls, file: str | Path) -> Cluster:
        """The cluster to which a scenario file leads."""
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
        """basic.publish of `count` messages of `size` bytes to a queue, or of each message to several queues.

        Example: `cluster.publish("orders", 100)`
        """
        target = {"queue": queue} if isinstance(queue, str) else {"queues": list(queue)}
        fields = {"size": size, "persistent": persistent, "mode": mode, "node": node, "priority": priority}
        given = {name: value for name, value in fields.items() if value is not None}
        return self._apply("publish", target | {"count": count} | given | {"connection": connection}, at)

    # Back, aside, and out

    def undo(self, steps: int = 1) -> Cluster:
        """Takes the last steps back. Raises IndexError when there are not so many."""
        for _ in range(steps):
            self.run.undo()
        self._moved()
        return self

    def rewind(self, to: int = 0) -> Cluster:
        """Goes back to the point after the first `to` steps."""
        return self.undo(len(self.run.steps) - to)

    def copy(self) -> Cluster:
        """A cluster that goes on from here by itself."""
        other = Cluster.__new__(Cluster)
        other.run = self.run.copy()
        return other

    def yaml(self) -> str:
        """The scenario so far, as text."""
        from hawb.views.display import Said

        return Said(dump(self.run.scenario))

    def python(self) -> str:
        """The scenario so far as a Python script."""
        from hawb.views.display import Said

        return Said(script(self.run.scenario))

    def html(self) -> str:
        """Where the story has led and how, as a web page that needs nothing but itself."""
        from hawb.planning.advised import advised
        from hawb.views.story.report import page

        return page(self.outcome, self.yaml(), advised(self.run, self.outcome))

    def save(self, file: str | Path) -> Path:
        """Writes the scenario so far to a file, over what was there."""
        write(Path(file), self.yaml())
        return Path(file)

    @property
    def lab(self) -> Lab:
        """Return the lab's page for this cluster, a widget. A click there changes this cluster, and a verb called here
        shows there. Needs the extra `lab`."""
        if self._lab is None:
            from hawb.lab.page import lab_of

            self._lab = lab_of(self.run.copy(), self._follow)
        return self._lab

    def show(self) -> Lab:
        """Return the lab's page for this cluster, to be the last line of a notebook's cell."""
        return self.lab

    # The present state

    @property
    def outcome(self) -> dict:
        """Everything, as the contract's outcome."""
        return outcome(self.run)

    @property
    def was(self) -> dict | None:
        """The outcome before the last step."""
        steps = len(self.run.steps)
        return outcome(self.run, self.run.moment(steps - 1)) if steps else None

    @property
    def queues(self) -> ByName:
        """Return the queues by name; `.to_frame()` makes a DataFrame of them, here and below."""
        return ByName(self.outcome["queues"])

    @property
    def ledger(self) -> ByName:
        """What became of every message, by queue."""
        return ByName(self.outcome["ledger"])

    @property
    def losses(self) -> Rows:
        """Messages lost for good, with their causes."""
        return Rows(self.outcome["losses"])

    @property
    def errors(self) -> Rows:
        """The steps that RabbitMQ refused."""
        return Rows(self.outcome["errors"])

    @property
    def events(self) -> Rows:
        """What happened, in order."""
        return Rows(self.outcome["events"])

    def why(self, queue: str, message: int) -> str:
        """What became of one message, and why, as a paragraph."""
        from hawb.views.display import Told
        from hawb.views.story.why import why

        return Told(why(self.outcome, queue, message))

    def what_would_have_kept(self, queue: str, step: int | None = None) -> AlternativesTable:
        """The same story under each single change that could have been made: what each would have kept of a queue's
        messages, and at what cost. `step` is the index, from 0, of the step that did harm, by default of the last that
        lost messages, or else of the last. The runs are in the answer's `alternatives`. Raises ValueError, naming the
        steps that did harm, if this one did not."""
        from hawb.planning.alternatives import what_would_have_kept
        from hawb.planning.harm import harms
        from hawb.views.planning.alternatives import Table

        found = [harm for harm in harms(self.run) if harm.queue == queue]
        chosen = [harm for harm in found if step in (None, harm.step)]
        if not chosen:
            there = ", ".join(numbering.place(harm.step) for harm in found)
            known = f"steps that did: {there}" if found else "it has lost nothing and could always be used"
            asked = "" if step is None else f" at {numbering.place(step)}"
            raise ValueError(f"nothing did harm to {queue!r}{asked}; {known}")
        return Table(what_would_have_kept(self.run, max(chosen, key=lambda harm: (bool(harm.lost), harm.step))))

    def safe_to_stop(self, *nodes: str) -> ForecastTable:
        """What a controlled stop and a kill would do to each queue now, for each running node or for some, with
        RabbitMQ's own checks beside. The forecasts are in the answer's `forecasts`."""
        from hawb.planning.safe_to_stop import safe_to_stop
        from hawb.views.planning.forecast import Table

        return Table(safe_to_stop(self.run, nodes or None))

    def raft(self, queue: str, at: float | None = None) -> str:
        """The Raft group of a quorum queue as text: each member's role, term, vote and log; with `at` as it will be at
        that time in seconds, whatever is on its way then. Raises ValueError for what is no quorum queue, and for a time
        that is past."""
        from hawb.views.cluster import raft
        from hawb.views.display import Said

        moment = self.run.moment() if at is None else self.run.moment_at(at)
        return Said(raft.text(moment.state, self.run.settings.names, queue))

    def story(self) -> str:
        """What happened, in sentences."""
        from hawb.views.display import Told
        from hawb.views.story.telling import sentences

        return Told("\n".join(f"{sentence.t:>10.3f} s  {sentence.text}" for sentence in sentences(self.outcome)))

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
        """Where the cluster stands, for pictures of several beside each other (`hawb.views.story.pictures`)."""
        from hawb.views.story.pictures import panel

        return panel(caption, self.outcome, self.run.moment().state, self.run.settings.names)

    def _apply(self, verb: str, argument: object, at: float | None) -> Cluster:
        step = {verb: argument} | ({} if at is None else {"at": at})
        before = self.run.moment()
        # A story knows from its beginning which nodes will join, so it is told anew.
        if verb == "join" and argument not in self.run.settings.names:
            told = plain(self.run.scenario)
            self.run = Run.of(read_scenario(told | {"steps": [*told.get("steps", ()), step]}))
            refused = self.run.moment().refusals[len(before.refusals) :]
        else:
            self.run.apply_plain(step)
            refused = self.run.moment().refusals_since(before)
        for refusal in refused:
            warnings.warn(f"RabbitMQ refused {verb}: {refusal.text}", RefusedWarning, stacklevel=_CALLER)
        self._moved()
        return self

    def _follow(self, run: Run) -> None:
        """Go where a person went in the lab."""
        self.run = run

    def _moved(self) -> None:
        """Show in the lab where the cluster is now."""
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
