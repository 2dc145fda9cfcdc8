"""Consumer timeouts: the time within which a client has to answer for a delivery.

Up to 4.2 a channel checks, at each of its ticks, whether its oldest unanswered delivery is older than the timeout; then
the channel is closed with an error, whatever the type of the queue. From 4.3 on a quorum queue checks, and classic
queues have no timeout. Since 3.12 a queue's policy or argument comes before the configuration, and of both the smaller
value counts.

Source: `rabbit_channel` (`evaluate_consumer_timeout`, `get_queue_consumer_timeout`, `handle_consumer_timed_out`),
`rabbit_queue_type:get_consumer_timeout` (4.3), `rabbit_queue_type_util:args_policy_lookup`, rabbit.schema and the
defaults in the Makefile of rabbit (consumer_timeout: none in 3.8.9, 15 minutes since 3.8.15, 30 since 3.8.17;
channel_tick_interval).
"""

from __future__ import annotations

from collections.abc import Mapping

from hawb.rules.profiles import Profile

TICK_US = 60_000_000
"""The interval of a channel's checks (channel_tick_interval)."""
DAY_MS = 86_400_000
UNDEFINED = "undefined"
"""The value of consumer_timeout, in advanced.config alone, that switches it off; up to 4.2."""
SETTING = "consumer-timeout"


def configured_ms(given: int | str | None, profile: Profile) -> int | None:
    """Return the timeout of the configuration, in milliseconds; None if there is none.

    `given` is a number, UNDEFINED, or None for the release's default. With UNDEFINED, a release whose queues check
    takes a day.
    """
    if given is None:
        return profile.consumer_timeout_ms
    if isinstance(given, int):
        return given
    return None if profile.channels_time_out else DAY_MS


def timeout_ms(
    definition: Mapping[str, object], arguments: Mapping[str, object], configured: int | None, profile: Profile
) -> int | None:
    """Return the timeout for a queue's consumers, in milliseconds; None if there is none.

    It depends on the effective definition of the queue's policies, and its arguments. No release validates the argument
    before 4.3: Erlang orders every number below any other value, and a value that is no whole number switches the
    timeout off.
    """
    sources = ((definition, SETTING), (arguments, f"x-{SETTING}")) if profile.queues_set_consumer_timeout else ()
    given = [source[name] for source, name in sources if name in source]
    if not given:
        return configured
    smallest = min(given, key=lambda value: (0, value) if type(value) in (int, float) else (1, 0))
    return smallest if type(smallest) is int else None


def error(timeout: int, profile: Profile) -> str:
    """Return the text of the 406 that closes a channel, assuming that the channel's number is 1."""
    if profile.version == "3.8":
        return "PRECONDITION_FAILED - consumer ack timed out on channel 1"
    return (
        f"PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: {timeout} ms. "
        "This timeout value can be configured, see consumers doc guide to learn more"
    )
