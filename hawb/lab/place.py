"""Name the places of the lab's page that actions come from."""

from __future__ import annotations

from enum import StrEnum


class Place(StrEnum):
    """A place on the page from which an action comes, and beside which its message is shown."""

    SCENARIO = "scenario"
    PROFILE = "profile"
    SEED = "seed"
    SAVE = "save"
    NODES = "nodes"
    QUEUES = "queues"
    CLIENTS = "clients"
    STEP = "step"
    TIME = "time"
    POLICY = "policy"
    WHY = "why"
    WHAT_IF = "what if"
    BESIDE = "beside"
