"""Writes what logs are read for, `data/log-events.md`, anew: `python -m hawb.incident.dictionary`, in a checkout."""

from __future__ import annotations

from hawb.incident.event_table import LOG_EVENTS, SPANS
from hawb.incident.events import KINDS
from hawb.incident.rules import RULES
from hawb.incident.spans import KINDS as SPAN_KINDS
from hawb.scenario.checkout import data_folder_for
from hawb.scenario.saving import write

HEAD = """# What hawb reads from logs

hawb makes events from RabbitMQ's logs (`hawb.incident`). It reads logs of 3.8.9 to 4.3.6, and messages of 3.6 and 3.7
that are the same in these releases. Logs can be text or JSON, rotated or compressed. They can come from containers,
journald and log services, or be quoted in an e-mail. `hawb incident logs/ --events` lists the events of one cluster in
the order of time. For many clusters, use Spark:

```python
from hawb import incident

incident.register(spark)
spark.read.format("rabbitmq-logs").load("logs/").where("kind = 'node_down'").groupBy("peer").count().show()
```

hawb does not know every message: it groups unknown messages by their template, and counts them. The events do not
name clients' connections and users, unless you ask for these. `python -m hawb.incident.dictionary` writes this page.
"""
KIND = "## Kinds\n\nNames such as `peer` are columns.\n\n| kind | what it means |\n|---|---|"
SPAN = (
    "## Durations\n\n`hawb rates` computes rates from these durations. `hawb.incident.fleets.spans_on` returns them on "
    "Spark."
)
RULE = (
    "## Messages\n\nThe table lists each message that hawb knows, with the kind of its event. For a new release, add"
    " messages to `hawb/incident/rules.py`."
    "\n\n"
    "| kind | releases | logged by | how the message begins |\n|---|---|---|---|"
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
