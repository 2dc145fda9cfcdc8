"""The queue's mailbox: `hawb.engine.classic.mailbox` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.classic import mailbox
from hawb.study.kernel.record_rules import RECORD

is_busy, keeps, is_stopped, is_awaited = map(
    RECORD.of, (mailbox.is_busy, mailbox.keeps, mailbox.is_stopped, mailbox.is_awaited)
)
