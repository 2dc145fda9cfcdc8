"""Where on the lab's page something is asked for."""

from __future__ import annotations

from enum import StrEnum


class Place(StrEnum):
    """Where on the page something is asked for, and its answer is shown."""

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
