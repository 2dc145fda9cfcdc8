"""The kept results of campaigns of wide stories.

They say how often each pair of settings was played, and how often model and broker agreed. Stories can be drawn again
from their seed only until the draws change, so the counts are kept and not the stories. A file is JSON Lines: the
campaign, and then a line for each pair of settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hawb.conformance.fuzz import Campaign
from hawb.conformance.wide_campaigns import Pair, pairs, queue_stories
from hawb.rules.profiles import PROFILES
from hawb.scenario.saving import write


class KeptCampaign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign on an exact release, by the UTC day on which it ended.

    It counts the stories that were played, those that could not be played, and the queues of all played stories
    together; for how many of these queues model and broker agreed; and the fields that differed, by story and queue
    (without a queue: fields of the cluster).
    """

    release: str
    seed: int
    date: str
    stories: int
    unplayed: int
    seconds: int
    queues: int
    equal: int
    differing: dict[str, tuple[str, ...]]


Kept = tuple[KeptCampaign, tuple[Pair, ...]]


def kept(campaign: Campaign) -> Kept:
    """Return the counts of a campaign that are kept."""
    stories, played = list(queue_stories(campaign)), campaign.results
    differing = {f"{n} {queue}".strip(): fields for n, result in sorted(played.items())
                 for queue, fields in sorted(result.differing.items())}  # fmt: skip
    unplayed = sum(result.verdict == "unplayed" for result in played.values())
    head = KeptCampaign(
        release=PROFILES[campaign.version].release, seed=campaign.seed, date=datetime.now(UTC).date().isoformat(),
        stories=len(played) - unplayed, unplayed=unplayed, seconds=round(sum(one.seconds for one in played.values())),
        queues=len(stories), equal=sum(one.equal for one in stories), differing=differing,
    )  # fmt: skip
    return head, tuple(pairs(campaign))


def save(campaign: Campaign, folder: Path) -> Path:
    """Keep a campaign, in place of an earlier one of the same release and seed. Return the file. Raise OSError."""
    head, of_pairs = kept(campaign)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{head.release}-{head.seed}.jsonl"
    write(file, "".join(f"{msgspec.json.encode(line).decode()}\n" for line in (head, *of_pairs)))
    return file


def read(file: Path) -> Kept:
    """Return a kept campaign from its file. Raise OSError, and msgspec.DecodeError for another file."""
    first, *rest = file.read_bytes().splitlines()
    decoded = (msgspec.json.decode(line, type=Pair) for line in rest)
    return msgspec.json.decode(first, type=KeptCampaign), tuple(decoded)


def together(campaigns: Iterable[Kept]) -> list[Pair]:
    """Return each pair of settings with the counts of all campaigns, sorted."""
    often: Counter = Counter()
    equal: Counter = Counter()
    for _, of_pairs in campaigns:
        for one in of_pairs:
            often[one[:4]] += one.asked
            equal[one[:4]] += one.equal
    return [Pair(*values, often[values], equal[values]) for values in sorted(often)]
