"""Policies that RabbitMQ refuses, with its exact error texts."""

import pytest

from hawb.rules.erlang_terms import erlang_term
from hawb.rules.policy_validation import CHECKS, HA_CHECKS, refusal
from hawb.rules.profiles import PROFILES

FRAME = "Validation failed\n\n"


def refused(definition, version="3.10", operator=False, **fields):
    fields = {"pattern": ".*", "definition": definition, "priority": 0, "apply_to": "queues"} | fields
    text = refusal(fields, PROFILES[version], operator=operator)
    assert text is None or text.startswith((FRAME, "badarg: "))
    return text and text.removeprefix(FRAME)


@pytest.mark.parametrize(
    "definition",
    [
        {"ha-mode": "all"},
        {"ha-mode": "exactly", "ha-params": 1},
        {"ha-mode": "nodes", "ha-params": ["a", "a", "not-in-the-cluster"]},
        {"ha-mode": "all", "ha-sync-mode": "automatic", "ha-sync-batch-size": 1},
        {"ha-mode": "all", "ha-promote-on-shutdown": "always", "ha-promote-on-failure": "when-synced"},
        {"queue-master-locator": "min-masters"},
        {"message-ttl": 0, "max-length": 0, "overflow": "reject-publish", "dead-letter-exchange": ""},
        {"federation-upstream-set": "all"},
    ],
)
def test_valid_definition_is_accepted(definition):
    assert refused(definition) is None


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ({}, "no policy provided"),
        (
            {"ha-sync-mode": "automatic"},
            "ha-mode must be specified to specify ha-params, ha-sync-mode or ha-promote-on-shutdown",
        ),
        ({"ha-mode": "most"}, '<<"most">> is not a valid ha-mode value'),
        ({"ha-mode": "all", "ha-params": 2}, 'ha-mode="all" does not take parameters'),
        ({"ha-mode": "exactly"}, 'ha-mode="exactly" takes an integer, none given'),
        ({"ha-mode": "exactly", "ha-params": None}, 'ha-mode="exactly" takes an integer, null given'),
        ({"ha-mode": "exactly", "ha-params": "2"}, 'ha-mode="exactly" takes an integer, <<"2">> given'),
        ({"ha-mode": "exactly", "ha-params": 0}, 'ha-mode="exactly" takes an integer, 0 given'),
        ({"ha-mode": "exactly", "ha-params": 2.0}, 'ha-mode="exactly" takes an integer, 2.0 given'),
        ({"ha-mode": "exactly", "ha-params": True}, 'ha-mode="exactly" takes an integer, true given'),
        ({"ha-mode": "nodes"}, 'ha-mode="nodes" takes a list, none given'),
        ({"ha-mode": "nodes", "ha-params": 2}, 'ha-mode="nodes" takes a list, 2 given'),
        ({"ha-mode": "nodes", "ha-params": []}, 'ha-mode="nodes" list must be non-empty'),
        (
            {"ha-mode": "nodes", "ha-params": ["a", 1, "b", False]},
            'ha-mode="nodes" takes a list of strings, [1,false] was not a string',
        ),
        (
            {"ha-mode": "all", "ha-sync-mode": "auto"},
            'ha-sync-mode must be "manual" or "automatic", got <<"auto">>',
        ),
        (
            {"ha-mode": "all", "ha-sync-batch-size": 0},
            "ha-sync-batch-size takes an integer greater than 0, 0 given",
        ),
        (
            {"ha-mode": "all", "ha-promote-on-shutdown": True},
            'ha-promote-on-shutdown must be "always" or "when-synced", got true',
        ),
        (
            {"ha-mode": "all", "ha-promote-on-failure": "never"},
            'ha-promote-on-failure must be "always" or "when-synced", got <<"never">>',
        ),
        ({"queue-master-locator": "max"}, '<<"max">> invalid queue-master-locator value'),
        ({"message-ttl": -1}, "-1 is not a valid message TTL"),
        ({"expires": 0}, "0 is not a valid queue expiry"),
        ({"max-length": 1.0}, "1.0 is not a valid maximum length"),
        ({"queue-version": 3}, "3 is not a valid queue-version value"),
        ({"queue-version": True}, "true is not a valid queue-version value"),
        ({"max-age": "0D"}, '<<"0D">> is not a valid max age'),
        ({"dead-letter-exchange": ["x"]}, '[<<"x">>] is not a valid dead letter exchange name'),
        ({"overflow": "drop-tail"}, '<<"drop-tail">> is not a valid overflow value'),
        ({"ha_mode": "all"}, '[{<<"ha_mode">>,<<"all">>}] are not recognised policy settings'),
        (
            {"federation-upstream": "a", "federation-upstream-set": 1},
            "cannot specify federation-upstream, federation-upstream-set or federation-upstream-pattern together",
        ),
    ],
)
def test_invalid_definition_is_refused_with_rabbitmqs_text(definition, text):
    assert refused(definition) == text


def test_only_the_first_error_of_a_definition_is_reported():
    keys = ["queue-master-locator", "target-group-size", "unknown", "max-length", "expires", *HA_CHECKS, "ha-params"]
    wrong = dict.fromkeys(keys, "x")
    repairs = [
        ({"queue-master-locator": "random"}, "invalid queue-master-locator value"),
        ({"ha-mode": "exactly"}, "is not a valid ha-mode value"),
        ({"ha-params": 2}, "takes an integer"),
        ({"ha-sync-mode": "manual"}, "ha-sync-mode must be"),
        ({"ha-sync-batch-size": 2}, "ha-sync-batch-size takes"),
        ({"ha-promote-on-shutdown": "always"}, "ha-promote-on-shutdown must be"),
        ({"ha-promote-on-failure": "always"}, "ha-promote-on-failure must be"),
        ({"expires": 1}, "is not a valid queue expiry"),
        ({"max-length": 1}, "is not a valid maximum length"),
        ({"target-group-size": 1}, "is not a valid qq target count value"),
        ({}, "are not recognised policy settings"),
    ]
    for repair, text in repairs:
        assert text in refused(wrong, "3.13")
        wrong |= repair
    del wrong["unknown"]
    assert refused(wrong, "3.13") is None


def test_errors_of_definition_apply_to_and_pattern_are_all_reported():
    text = refused({"max-length": -1}, pattern="(", apply_to="queue")
    assert text.split("\n") == [
        "-1 is not a valid maximum length",
        "apply-to 'queue' unrecognised; should be 'queues', 'exchanges' or 'all'",
        'pattern should be regular expression but is invalid: {"missing )",1}',
    ]


@pytest.mark.parametrize(("priority", "shown"), [("high", '<<"high">>'), (True, "true"), (1.5, "1.5"), (None, "null")])
def test_priority_must_be_a_number_and_is_checked_first(priority, shown):
    fields = {"pattern": "(", "definition": {}, "priority": priority}
    assert refusal(fields, PROFILES["3.10"], operator=False) == f"{shown} priority must be a number"


@pytest.mark.parametrize("apply_to", ["classic_queues", "quorum_queues", "streams"])
def test_apply_to_takes_queue_types_since_3_12(apply_to):
    assert "unrecognised" in refused({"max-length": 1}, "3.8", apply_to=apply_to)
    assert refused({"max-length": 1}, "3.13", apply_to=apply_to) is None
    assert refused({"max-length": 1}, "4.0", apply_to="") == (
        "apply-to '' unrecognised; should be one of: "
        "'queues', 'classic_queues',  'quorum_queues', 'streams', 'exchanges', or 'all'"
    )


def test_4_3_refuses_queue_master_locator():
    assert refused({"queue-master-locator": "balanced"}, "4.3") == (
        "use of deprecated queue-master-locator argument is not permitted"
    )


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ({"delayed-retry-type": "all", "delayed-retry-min": 1, "delayed-retry-max": 1}, None),
        ({"delayed-retry-type": "disabled"}, None),
        ({"delayed-retry-max": 1}, None),
        ({"delayed-retry-type": "all"}, "delayed-retry-min is required when delayed-retry-type is all"),
        (
            {"delayed-retry-min": 3, "delayed-retry-max": 2},
            "delayed-retry-max (2) must not be smaller than delayed-retry-min (3)",
        ),
        ({"consumer-disconnected-timeout": -1}, "-1 is not a valid consumer disconnected timeout"),
    ],
)
def test_4_3_accepts_delayed_retry_and_consumer_timeout(definition, text):
    assert refused(definition, "4.3") == text
    assert "are not recognised policy settings" in refused(definition, "4.0")


def test_4_0_refuses_mirroring_settings():
    definition = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
    assert refused(definition, "3.13") is None
    assert not PROFILES["4.0"].mirroring
    assert refused(definition, "4.0") == (
        '[{<<"ha-mode">>,<<"exactly">>},\n {<<"ha-params">>,2},\n {<<"ha-sync-mode">>,<<"automatic">>}]'
        " are not recognised policy settings"
    )


def test_4_0_accepts_negative_delivery_limit_and_leader_locator_values():
    assert refused({"delivery-limit": -1}, "3.13") == "-1 is not a valid delivery limit"
    assert refused({"delivery-limit": -1, "queue-master-locator": "balanced"}, "4.0") is None
    assert refused({"queue-master-locator": "x"}, "4.0") == '<<"x">> is not a valid master locator'


@pytest.mark.parametrize(
    ("definition", "versions"),
    [
        ({"max-length": 5}, ["3.8", "3.10", "3.13", "4.0", "4.3"]),
        ({"overflow": "drop-head"}, ["3.13", "4.0", "4.3"]),
        ({"ha-mode": "all"}, ["3.13"]),
        ({"ha-mode": "all", "ha-promote-on-failure": "always"}, []),
        ({"dead-letter-exchange": "x"}, []),
    ],
)
def test_operator_policies_accept_fewer_settings(definition, versions):
    accepted = [version for version in PROFILES if refused(definition, version, operator=True) is None]
    assert accepted == versions


@pytest.mark.parametrize("value", [7, -1, True])
def test_max_age_that_is_not_a_string_crashes_the_validation(value):
    definition = {"max-age": value, "unknown": 1}
    assert refused(definition, pattern="(") == f"badarg: {str(value).lower()} is not a valid max age"
    assert "\n" in refusal({"pattern": "(", "definition": {"max-age": "7"}, "priority": 0, "apply_to": "queues"},
                           PROFILES["3.10"], operator=False)  # fmt: skip


@pytest.mark.parametrize(("version", "first"), [("3.8", "queue expiry"), ("3.10", "ha-mode"), ("3.13", "ha-mode")])
def test_order_of_checks_depends_on_the_erlang_release(version, first):
    assert first in refused({"expires": "(", "ha-mode": "("}, version)


@pytest.mark.parametrize(("version", "first"), [("4.0", "queue expiry"), ("4.3", "queue-master-locator")])
def test_locator_is_checked_last_in_4_0_and_first_in_4_3(version, first):
    assert first in refused({"queue-master-locator": "(", "expires": "("}, version)


def test_each_setting_of_each_release_has_a_check():
    known = CHECKS.keys() | HA_CHECKS.keys() | {"ha-params"}
    for profile in PROFILES.values():
        assert profile.policy_settings <= known
        assert profile.operator_policy_settings <= profile.policy_settings
        for key in profile.policy_settings & CHECKS.keys() - {"queue-master-locator"}:
            text = refused({key: {"no": "such value"}}, profile.version).removeprefix("badarg: ")
            assert text.startswith('#{<<"no">> => <<"such value">>}')


@pytest.mark.parametrize(
    ("value", "term", "unicode_term"),
    [
        ("all", '<<"all">>', '<<"all">>'),
        ("", "<<>>", "<<>>"),
        ('a"\\\n', '<<"a\\"\\\\\\n">>', '<<"a\\"\\\\\\n">>'),
        ("é", '<<"Ã©">>', '<<"é"/utf8>>'),
        ("€", "<<226,130,172>>", '<<"€"/utf8>>'),
        ("\0", "<<0>>", "<<0>>"),
        (1e16, "1.0e16", "1.0e16"),
        (1e-7, "1.0e-7", "1.0e-7"),
        ([], "[]", "[]"),
        ([104, 97], '"ha"', '"ha"'),
        ([1, 97], "[1,97]", "[1,97]"),
        ([8364], "[8364]", '"€"'),
        ([True, None], "[true,null]", "[true,null]"),
        ({"k": [1.5]}, '#{<<"k">> => [1.5]}', '#{<<"k">> => [1.5]}'),
    ],
)
def test_values_are_printed_as_erlang_terms(value, term, unicode_term):
    assert (erlang_term(value, False, 0), erlang_term(value, True, 0)) == (term, unicode_term)


def test_long_lists_are_wrapped_as_erlang_wraps_them():
    def binary(letter, count):
        return f'<<"{letter * count}">>'

    assert erlang_term(["x" * 30, "y" * 33], False, 0) == f"[{binary('x', 30)},{binary('y', 33)}]"
    assert erlang_term(["x" * 30, "y" * 34], False, 0) == f"[{binary('x', 30)},\n {binary('y', 34)}]"
    assert erlang_term(["x" * 30, "y" * 30], False, 10) == f"[{binary('x', 30)},\n{' ' * 11}{binary('y', 30)}]"
    assert erlang_term([97] * 100, False, 0) == f'"{"a" * 100}"'
    text = 'ha-mode="nodes" takes a list of strings, '
    assert refused({"ha-mode": "nodes", "ha-params": [["x" * 15], ["y" * 15]]}) == (
        f"{text}[[{binary('x', 15)}],\n{' ' * (len(text) + 1)}[{binary('y', 15)}]] was not a string"
    )


def test_unicode_is_printed_as_utf8_since_3_13():
    assert refused({"overflow": "é"}, "3.10") == '<<"Ã©">> is not a valid overflow value'
    assert refused({"overflow": "é"}, "3.13") == '<<"é"/utf8>> is not a valid overflow value'
