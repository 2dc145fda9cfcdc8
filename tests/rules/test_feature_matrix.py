"""The feature matrix: it is complete, and the rules for declarations and policies agree with it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from hawb.rules import queue_arguments, quorum_declaration
from hawb.rules.feature_matrix import Feature, read_matrix
from hawb.rules.profiles import PROFILES, Profile
from hawb.rules.quorum_profiles import QUORUM_PROFILES

TEXT = (Path(__file__).parents[2] / "data" / "feature-matrix.yaml").read_text(encoding="utf-8")
NAMED = "queue 'q' in vhost '/'"

GUIDES_ROWS = {
    "Non-durable queues", "Exclusivity", "Per message persistence", "Membership changes", "TTL", "Queue length limits",
    "Lazy behaviour", "Priority", "Dead letter exchanges", "Adheres to policies", "Reacts to memory alarms",
}  # fmt: skip

each_version = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.version)


@cache
def matrix() -> dict[str, Feature]:
    """Return the features of data/feature-matrix.yaml by their names."""
    return read_matrix(TEXT)


def test_matrix_has_every_row_of_the_guide():
    assert {feature.guide.row for feature in matrix().values() if feature.guide} == GUIDES_ROWS


def test_each_feature_is_listed_once():
    assert len(matrix()) == TEXT.count("\n- feature: ")


def refused(feature: Feature, queue_type: str, profile: Profile) -> str | None:
    """Return the text with which the rules refuse to declare a queue of this type with the feature, or None."""
    asked = feature.declare
    if queue_type == "classic":
        reason = queue_arguments.refusal(asked.arguments, NAMED, profile)
    else:
        reason = quorum_declaration.refusal(
            asked.arguments, NAMED, profile,
            durable=asked.durable, exclusive=asked.exclusive, auto_delete=asked.auto_delete,
        )  # fmt: skip
    return reason and f"PRECONDITION_FAILED - {reason}"


@each_version
def test_declarations_agree_with_the_matrix(profile: Profile, subtests: pytest.Subtests):
    for feature in (feature for feature in matrix().values() if feature.declare):
        quorum, classic = (feature.cell(queue_type, profile.version) for queue_type in ("quorum", "classic"))
        with subtests.test(msg="a quorum queue is accepted or refused", feature=feature.feature):
            text = refused(feature, "quorum", profile)
            assert text == (quorum.refused.text.format(queue=NAMED) if quorum.refused else None)
            if text is None:
                ignored = quorum_declaration.ignored_arguments(feature.declare.arguments, profile)
                assert bool(ignored) == quorum.ignored
        if classic.refused:
            with subtests.test(msg="a classic queue is refused", feature=feature.feature):
                assert refused(feature, "classic", profile) == classic.refused.text.format(queue=NAMED)


@each_version
def test_quorum_queues_read_the_policy_settings_of_the_matrix(profile: Profile, subtests: pytest.Subtests):
    """A policy with a setting that quorum queues read applies to them, too."""
    for feature in (feature for feature in matrix().values() if feature.policy):
        with subtests.test(msg="quorum queues read the setting of a policy", feature=feature.feature):
            read = feature.policy in dict(QUORUM_PROFILES[profile.version].settings)
            assert read == (feature.cell("quorum", profile.version).answer == "yes")
            if read:
                assert feature.policy not in profile.unsupported_by("quorum")


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("[{feature: f, what: w, classic: [], quorum: []}]", "classic: each of 3.8, 3.10, 3.13, 4.0, 4.3 once"),
        ("[{feature: f, what: w, classic: [{versions: ['3.8'], answer: maybe, source: s}], quorum: []}]", "answer"),
        ("[{feature: f, what: w, colour: red, classic: [], quorum: []}]", "colour"),
        (
            "[{feature: f, what: w, quorum: [],"
            " classic: [{versions: ['3.8'], answer: 'no', source: s, ignored: true, refused: {code: 1, text: t}}]}]",
            "at most one",
        ),
        (
            "[{feature: f, what: w, quorum: [],"
            " classic: [{versions: ['3.8'], answer: 'yes', source: s, ignored: true}]}]",
            "neither refused nor ignored",
        ),
    ],
)
def test_invalid_matrix_is_refused_with_the_place_of_the_error(given: str, place: str):
    with pytest.raises(msgspec.ValidationError, match=place):
        read_matrix(given)
