"""Wrong answers to the exercise of notebook 29, and why each is refused."""

from __future__ import annotations

from answer_steps import SYNC, stories

ON_THE_DAY_AFTER = {
    "29-retold": [
        ([], "Your story ends too early: in the logs, b is asked to stop"),
        (stories("stop b", "stop c", "kill a"), "In your story c is asked to stop; in the logs, b starts"),
        (stories("kill b"), "In your story b is killed; in the logs, b is asked to stop"),
        (stories("stop b", "start b", "stop c", "stop a"),
         "In your story a is asked to stop; in the logs, a is killed"),
        (stories("stop b", "start b", "stop c", "power_off a"), "In your story a loses its power, and is noticed only"),
        (stories("stop b", "start b", "stop c", "kill a", "start a"), "Your story continues: a starts"),
        ([*stories("stop b", "start b"), SYNC, *stories("stop c", "kill a")],
         "It loses no messages of 100: it contains something"),
        ([{"publish": {"queue": "orders", "count": 1}}], "here a step is one of stop, start, kill"),
    ],
}  # fmt: skip
