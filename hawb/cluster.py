"""A cluster to play with in Python: one method for each verb of a scenario, applied at once.

    cluster = Cluster("a", "b", "c", version="3.10")
    cluster.set_policy("ha-all", r"^ha\\.", {"ha-mode": "all"}).declare("ha.orders", node="a").publish("ha.orders", 100)
    cluster.stop("b").start("b").publish("ha.orders", 10).stop("c").kill("a")
    print(cluster.why("ha.orders", 1))

In a notebook a cluster shows itself as diagram and tables. It can be taken back, copied and saved as a scenario. What
RabbitMQ refuses is no exception: it stands in `errors`, and the story goes on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import NODEFAULT, structs

from hawb.scenario import numbering
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump, plain
from hawb.scenario.forms import Bare, Flag, Verb
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.saving import write
from hawb.scenario.script import SEVERAL, script
from hawb.scenario.verbs import VERBS

if TYPE_CHECKING:
    from hawb.views.planning.alternatives import Table as AlternativesTable
    from hawb.views.planning.forecast import Table as ForecastTable
    from hawb.views.story.pictures import Panel


class Cluster:
    """A simulated RabbitMQ cluster.

    `nodes` are names, all of them running. `settings` are those of a scenario's cluster (`version`,
    `queue_master_locator`, `timing`, …). Raises ScenarioRefused, here as in every verb, for what a scenario file would
    be refused for.
    """

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

    if TYPE_CHECKING:

        def __getattr__(self, verb: str) -> Callable[..., Cluster]: ...

    # Every verb of `hawb.scenario.verbs` is a method: made below, but for this one

    def publish(
        self, queue: str | Iterable[str], count: int = 1, *, at: float | None = None, **fields: object
    ) -> Cluster:
        """basic.publish of `count` messages to a queue, or each of them to several.

        `fields` are size (bytes), persistent, mode (confirm, plain, tx), node, priority, connection.
        """
        target = {"queue": queue} if isinstance(queue, str) else {"queues": list(queue)}
        return self._apply("publish", target | {"count": count} | fields, at)

    # Back, aside, and out

    def undo(self, steps: int = 1) -> Cluster:
        """Takes the last steps back. Raises IndexError when there are not so many."""
        for _ in range(steps):
            self.run.undo()
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
        from hawb.planning.remedies import remedies
        from hawb.views.story.report import page

        return page(self.outcome, self.yaml(), remedies=remedies(self.run))

    def save(self, file: str | Path) -> Path:
        """Writes the scenario so far to a file, over what was there."""
        write(Path(file), self.yaml())
        return Path(file)

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
    def queues(self) -> dict[str, dict]:
        """The queues by name."""
        return self.outcome["queues"]

    @property
    def ledger(self) -> dict[str, dict]:
        """What became of every message, by queue."""
        return self.outcome["ledger"]

    @property
    def losses(self) -> list[dict]:
        """Messages lost for good, with their causes."""
        return self.outcome["losses"]

    @property
    def errors(self) -> list[dict]:
        """The steps that RabbitMQ refused."""
        return self.outcome["errors"]

    @property
    def events(self) -> list[dict]:
        """What happened, in order."""
        return self.outcome["events"]

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
        # A story knows from its beginning which nodes will join, so it is told anew.
        if verb == "join" and argument not in self.run.settings.names:
            told = plain(self.run.scenario)
            self.run = Run.of(read_scenario(told | {"steps": [*told.get("steps", ()), step]}))
        else:
            self.run.apply_plain(step)
        return self


def _method(name: str, struct: type[Verb]) -> Callable[..., Cluster]:
    """The method for a verb: its parameters are the verb's fields, and `at`."""
    signature = _signature(struct)

    def method(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        given = dict(bound.arguments)
        del given["self"]
        at = given.pop("at", None)
        return self._apply(name, _argument(struct, given), at)

    method.__name__, method.__qualname__ = name, f"Cluster.{name}"
    method.__doc__ = struct.__doc__
    setattr(method, "__signature__", signature)  # noqa: B010 - functions are not known to have it
    return method


def _signature(struct: type[Verb]) -> inspect.Signature:
    parameter = inspect.Parameter
    parameters = [parameter("self", parameter.POSITIONAL_OR_KEYWORD)]
    for field in structs.fields(struct):
        kind = parameter.VAR_POSITIONAL if issubclass(struct, SEVERAL) else parameter.POSITIONAL_OR_KEYWORD
        default = parameter.empty
        if kind is parameter.POSITIONAL_OR_KEYWORD and not field.required:
            default = None if field.default is NODEFAULT else field.default
        parameters.append(parameter(field.name, kind, default=default))
    return inspect.Signature([*parameters, parameter("at", parameter.KEYWORD_ONLY, default=None)])


def _argument(struct: type[Verb], given: dict[str, object]) -> object:
    """A verb's argument as a file writes it."""
    if issubclass(struct, Flag):
        return True
    if issubclass(struct, Bare):
        return _plain(next(iter(given.values())))
    names = {field.name: field.encode_name for field in structs.fields(struct)}
    return {names[key]: _plain(value) for key, value in given.items()}


def _plain(value: object) -> object:
    return (
        [_plain(one) for one in value] if isinstance(value, Iterable) and not isinstance(value, str | dict) else value
    )


for _name, _struct in VERBS.items():
    if not hasattr(Cluster, _name):
        setattr(Cluster, _name, _method(_name, _struct))
