"""A queue without replicas in the logs is not part of the initial cluster."""

from __future__ import annotations

from hawb.incident.understanding import understand

HEAD = "2026-11-27 12:31:{}.000001+00:00 [info] <0.1.0> Mirrored queue '{}' in vhost '/': {}\n"


def test_queue_without_replicas_is_left_out(tmp_path):
    """A mirror logs that another is down, and no log has more about that queue."""
    (tmp_path / "b.log").write_text(
        HEAD.format(27, "q", "Secondary replica of queue <n2@h.1.2.0> detected replica <n3@h.1.3.0> to be down")
        + HEAD.format(37, "r", "Synchronising: 3568 messages to synchronise")
    )
    found = understand([tmp_path])
    assert found.reconstructed is not None
    assert [queue.queue for queue in found.reconstructed.scenario.queues] == ["r"]
