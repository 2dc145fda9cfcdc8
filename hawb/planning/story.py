"""A scenario that did harm, to be changed in one thing: its document, and the queue as the harmful step found it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hawb.engine.core.moment import Moment
from hawb.engine.core.naming import join_queue, split_queue
from hawb.engine.core.state import Queue
from hawb.planning.harm import Harm
from hawb.rules.policies import Mirroring, Policy, effective_definition, mirroring
from hawb.scenario.dump import plain
from hawb.scenario.run import Run


class Change(Struct, frozen=True):
    """A change in words, and where it is made.

    `document` is the changed scenario document, None if the change is `impossible` for the reason given; `step` is the
    index of the harmful step in the changed scenario.
    """

    what: str
    where: str
    step: int
    document: dict | None = None
    impossible: str = ""


class Story:
    """A run, the harm in question, and the queue as the harmful step found it."""

    def __init__(self, run: Run, harm: Harm):
        self.run, self.harm = run, harm
        self.document = plain(run.scenario)
        self.before = run.moment_of(harm.step)
        self.queue = known(self.before, harm.queue) or known(run.moment(), harm.queue)
        self.vhost, self.name = split_queue(harm.queue)

    @property
    def steps(self) -> list[dict]:
        """Return the steps of the scenario document."""
        return self.document["steps"]

    @property
    def policies(self) -> tuple[Policy | None, Policy | None]:
        """Return the policy and the operator policy that apply to the queue."""
        state, queue = self.before.state, self.queue
        named = ((state.policies, queue.policy), (state.operator_policies, queue.operator_policy))
        found = [
            next((one for one in policies if (one.vhost, one.name) == (self.vhost, name)), None)
            for policies, name in named
        ]
        return found[0], found[1]

    @property
    def mirroring(self) -> Mirroring | None:
        """Return the mirroring settings that apply to the queue, or None."""
        return mirroring(effective_definition(*self.policies))

    @property
    def nodes(self) -> list[str]:
        """Return the nodes of the cluster, running ones first."""
        names, running = self.run.settings.names, self.before.state.running()
        members = [index for index, node in enumerate(self.before.state.nodes) if node.member]
        return [names[index] for index in sorted(members, key=lambda index: (index not in running, index))]

    def names_queue(self, name: object) -> bool:
        """Return True if a name in the document is the queue's."""
        return isinstance(name, str) and join_queue(*split_queue(name)) == self.harm.queue

    def arguments(self, document: dict, *verbs: str) -> Iterator[dict]:
        """Yield the arguments of all steps with these verbs that concern the queue."""
        for step in document["steps"]:
            for verb in verbs:
                given = step.get(verb)
                queues = (given.get("queue"), *given.get("queues", ())) if isinstance(given, dict) else ()
                if any(map(self.names_queue, queues)):
                    yield given

    def entries(self, document: dict) -> list[dict]:
        """Return the queue's entries among the initial queues: one, or none."""
        return [entry for entry in document.get("queues", ()) if self.names_queue(entry["queue"])]

    def change(self, what: str, where: str, document: dict) -> Change:
        """Return a change that can be made."""
        return Change(what, where, self.harm.step, document)

    def impossible(self, what: str, reason: str) -> Change:
        """Return a change that cannot be made, with the reason."""
        return Change(what, "", self.harm.step, impossible=reason)


def known(moment: Moment, name: str) -> Queue | None:
    """Return the record of a queue from the first side of the partition that has one; None if none has."""
    return next((side.queues[name] for side in moment.state.sides if name in side.queues), None)
