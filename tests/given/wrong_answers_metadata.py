"""Wrong answers to the exercises of notebook 27, on metadata that need a majority, and why each is refused."""

from __future__ import annotations

from answer_steps import stories


def rolled(*groups: str) -> list[dict]:
    """Return steps that take nodes down for a minute, one group after the other."""
    steps = []
    for group in groups:
        steps += [{"stop": list(group)}, {"wait": 60}, {"start": list(group)}]
    return steps


ON_METADATA = {
    "27-dark": [
        ([], "At the end no node is running"),
        (stories("start e"), "At the end no node is running"),
        (stories("force_boot e"), "At the end no node is running"),
        (stories("start a", "start b", "start c"), "At the end a, b and c are running, and d is not"),
        (stories("start a", "start b", "join d"), "RabbitMQ refuses step 3"),
        (stories("start a", "start b", "start d"), "RabbitMQ refuses step 3: node 'd' has not joined"),
        (stories("start a", "start b", "start c", "join d"), "are running: these are 4, and 3 are enough"),
        (stories("start a", "start b", "start c", "join d", "stop a", "stop b"), "cannot be changed: .* only c and d"),
        (stories("wipe a"), "here a step is one of start, stop"),
    ],
    "27-sites": [
        ([], "With the north cut off .* of 4 members c and d can be reached, and that is no majority"),
        (stories("join e"), "With the north cut off .* of 5 members c and d can be reached"),
        (stories("join e", "join f"), "With the north cut off .* of 6 members c, d and f can be reached"),
        (stories("join f", "stop b"), "At the end b is not running"),
        (stories("partition a"), "here a step is one of join, start"),
    ],
    "27-rolled": [
        ([], "a was down for at most 0 s; the task asks for 60 s"),
        (rolled("a", "b", "c"), "metadata could not be changed for .* a, d and e were off, .* fails after 30 s"),
        (stories("start d", "stop a", "start a", "stop b", "start b", "stop c", "start c"), "a was down for at most"),
        ([*stories("start d"), *rolled("ab", "c")], "metadata could not be changed for .*: a, b and e were off"),
        ([*stories("start d", "join e"), *rolled("abc")], "metadata could not be changed for .*: a, b and c were off"),
        ([*stories("start d"), *rolled("a", "b"), *stories("stop c", "wait 60")], "c was down for at most 0 s"),
        (stories("kill a"), "here a step is one of stop, start"),
    ],
}
