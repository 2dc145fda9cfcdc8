"""The policy editor's draft: typed text and RabbitMQ's validation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hawb.lab.policy_draft import KEYS, KINDS, TOOLS, PolicyDraft, Reached
from hawb.lab.policy_panel import reach_html
from hawb.rules.policies import Policy, matching
from hawb.rules.profiles import PROFILES

PROFILE = PROFILES["3.10"]
DRAFT = PolicyDraft("ha-all", r"^ha\.", settings={"ha-mode": "all"})


def with_settings(mode: str, params: str = "") -> PolicyDraft:
    return replace(DRAFT, settings={"ha-mode": mode, "ha-params": params})


def test_valid_draft_has_no_message():
    assert DRAFT.message(PROFILE) is None
    assert DRAFT.definition() == {"ha-mode": "all"}


def test_numbers_and_lists_are_json_and_the_rest_is_text():
    draft = with_settings("exactly", " 2 ")
    assert draft.definition() == {"ha-mode": "exactly", "ha-params": 2}
    draft = with_settings("nodes", '["a", "b"]')
    assert draft.definition() == {"ha-mode": "nodes", "ha-params": ["a", "b"]}


@pytest.mark.parametrize("text", ["two", "[1", "NaN", "[" * 100_000])
def test_invalid_json_is_passed_on_as_text_and_refused(text):
    draft = with_settings("exactly", text)
    assert draft.definition()["ha-params"] == text
    assert 'ha-mode="exactly" takes an integer' in draft.message(PROFILE)


def test_empty_field_omits_its_key():
    assert with_settings(" ").definition() == {}
    assert "no policy provided" in with_settings("").message(PROFILE)


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        (PolicyDraft("x", "(", settings={"ha-mode": "all"}), "pattern should be regular expression but is invalid"),
        (PolicyDraft("x", "", settings={"ha-mode": "all"}, priority="high"), "priority must be a number"),
        (PolicyDraft("x", "", settings={"ha-mode": "all"}, apply_to="cats"), "apply-to 'cats' unrecognised"),
        (PolicyDraft("", "", settings={"ha-mode": "all"}), "name: missing"),
        (PolicyDraft("x", "", others="nonsense"), "other keys: not a JSON object"),
        (PolicyDraft("x", "", others='{"max-lenght": 1}'), "are not recognised policy settings"),
    ],
)
def test_invalid_draft_shows_the_error(draft, text):
    assert text in draft.message(PROFILE)
    assert draft.policy(PROFILE) is None
    assert draft.renderings(PROFILE) == {}
    assert draft.reach({"q": {"type": "classic"}}, [], PROFILE) == []


def test_other_keys_are_merged_with_the_fields():
    draft = PolicyDraft("x", "", others='{"message-ttl": 5}', settings={"ha-mode": "all"})
    assert draft.definition() == {"message-ttl": 5, "ha-mode": "all"}


def test_policy_round_trips_through_a_draft():
    policy = Policy.of("p", "^q", {"ha-mode": "nodes", "ha-params": ["a"], "expires": 9}, 3, "all", "shop")
    assert PolicyDraft.of(policy).policy(PROFILE) == policy


def test_draft_shows_which_policy_wins_for_each_queue():
    other = Policy.of("strong", "orders", {"expires": 9}, priority=1)
    equal = Policy.of("equal", "mail", {"expires": 9})
    draft = PolicyDraft("mine", "", settings={"ha-mode": "all"})
    queues = {name: {"type": "classic"} for name in ("ha.orders", "ha.mail", "ha.log", "shop::x")}
    assert draft.reach(queues, [other, equal], PROFILE) == [
        Reached("ha.orders", "strong", False, ()),
        Reached("ha.mail", "equal", False, ("equal",)),
        Reached("ha.log", "mine", True, ()),
    ]


def test_draft_replaces_the_policy_of_its_name():
    old = Policy.of("ha-all", "^ha", {"expires": 9}, priority=99)
    assert DRAFT.reach({"ha.x": {"type": "classic"}}, [old], PROFILE) == [Reached("ha.x", "ha-all", True, ())]


def test_winning_draft_is_shown_merged_with_the_operator_policy():
    cap = Policy.of("cap", "^ha", {"max-length": 5, "ha-mode": "nodes", "ha-params": ["a"]})
    (reached,) = DRAFT.reach({"ha.x": {"type": "classic"}}, [], PROFILE, [cap])
    assert reached.partner == "cap" and reached.merged["max-length"] == 5 and reached.merged["ha-mode"] == "all"
    assert "merged with operator policy cap:" in reach_html([reached], "operator policy", is_set=True)
    better = Policy.of("better", "^ha", {"max-length": 7}, priority=99)
    (beaten,) = DRAFT.reach({"ha.x": {"type": "classic"}}, [better], PROFILE, [cap])
    assert (beaten.wins, beaten.partner, beaten.merged) == (False, None, {})


def test_operator_policy_draft_competes_with_operator_policies():
    draft = replace(DRAFT, kind="operator_policy", settings={"ha-mode": "all", "ha-sync-mode": "automatic"})
    mine = Policy.of("mine", "^ha", {"ha-sync-mode": "manual", "expires": 9}, priority=99)
    queues, profile = {"ha.x": {"type": "classic"}}, PROFILES["3.13"]
    (reached,) = draft.reach(queues, [mine], profile)
    assert (reached.wins, reached.partner) == (True, "mine")
    assert reached.merged == {"expires": 9, "ha-mode": "all", "ha-sync-mode": "automatic"}
    (reached,) = draft.reach(queues, [], profile, [mine])
    assert (reached.wins, reached.winner) == (False, "mine")


def test_operator_policy_has_fewer_settings_and_its_own_commands():
    draft = replace(DRAFT, kind="operator_policy")
    assert "are not recognised policy settings" in draft.message(PROFILE)
    renderings = replace(draft, settings={}, others='{"expires": 9}').renderings(PROFILE)
    assert renderings["rabbitmqctl"].splitlines()[-1] == "rabbitmqctl clear_operator_policy ha-all"
    assert renderings["HTTP API"].splitlines()[-1] == "DELETE /api/operator-policies/%2F/ha-all"
    assert "To clear it: Open Admin > Policies; " in renderings["Management UI"]


def test_mirroring_policy_does_not_apply_to_quorum_queues():
    assert DRAFT.reach({"ha.x": {"type": "quorum"}}, [], PROFILE) == []


def test_every_tool_has_its_rendering():
    renderings = DRAFT.renderings(PROFILE)
    assert list(renderings) == ["rabbitmqctl", "Windows", "HTTP API", "Management UI"]
    assert renderings["rabbitmqctl"].startswith("rabbitmqctl set_policy --apply-to=queues ha-all")
    assert renderings["Windows"].startswith("rabbitmqctl.bat")
    assert renderings["HTTP API"].startswith("PUT /api/policies/%2F/ha-all\n{")
    assert renderings["Management UI"].startswith("1. Open Admin > Policies")


def test_name_that_a_command_line_cannot_carry_is_explained():
    renderings = PolicyDraft("a\nb", "x", settings={"ha-mode": "all"}).renderings(PROFILE)
    assert "cannot be written in a Windows command line" in renderings["Windows"]
    assert renderings["rabbitmqctl"].startswith("rabbitmqctl")


PATTERNS, PLACES, PRIORITIES = ["", "^q", "("], ["queues", "all", "exchanges"], ["0", " 7 ", "high", "1.5"]
WORDS = ["all", "exactly", "nodes", "automatic", "manual", "always", "2", '["a"]', "min-masters"]
VALUES = st.sampled_from(WORDS) | st.text() | st.from_regex(r"[\[\]{}0-9\",:.eE-]*")


@given(
    st.builds(
        PolicyDraft,
        *(st.sampled_from(values) | st.text() for values in (["p"], PATTERNS, PLACES, PRIORITIES, ["/"])),
        settings=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2),
        others=st.sampled_from(["", '{"max-length": 5}', '{"max-age": null, "x": {"y": [{}]}}']) | st.text(),
        kind=st.sampled_from(KINDS),
    ),
    st.sampled_from(sorted(PROFILES)),
)
@example(with_settings("nodes", '["a"]'), "3.10")
@example(replace(DRAFT, pattern="^q", settings={}, others='{"max-length": 5}'), "4.0")
def test_any_input_gives_a_message_or_a_policy_with_commands(draft, version):
    profile = PROFILES[version]
    message, policy = draft.message(profile), draft.policy(profile)
    assert (policy is None) == bool(message)
    assert list(draft.renderings(profile)) == ([] if message else [*TOOLS])
    if policy is not None:
        assert PolicyDraft.of(policy, draft.kind).policy(profile) == policy
    wins = policy is not None and matching([policy], "/", "q", "classic", profile, declaring=False) == [policy]
    expected = [Reached("q", draft.name, True, ())] if wins else []
    assert draft.reach({"q": {"type": "classic"}}, [], profile) == expected
