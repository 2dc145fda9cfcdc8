"""Show the elections of Raft groups message by message: candidates, terms, votes, refusals, and failed elections.

The engine records each request and each answer (`hawb.engine.core.moment.Ballot`); here they become movements of a
story (`hawb.views.story.movements`), which a page plays and a reader can read instead.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from msgspec import Struct

from hawb.engine.core.agenda import EVENT
from hawb.engine.core.moment import Ballot, Moment
from hawb.engine.core.state import CLASSIC, State
from hawb.engine.raft_groups.events import ElectionDue, RaftArrives
from hawb.engine.raft_groups.group import STORE
from hawb.languages import N_, Plural, _, ngettext
from hawb.raft.member import CANDIDATE, PRE_VOTE
from hawb.raft.messages import PreVote, PreVoteResult, RequestVote, RequestVoteResult
from hawb.rules.quorum import majority
from hawb.views.formatting import commas, listing, shown, whole

MOST_GROUPS = 3
"""The most groups whose elections are shown at once if no queue is chosen."""
MICROSECONDS = 1_000_000

Request = PreVote | RequestVote
Answer = PreVoteResult | RequestVoteResult

UNDER_WAY = {
    (PreVote, None): ("ask", N_("request for a pre-vote")),
    (RequestVote, None): ("stand", N_("request for a vote")),
    (PreVoteResult, True): ("would_vote", N_("pre-vote")),
    (PreVoteResult, False): ("refuse_vote", N_("refusal of a pre-vote")),
    (RequestVoteResult, True): ("vote", N_("vote")),
    (RequestVoteResult, False): ("refuse_vote", N_("refusal of a vote")),
}
"""The kind of movement of a message that is under way, and what it is, by its type and its answer."""

WOULD_VOTE = Plural("{members} would vote for {candidate}.", "{members} would vote for {candidate}.")
VOTE = Plural("{members} votes for {candidate} in term {term}.", "{members} vote for {candidate} in term {term}.")
WAITING = N_("{nodes} wait, each for a random time, and ask again.")


class Round(Struct):
    """A candidate's requests of one kind in one term.

    `pending` are the members whose answer may still come, `granted` those whose (pre-)vote has arrived, with the
    candidate itself, `silent` those that were asked and did not answer. `t_us` is when it asked, `ended_us` when the
    last answer arrived or was lost.
    """

    group: str
    candidate: int
    term: int
    is_vote: bool
    t_us: int
    pending: set[int]
    granted: set[int]
    silent: set[int]
    ended_us: int = -1


class BallotEvent(Struct):
    """A sentence about a ballot, and the route of its message; `nodes` are the candidates if nothing moves.

    Requests, and votes that are granted, have no sentence of their own: `_joined` has one about all of a candidate.
    """

    t_us: int
    kind: str
    group: str
    term: int
    text: str = ""
    routes: tuple[tuple[int, int], ...] = ()
    nodes: tuple[int, ...] = ()


def flown(after: Moment, before: Moment | None, names: Sequence[str], chosen: str = "") -> list[dict]:
    """Return the movements of elections between two moments, earliest first; none without the first moment.

    They are those of the `chosen` queue. Without one they are those of all groups, if at most MOST_GROUPS elect leaders
    and the cluster has no classic queue, from which they would draw the attention away. Each has the keys of a movement
    but `phase`; its `term`; and `at`, the candidates that it marks if nothing moves.
    """
    has_classic = any(queue.type == CLASSIC for side in after.state.sides for queue in side.queues.values())
    if before is None or (has_classic and not chosen):
        return []
    ballots, known = after.all_ballots(), before.all_ballots()
    pairs = enumerate(zip(ballots, known, strict=False))
    common = next((at for at, (one, other) in pairs if one != other), min(len(ballots), len(known)))
    # A step with a time may branch off before the first moment, which is settled.
    branches = [*ballots[common : common + 1], *known[common : common + 1]]
    since_us = min([before.state.time_us, *(ballot.t_us - 1 for ballot in branches)])
    events = [one for one in Elections(after, names).events(ballots) if one.t_us > since_us]
    if chosen:
        events = [one for one in events if one.group == chosen]
    elif len({one.group for one in events}) > MOST_GROUPS:
        return []
    together: dict[tuple, list[BallotEvent]] = {}
    for one in sorted(events, key=lambda one: one.t_us):
        together.setdefault((one.t_us, one.kind, one.group, one.term), []).append(one)
    return [_movement(ones, names) for ones in together.values()]


def _movement(events: list[BallotEvent], names: Sequence[str]) -> dict:
    first = events[0]
    sentences = [one.text for one in events if one.text] or _joined(events, names)
    return {
        "kind": first.kind, "t": first.t_us / MICROSECONDS, "event": first.kind, "queue": first.group, "node": None,
        "count": 1, "routes": [[names[a], names[b]] for one in events for a, b in one.routes], "places": [],
        "at": [names[node] for one in events for node in one.nodes], "term": first.term,
        "text": " ".join(sentences),
    }  # fmt: skip


def _joined(events: list[BallotEvent], names: Sequence[str]) -> list[str]:
    """Return a sentence about each candidate that asks, or is granted votes, at the same time."""
    asks, members = events[0].kind in ("ask", "stand"), {}
    for one in events:
        ((source, target),) = one.routes
        candidate, member = (source, target) if asks else (target, source)
        members.setdefault(candidate, []).append(shown(names[member]))
    return [
        _sentence(events[0].kind, len(others),
                  {"candidate": shown(names[candidate]), "members": listing(others), "term": whole(events[0].term)})
        for candidate, others in members.items()
    ]  # fmt: skip


def _sentence(kind: str, count: int, words: dict[str, str]) -> str:
    if kind == "ask":
        return _("{candidate} asks {members} for a pre-vote: would it be elected?", **words)
    if kind == "stand":
        return _("{candidate} stands for election in term {term}: it asks {members} for a vote.", **words)
    if kind == "would_vote":
        return ngettext(*WOULD_VOTE, count, **words)
    return ngettext(*VOTE, count, **words)


def under_way(state: State, names: Sequence[str], groups: Container[str]) -> list[dict]:
    """Return a movement for each request and answer of an election of these groups that is under way."""
    arrivals = sorted(entry for entry in state.agenda if isinstance(entry[EVENT], RaftArrives))
    found = []
    for group, one in ((entry[EVENT].queue, entry[EVENT].message) for entry in arrivals):
        kind, what = UNDER_WAY.get((type(one), getattr(one, "granted", None)), ("", ""))
        if what and group in groups:
            words = {"source": shown(names[one.source]), "target": shown(names[one.target]), "term": whole(one.term)}
            text = _("Under way from {source} to {target}: {what}, term {term}.", what=_(what), **words)
            route = one.source, one.target
            found.append(_movement([BallotEvent(state.time_us, kind, group, one.term, text, (route,))], names))
    return found


class Elections:
    """The elections of a story, derived from its ballots."""

    def __init__(self, after: Moment, names: Sequence[str]):
        self.state, self.names = after.state, names
        self.all_rounds: list[Round] = []
        self.rounds: dict[tuple[str, int, bool], Round] = {}
        """The latest round of each candidate, by group, candidate and whether it asks for votes."""
        self.votes: dict[tuple[str, int, int], int] = {}
        """The candidate that a member has voted for, by group, term and member."""
        events = ("leader_elected", "metadata_leader_elected")
        self.led = {(entry.queue or STORE, entry.detail["term"]) for entry in after.trace() if entry.event in events}
        """The groups and terms that have a leader."""

    def events(self, ballots: Sequence[Ballot]) -> Iterator[BallotEvent]:
        """Yield the events of ballots by time; those of lost messages and of failed elections come later."""
        arrived = {(one.group, one.message, one.due_us) for one in ballots if one.arrived}
        answered = {(one.group, one.message.source, one.message.target, one.t_us)
                    for one in ballots if isinstance(one.message, Answer) and not one.arrived}  # fmt: skip
        for ballot in ballots:
            group, message = ballot.group, ballot.message
            is_lost = ballot.due_us <= self.state.time_us and (group, message, ballot.due_us) not in arrived
            asks = isinstance(message, Request)
            if not ballot.arrived:
                yield self.asked(ballot) if asks else self.answer(ballot)
                if is_lost:
                    yield self.lost(ballot)
            now = self.round_of(ballot)
            if now is None:
                continue
            other = message.target if asks else message.source
            silent = asks and ballot.arrived and (group, other, message.source, ballot.t_us) not in answered
            if other in now.pending and (is_lost or silent or (ballot.arrived and not asks)):
                if ballot.arrived and not asks and message.granted:
                    now.granted.add(other)
                if silent:
                    now.silent.add(other)
                now.pending.remove(other)
                now.ended_us = max(now.ended_us, ballot.due_us)
        yield from self.failed([one for one in self.all_rounds if not one.pending])

    def round_of(self, ballot: Ballot) -> Round | None:
        """Return the latest round of a ballot's candidate; None if there is none."""
        message = ballot.message
        candidate = message.source if isinstance(message, Request) else message.target
        return self.rounds.get((ballot.group, candidate, isinstance(message, RequestVote | RequestVoteResult)))

    def asked(self, ballot: Ballot) -> BallotEvent:
        """Return the event of a request, and note the request in its round."""
        group, message, is_vote = ballot.group, ballot.message, isinstance(ballot.message, RequestVote)
        now = self.round_of(ballot)
        if now is None or (now.t_us, now.term) != (ballot.t_us, message.term):
            now = Round(group, message.source, message.term, is_vote, ballot.t_us, set(), {message.source}, set())
            self.rounds[group, message.source, is_vote] = now
            self.all_rounds.append(now)
        now.pending.add(message.target)
        if is_vote:
            self.votes[group, now.term, message.source] = message.source
        return self.of(ballot, "stand" if is_vote else "ask", now.term)

    def answer(self, ballot: Ballot) -> BallotEvent:
        """Return the event of an answer, with the reason of a refusal."""
        message, now = ballot.message, self.round_of(ballot)
        term = message.term if now is None else now.term
        is_vote = isinstance(message, RequestVoteResult)
        words = {"voter": self.name(message.source), "candidate": self.name(message.target), "term": whole(term)}
        if message.granted and is_vote:
            self.votes[ballot.group, term, message.source] = message.target
            return self.of(ballot, "vote", term)
        if message.granted:
            return self.of(ballot, "would_vote", term)
        voted_for = self.votes.get((ballot.group, term, message.source)) if is_vote else None
        if message.term > term:
            newer = whole(message.term)
            text = _("{voter} refuses {candidate}: it knows a newer term, {newer}.", newer=newer, **words)
        elif voted_for == message.source:
            text = _("{voter} refuses {candidate}: in term {term} it has voted for itself.", **words)
        elif voted_for is not None:
            other = self.name(voted_for)
            text = _("{voter} refuses {candidate}: in term {term} it has voted for {other}.", other=other, **words)
        else:
            text = _("{voter} refuses {candidate}, whose log is behind its own.", **words)
        return self.of(ballot, "refuse_vote", term, text)

    def lost(self, ballot: Ballot) -> BallotEvent:
        """Return the event of a message that does not arrive."""
        message = ballot.message
        words = {"source": self.name(message.source), "target": self.name(message.target)}
        text = (_("The request of {source} does not reach {target}.", **words) if isinstance(message, Request)
                else _("The answer of {source} does not reach {target}.", **words))  # fmt: skip
        term = message.term
        return BallotEvent(ballot.due_us, "vote_lost", ballot.group, term, text, ((message.source, message.target),))

    def failed(self, ended: Sequence[Round]) -> Iterator[BallotEvent]:
        """Yield an event for each failed election: all votes that will arrive have arrived, without a majority."""
        by_term: dict[tuple[str, int, bool, int], list[Round]] = {}
        for one in ended:
            if not self.succeeded(one):
                by_term.setdefault((one.group, one.term, one.is_vote, one.ended_us), []).append(one)
        for (group, term, is_vote, ended_us), rounds in by_term.items():
            rounds.sort(key=lambda one: one.candidate)
            nodes = tuple(one.candidate for one in rounds)
            texts = [self.without_majority(rounds, is_vote)]
            if silent := sorted({member for one in rounds for member in one.silent}):
                texts.append(_("No answer came from {nodes}.", nodes=listing(map(self.name, silent))))
            if any(self.asks_again(group, node, ended_us) for node in nodes):
                waiting = N_("{nodes} waits, and asks again.") if len(nodes) == 1 else WAITING
                texts.append(_(waiting, nodes=listing(map(self.name, nodes))))
            elif any(self.is_candidate(group, node) for node in nodes):
                texts.append(_("No member asks again until it can reach a majority."))
            yield BallotEvent(ended_us, "no_majority", group, term, " ".join(texts), nodes=nodes)

    def without_majority(self, rounds: list[Round], is_vote: bool) -> str:
        """Return a sentence about candidates of one term that got no majority."""
        first = rounds[0]
        words = {"term": whole(first.term), "needed": whole(self.needed(first))}
        have = [
            _("{candidate} has {votes} ({voters})", candidate=self.name(one.candidate), votes=whole(len(one.granted)),
              voters=commas(map(self.name, sorted(one.granted))))
            for one in rounds
        ]  # fmt: skip
        if not is_vote:
            text = N_("No majority of pre-votes: {have}, and {needed} are needed. No term begins.")
            return _(text, have=commas(have), **words)
        if len(have) == 1:
            return _("No majority of votes in term {term}: {have}, and {needed} are needed.", have=have[0], **words)
        split = N_("The votes of term {term} are split: {have}, and {needed} are needed. The term has no leader.")
        return _(split, have=commas(have), **words)

    def succeeded(self, one: Round) -> bool:
        """Return True if a round led to a majority, the term has a leader, or the group is gone."""
        is_led = one.is_vote and (one.group, one.term) in self.led
        return is_led or one.group not in self.state.groups or len(one.granted) >= self.needed(one)

    def needed(self, one: Round) -> int:
        """Return how many members are a majority."""
        members = self.state.groups[one.group].members
        return majority(len(members[one.candidate].members if one.candidate in members else members))

    def asks_again(self, group: str, node: int, since_us: int) -> bool:
        """Return True if a member has asked again since a time, or its election timer is set."""
        later = (one.t_us for one in self.rounds.values() if (one.group, one.candidate) == (group, node))
        timers = (entry[EVENT] for entry in self.state.agenda if isinstance(entry[EVENT], ElectionDue))
        return any(t_us > since_us for t_us in later) or any((one.queue, one.node) == (group, node) for one in timers)

    def is_candidate(self, group: str, node: int) -> bool:
        """Return True if a member has asked for votes and knows of no leader yet."""
        member = self.state.groups[group].members.get(node)
        return member is not None and member.role in (PRE_VOTE, CANDIDATE)

    def of(self, ballot: Ballot, kind: str, term: int, text: str = "") -> BallotEvent:
        """Return a sentence about a message as it is sent."""
        route = ballot.message.source, ballot.message.target
        return BallotEvent(ballot.t_us, kind, ballot.group, term, text, (route,))

    def name(self, node: int) -> str:
        """Return a node's name as it is shown."""
        return shown(self.names[node])
