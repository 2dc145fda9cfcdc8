"""Writes what logs are read for, `data/log-events.md`, anew: `python -m hawb.incident.dictionary`, in a checkout."""

from __future__ import annotations

from hawb.incident.event_table import LOG_EVENTS, SPANS
from hawb.incident.events import KINDS
from hawb.incident.rules import RULES
from hawb.incident.spans import KINDS as SPAN_KINDS
from hawb.scenario.checkout import data_folder_for
from hawb.scenario.saving import write

HEAD = """# What a broker's logs tell

hawb reads RabbitMQ's logs into events (`hawb.incident`): of 3.8.9 to 4.3.6, and of 3.6 and 3.7 what is the same; as
text or JSON, rotated and compressed; from containers, journald and services that keep logs, and as people quote them.
Of one cluster `hawb incident logs/` tells them in the order of time; of many, Spark:

```python
from hawb import incident

incident.register(spark)
spark.read.format("rabbitmq-logs").load("logs/").where("kind = 'node_down'").groupBy("peer").count().show()
```

Whatever no rule knows is counted by its template. Nobody's connection or user is in any of it unless asked for. This
page is written by `python -m hawb.incident.dictionary`.
"""
KIND = "## Kinds\n\nNames in code font are columns.\n\n| kind | what it means |\n|---|---|"
SPAN = (
    "## Lengths of time\n\n`hawb rates` makes rates of them, and `hawb.incident.fleets.spans_on` is the table on Spark."
)
RULE = (
    "## Messages\n\nWhich message means what; the one place to which a release is added is `hawb/incident/rules.py`."
    "\n\n"
    "| kind | releases | where it is said | how it begins |\n|---|---|---|---|"
)


def page() -> str:
    """Return the page in Markdown."""
    kinds = [f"| `{kind}` | {what} |" for kind, what in KINDS.items()]
    says = [(rule, " ⏎ ".join(line.strip() for line in rule.says.split("\n")).replace("|", "\\|")) for rule in RULES]
    rules = [f"| `{rule.kind}` | {rule.releases} | `{rule.source}` | `` {text} `` |" for rule, text in says]
    lengths = [f"| `{kind}` | {what} |" for kind, what in SPAN_KINDS.items()]
    spans = [SPAN, "", str(SPANS), "", "| kind | what it means |", "|---|---|", *lengths]
    return "\n".join([HEAD, str(LOG_EVENTS), "", KIND, *kinds, "", *spans, "", RULE, *rules, ""])


if __name__ == "__main__":
    write(data_folder_for("data") / "log-events.md", page())
