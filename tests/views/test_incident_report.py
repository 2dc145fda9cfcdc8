"""The report on an incident as data, text, page and JSON."""

from __future__ import annotations

import json

import pytest
from html_pages import assert_fetches_nothing
from incidents import LOGS, certain, incident, kept, possible, with_losses
from json_schemas import validate
from kept_logs import STORIES, title
from msgspec.structs import replace

from hawb.incident.doubts import Doubt
from hawb.incident.understanding import understand
from hawb.views.incident.incident_json import plain
from hawb.views.incident.incident_page import page
from hawb.views.incident.incident_report import LOST, STORY, account, doubted, report_of
from hawb.views.report import Part
from hawb.views.terminal import text


def part(found, heading: str) -> Part:
    [told] = [part for part in report_of(account(found)).parts if part.title == heading]
    return told
