"""The verdict on replicas: if the queues survive a number of failures, and what to change."""

from __future__ import annotations

from hawb.study.replicas import Advice, WhatIf
from hawb.views.formatting import counted, listing
from hawb.views.hawb_commands import asking
from hawb.views.planning.missing_files import missing
from hawb.views.report import MOST_TO_DO, ToDo, Verdict
from hawb.views.verdicts.safe import out_verdict, remedies_todo


def verdict(found: WhatIf) -> Verdict:
    """Return the verdict: yes if a majority of each queue's members survives the failures.

    Return no if a queue is already out of use, does not survive them, or there are too few nodes; unknown if files are
    missing; yes with a but if mirrored queues survive only while their mirrors are synchronised.
    """
    failures, every = counted(found.failures, "failure"), counted(len(found.advice), "queue")
    few = [one for one in found.advice if one.survives is not None and one.survives < found.failures]
    unknown = [one for one in found.advice if one.has is None]
    mirrored = [one for one in found.advice if one.queue.type == "classic" and (one.has or 0) > 1]
    if out := out_verdict(found.before):
        return out
    if few:
        does = "does" if len(few) == 1 else "do"
        return Verdict("no", f"{len(few):,} of {every} {does} not survive {failures}: {_names(few)}")
    if unknown:
        have = "has" if len(unknown) == 1 else "have"
        return Verdict("unknown", f"no file says how many replicas {_names(unknown)} {have}")
    if not found.before.live.queues_listed:
        return Verdict("unknown", "no file lists the queues")
    if not found.advice:
        return Verdict("yes", "there is no queue")
    if found.nodes is not None and found.nodes < found.members:
        return Verdict("no", f"{counted(found.nodes, 'node')} are too few for {failures}: {found.members} are needed")
    if mirrored and found.failures:
        which = f"{len(mirrored):,} of {every} only" if len(mirrored) < len(found.advice) else "only"
        return Verdict("but", f"{which} while mirrors are synchronised: {_names(mirrored)}")
    return Verdict("yes", f"every queue survives {failures}")


def todo(found: WhatIf) -> tuple[ToDo, ...]:
    """Return what to do.

    The to-dos are: write missing files, apply remedies that the engine has checked (start nodes, replace and add
    members), add nodes, migrate classic queues, and decide about those that cannot be migrated.
    """
    files = found.before.files
    unknown = tuple(one.queue.full_name for one in found.advice if one.has is None)
    lacking = found.before.live._replace(nodes_listed=True, unlisted=unknown)
    files_first = verdict(found).answer == "unknown"
    lacking_files = [*missing(lacking, files, "replicas", found.profile.mirroring)]
    asked = [*(lacking_files if files_first else ()), *remedies_todo(found.before)]
    if found.nodes is not None and found.nodes < found.members:
        asked.append(ToDo(f"Add nodes, so that each of {found.members} can hold a member."))
    movable = [one for one in found.advice if one.queue.type == "classic" and one.type == "quorum"]
    if movable:
        text = f"Move {counted(len(movable), 'classic queue')} to quorum queues of {counted(found.members, 'member')}."
        asked.append(ToDo(text, asking("migrate", files, "--plan plan/")))
    stay = [one for one in found.advice if one.type == "classic" and one.blockers]
    if stay:
        text = f"Decide about {_names(stay)}, which cannot be quorum queues: "
        keep = "mirror them, or stop using" if found.profile.mirroring else "accept one replica, or stop using"
        asked.append(ToDo(f"{text}{keep} the settings that prevent the move."))
    asked += [] if files_first else lacking_files
    return tuple(asked[:MOST_TO_DO])


def on_streams(found: WhatIf) -> tuple[str, ...]:
    """Return notes on streams: the replicas that their declarations ask for, and how to add more to a stream."""
    streams = [one for one in found.advice if one.queue.type == "stream"]
    if not streams:
        return ()
    sizes: dict[int | None, list[Advice]] = {}
    for one in streams:
        sizes.setdefault(one.declared, []).append(one)
    return (
        *(
            f"{_names(those)}: declared with "
            + (f"an initial cluster size of {size:,}." if size is not None else
               "a replica on every node that the cluster has then (no x-initial-cluster-size, and no policy with"
               " initial-cluster-size).")
            for size, those in sizes.items()
        ),
        "RabbitMQ reads x-initial-cluster-size only at the declaration; rabbitmq-streams add_replica adds one to a"
        " stream that exists. A majority of the replicas has to run: a stream with 1 or 2 replicas survives no"
        " failure, with 3 or 4 it survives one, with 5 or 6 two, and with 7 three.",
    )  # fmt: skip


def _names(queues: list[Advice]) -> str:
    return listing(one.queue.full_name for one in queues)
