"""A story that did harm, to be changed in one thing: its file, and the queue as the harmful step found it."""

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
    """A change in words and where it is made. `document` is the changed story as a file holds it, None where the change
    is `impossible` for the reason given; `step` is the index of the harmful step in the changed story."""

    what: str
    where: str
    step: int
    document: dict | None = None
    impossible: str = ""


class Story:
    """A run, the harm that is looked into, and the queue as the step behind the harm found it."""

    def __init__(self, run: Run, harm: Harm):
        self.run, self.harm = run, harm
        self.document = plain(run.scenario)
        self.before = run.moment_of(harm.step)
        self.queue = known(self.before, harm.queue) or known(run.moment(), harm.queue)
        self.vhost, self.name = split_queue(harm.queue)

    @property
    def steps(self) -> list[dict]:
        """The steps as a file holds them."""
        return self.document["steps"]

    @property
    def policies(self) -> tuple[Policy | None, Policy | None]:
        """The policy and the operator policy that the queue is under."""
        state, queue = self.before.state, self.queue
        named = ((state.policies, queue.policy), (state.operator_policies, queue.operator_policy))
        found = [
            next((one for one in policies if (one.vhost, one.name) == (self.vhost, name)), None)
            for policies, name in named
        ]
        return found[0], found[1]

    @property
    def mirroring(self) -> Mirroring | None:
        """What its policies say of mirrors."""
        return mirroring(effective_definition(*self.policies))

    @property
    def nodes(self) -> list[str]:
        """The nodes of the cluster, those that run first."""
        names, running = self.run.settings.names, self.before.state.running()
        members = [index for index, node in enumerate(self.before.state.nodes) if node.member]
        return [names[index] for index in sorted(members, key=lambda index: (index not in running, index))]

    def names_queue(self, name: object) -> bool:
        """Whether a name in the file is the queue's."""
        return isinstance(name, str) and join_queue(*split_queue(name)) == self.harm.queue

    def arguments(self, document: dict, *verbs: str) -> Iterator[dict]:
        """The arguments of all steps of these verbs that are about the queue."""
        for step in document["steps"]:
            for verb in verbs:
                given = step.get(verb)
                queues = (given.get("queue"), *given.get("queues", ())) if isinstance(given, dict) else ()
                if any(map(self.names_queue, queues)):
                    yield given

    def entries(self, document: dict) -> list[dict]:
        """The queue's entry among those that stand at the start, if it does."""
        return [entry for entry in document.get("queues", ()) if self.names_queue(entry["queue"])]

    def change(self, what: str, where: str, document: dict) -> Change:
        """A change that can be made."""
        return Change(what, where, self.harm.step, document)

    def impossible(self, what: str, reason: str) -> Change:
        """A change that cannot be made, for a reason."""
        return Change(what, "", self.harm.step, impossible=reason)


def known(moment: Moment, name: str) -> Queue | None:
    """The queue of that name as the first side that knows it has it."""
    return next((side.queues[name] for side in moment.state.sides if name in side.queues), None)
