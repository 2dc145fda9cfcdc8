"""Find the rule that matches a message quickly: by its first word, a literal text, and only then a regex.

Most messages of a busy broker match no rule, so rejecting has to be cheap. Rules whose message begins with a literal
word are looked up by that word; for the others, which begin with a part, a literal text that they contain is searched
first. Neither needs a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hawb.incident.rules import RULES, Rule

NODE = r"[^\s'\"(),;:\[\]{}<>@]+@(?:[^\s'\"(),;:\[\]{}<>@]*[^\s'\"(),;:\[\]{}<>@.])"
"""A node's name, without the quotes that Erlang puts around one with a dot."""
OF_A_NODE = re.compile(NODE)
OF_A_PROCESS = re.compile(rf"<({NODE}?)(?:\.\d+){{3}}>")
"""A process as `rabbit_misc:pid_to_string` writes it."""
PARTS: Mapping[str, str] = {
    "_": r"[^\n]*?",
    "number": r"\d+",
    "lines": r"(?:.*?(?:\n|,\s))??\s*",
    "lasted": r"(?:, duration: '[^'\n]*')?",
    "peer": rf"'?(?P<peer>{NODE})'?",
    "self": rf"'?(?P<self>{NODE})'?",
    "other": rf"'?(?P<name>{NODE})'?",
    "nodes": r"\[(?P<nodes>[^\]]*)\]",
    "partitions": r"\[.*?\]\]",
    "queue": r"queue '(?P<queue>[^\n]*?)' in vhost '(?P<vhost>[^\n]*?)'",
    "queue_name": r"(?P<queue>[^\n]*?)",
    "resource_name": r"\{resource,\s*<<\"(?P<vhost>[^\n]*?)\">>,\s*queue,\s*<<\"(?P<queue>[^\n]*?)\">>\}",
    "group": r"(?:queue '(?P<queue>[^\n]*?)' in vhost '(?P<vhost>[^\n]*?)'|(?P<group>[^:\n]{1,300}?))",
    "cluster": r"'?(?P<name>\S+?)'?",
    "member": rf"\{{'?[^',{{}}\n]+'?,\s*'?(?P<peer>{NODE})'?\}}",
    "far": rf"<(?P<peer>{NODE}?)(?:\.\d+){{3}}>",
    "fars": r"(?P<nodes>(?:\s*<[^<>\s]+>)+)",
    "listener": r"[^\n]*?(?P<name>\d+)\}?",
    "stream": r"(?P<name>[^\s\[]{1,300})",
    "supervisor": r"(?P<name>[^\n]{1,200}?)",
    "pid": r"<\d+\.\d+\.\d+>",
    "process": r"(?:(?P<name>[a-z]\w*(?::\w+/\d+)?)|[^\n]*?)",
    "vhost": r"(?P<vhost>[^\n]*?)",
    "name": r"(?P<name>[^\n]*?)",
    "reason": r"(?P<reason>[^\n]+?)",
    "died": r"(?P<reason>(?!batch size|max batch)[^\n]+?)",
    "forcibly": r"(?: forcefully)?",
    "signal": r"(?P<name>SIG\w+)",
    "resource": r"(?P<name>memory|disk|file_descriptor)",
    "release": r"(?P<release>\d[^\s]*)",
    "term": r"(?P<term>\d+)",
    "count": r"(?P<count>\d+)",
    "counts": r"(?P<count>\d+/\d+/\d+)",
    "connection": r"(?P<connection>[^\n]*?)",
    "user": r"(?P<user>[^\n]*?)",
}
"""The parts of a rule's message; a group is the field of the event that takes it. `self` is the node that writes, and
`group` is a field only where there is no queue."""
CLIPPED = 4_000
"""Number of characters of a message that are matched, except for rules with a part on a later line. Parts are searched
repeatedly, which would take for ever on an endless line."""
NUMBERS = frozenset({"term", "count"})
OPEN = frozenset({"reason", "died", "connection", "user"})
"""Parts that may hold a comma, so that as the last one of a message they go on to the end of the line."""
PART = re.compile(r"\{(\w+)\}")
WORD = re.compile(r"[^\s{]+(?=\s|$)")


class Known(NamedTuple):
    """A rule that is ready to be matched: the text that it needs, its pattern, and if it may span several lines."""

    holds: str
    reads: re.Pattern[str]
    on: bool
    rule: Rule


class Recogniser:
    """Rules in an order in which they are quickly ruled out."""

    def __init__(self, rules: Iterable[Rule] = RULES):
        self._by_word: dict[str, list[Known]] = {}
        self._others: list[Known] = []
        for rule in rules:
            known, word = ready(rule), WORD.match(rule.says)
            place = self._by_word.setdefault(word[0], []) if word else self._others
            place.append(known)

    def find(self, message: str) -> tuple[Rule, dict[str, Any]] | None:
        """Return the first rule that matches a message, and the fields of its event; None if there is none.

        The message must not begin with white space.
        """
        clipped = message[:CLIPPED]
        for known in (*self._by_word.get(clipped.split(None, 1)[0] if message else "", ()), *self._others):
            if known.holds in clipped and (found := known.reads.match(message if known.on else clipped)):
                return known.rule, fields(known.rule, found.groupdict())
        return None


def ready(rule: Rule) -> Known:
    """Compile a rule.

    White space in it matches any white space, as Erlang breaks long terms. A line break in it matches a line break or a
    comma: some loggers write a message in one line.
    """
    pieces = PART.split(rule.says)
    pattern = "".join(PARTS[piece] if place % 2 else _plain(piece) for place, piece in enumerate(pieces))
    plain = [line for piece in pieces[::2] for line in piece.split("\n")]
    on = "{lines}" in rule.says
    holds = max(plain[:1] if on else plain, key=len).strip()
    if "{" in holds or "\n" in rule.says:
        holds = max(holds.split(), key=len)
    ends = r"\n|\Z" if pieces[-1] == "" and pieces[-2] in OPEN else r"\n|,\s|\Z"
    return Known(holds, re.compile(rf"{pattern}[.\s]*(?:{ends})", re.DOTALL), on, rule)


def _plain(text: str) -> str:
    """Return the pattern for the text between a rule's parts."""
    spaces = (r"\s*,?\s+" if "\n" in space else r"\s+" for space in re.findall(r"\s+", text))
    words = [re.escape(word) for word in re.split(r"\s+", text)]
    return words[0] + "".join(space + word for space, word in zip(spaces, words[1:], strict=True))


def fields(rule: Rule, found: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the fields of an event from the groups of a match.

    `self` is among them if the message names its writer.
    """
    texts: dict[str, Any] = {name: text.strip() for name, text in found.items() if text is not None}
    if "group" in texts:
        texts["name"] = texts.pop("group")
    if "nodes" in texts:
        of_processes = OF_A_PROCESS.findall(texts["nodes"])
        texts["nodes"] = tuple(of_processes or OF_A_NODE.findall(texts["nodes"]))
    for name in NUMBERS & texts.keys():
        texts[name] = sum(map(int, texts[name].split("/")))
    return texts | rule.fixed
