"""The runbook of a rolling upgrade: word for word, and safe to paste whatever names are in it."""

from __future__ import annotations

import re
import subprocess

import pytest
from upgrade_clusters import ALL, cluster, mirrored, quorum
from views_outcomes import HOSTILE

from hawb.planning.full_stop import plan_full_stop
from hawb.planning.upgrade import task_of
from hawb.planning.upgrade_search import search
from hawb.views import terminal
from hawb.views.markdown import bash_word, block, plain
from hawb.views.planning.planned_upgrade import PlannedUpgrade
from hawb.views.planning.upgrade_runbook import line, runbook, stop_runbook

NAMES = [*HOSTILE, "plain", "-dash", "two words", "it's", 'a"b', "$(reboot)", "`reboot`", "a;b", "a\nb", "\x1b[31m",
         "\\x41", "a\\'\x07", "ünïcode", "```", "a|b", "*"]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in NAMES if "\0" not in name])
def test_bash_reads_every_name_literally(name: str):
    found = subprocess.run(["bash", "-c", f"printf %s {bash_word(name)}"], capture_output=True, check=True)
    assert found.stdout == name.encode()
    assert bash_word(name).isprintable()


def test_names_are_not_parsed_as_options():
    assert line("rabbitmqctl", "sync_queue", "a", "--vhost=/", names=["-q"]).endswith(" --vhost=/ -- -q")
    assert line("rabbitmqctl", "stop", "-n x").startswith("rabbitmqctl --node='-n x' stop")


def test_fence_of_a_code_block_is_longer_than_any_in_names():
    text = block(["echo '```'", "echo '`````'"])
    assert text.splitlines()[0] == "``````bash" and text.splitlines()[-1] == "``````"


def test_markdown_shows_names_literally():
    assert plain("a|b_*<b>`$x`[y](z)") == r"a\|b\_\*&lt;b&gt;\`\$x\`\[y\](z)"


@pytest.mark.parametrize("name", NAMES)
def test_names_are_escaped(name: str):
    run = cluster(mirrored(f"ha{name}", "ab"), nodes=("a", "b"), ha=ALL | {"ha-promote-on-shutdown": "always"})
    answer = search(run, task_of(run))
    shown = runbook(answer, task_of(run), name)
    fences = re.findall(r"^`{3,}.*$", shown, re.MULTILINE)
    assert len(fences) == 2 * (len(answer.plan.stages) + 1)
    assert "<script" not in re.sub(r"^(`{3,})bash$.*?^\1$", "", shown, flags=re.DOTALL | re.MULTILINE)
    for text in (shown, terminal.text(PlannedUpgrade(answer, task_of(run), name).report())):
        assert all(letter.isprintable() or letter in "\n\u2068\u2069" for letter in text)


def test_the_runbook_word_for_word():
    run = cluster(mirrored("ha.orders"), quorum("qq"), ha=ALL | {"ha-promote-on-shutdown": "always"})
    answer = search(run, task_of(run, drain=True))
    assert runbook(answer, task_of(run, drain=True), "Orders & <mail>") == RUNBOOK


def test_the_runbook_of_a_full_stop():
    run = cluster(mirrored("ha"), ha=ALL)
    task = task_of(run)
    found = plan_full_stop(run, task)
    shown = stop_runbook(found, task, "x")
    stops, starts = shown.index("rabbitmqctl --node=c stop"), shown.index("rabbitmqctl --node=c await_startup")
    assert stops < starts < shown.index("rabbitmqctl --node=b await_startup") < shown.index("--node=a await_startup")
    assert "a waits for b and c" in shown


RUNBOOK = """\
# Rolling upgrade: Orders &amp; &lt;mail&gt;

hawb wrote this plan from a simulation, with the rules of one release and the times of a model; rehearse it \
before you use it. Each node is down for 30.0 s, plus the time of its stop and its boot. If a command fails, stop: do \
not stop the next node.

## What is predicted

| plan | lost | confirmed | outage | skew | duration |
| --- | --- | --- | --- | --- | --- |
| planned | 0 | 0 | 0.33 s | 1 queue | 109.8 s |
| planned, then rabbitmq-queues rebalance all | 0 | 0 | 0.33 s | 1 queue | 109.8 s |
| naive: in the given order, with only the readiness probe | 1,000 | 0 | 0.30 s | 1 queue | 108.9 s |
| without any wait | 1,000 | 0 | 10.60 s | 2 queues | 100.3 s |
| Kubernetes: in reverse ordinal order, with only the readiness probe | 1,000 | 0 | 0.30 s | 2 queues | 109.8 s |

hawb searched for the plan that minimises lost_confirmed, lost, outage_s, skew, duration_s, the most important \
measure first. The plan may wait for: ready; quorum + 1; synced; synced, quorum + 1. The search simulated 26 restarts \
of a node with 2 queues of 2 kinds (equal queues only once), and tried every order and every wait. Random choices \
follow the scenario's seed.

## 1. b

Wait for: synced, quorum + 1. This holds from the start. In the model it stops at 0.005 s and runs again at 36.005 s.

```bash
rabbitmq-upgrade --node=b await_online_synchronized_mirror --timeout=3600
rabbitmq-upgrade --node=b await_online_quorum_plus_one --timeout=3600
rabbitmq-queues --node=b check_if_node_is_mirror_sync_critical
rabbitmq-queues --node=b check_if_node_is_quorum_critical
rabbitmq-upgrade --node=b drain
rabbitmqctl --node=b stop
# on the host of b: install the new release, then
systemctl start rabbitmq-server
```

## 2. c

Wait for: synced, quorum + 1. Without a wait, queues would be out of use for 5.00 s longer in all, qq among \
them. In the model it stops at 36.904 s and runs again at 72.904 s.

```bash
rabbitmqctl --node=b await_startup --timeout=3600
rabbitmq-upgrade --node=c await_online_synchronized_mirror --timeout=3600
rabbitmq-upgrade --node=c await_online_quorum_plus_one --timeout=3600
rabbitmq-queues --node=c check_if_node_is_mirror_sync_critical
rabbitmq-queues --node=c check_if_node_is_quorum_critical
rabbitmq-upgrade --node=c drain
rabbitmqctl --node=c stop
# on the host of c: install the new release, then
systemctl start rabbitmq-server
```

## 3. a

Wait for: synced, quorum + 1. With quorum + 1 alone, 1,000 messages would be lost, ha.orders among them. 1 \
queue will not synchronise automatically. In the model it stops at 73.841 s and runs again at 109.841 s.

```bash
rabbitmqctl --node=c await_startup --timeout=3600
rabbitmqctl --node=a sync_queue --vhost=/ ha.orders &
wait
rabbitmq-upgrade --node=a await_online_synchronized_mirror --timeout=3600
rabbitmq-upgrade --node=a await_online_quorum_plus_one --timeout=3600
rabbitmq-queues --node=a check_if_node_is_mirror_sync_critical
rabbitmq-queues --node=a check_if_node_is_quorum_critical
rabbitmq-upgrade --node=a drain
rabbitmqctl --node=a stop
# on the host of a: install the new release, then
systemctl start rabbitmq-server
```

## At the end

```bash
rabbitmqctl --node=a await_startup --timeout=3600
```

One node has 1 master or leader more than another. `rabbitmq-queues rebalance all` would leave a difference of\
 1, and cost 0.00 s of outage in all, and no messages.

## Affected queues

| queue | lost | out of use | blocked |
| --- | --- | --- | --- |
| qq | 0 | 0.300 s | 0.000 s |
| ha.orders | 0 | 0.001 s | 0.034 s |
"""
