"""Deprecated features that a release does not permit unless its configuration does, and how it refuses them.

Source: `rabbit_deprecated_features:generate_warnings1`; `rabbit_classic_queue:validate_arguments` for an argument
x-queue-master-locator, and `rabbit_channel` for basic.qos, whose flag global is then ignored. Queues that are neither
durable nor exclusive are permitted: 4.3.5 denies them by its source, a 4.3.6 node accepts them.
"""

from __future__ import annotations

from collections.abc import Mapping

from hawb.rules.profiles import Profile

MASTER_LOCATOR = "queue_master_locator"
GLOBAL_PREFETCH = "global_qos"

LONGEST_REPLY = 255
"""The most bytes of a reply's text; a longer one ends with three dots (`rabbit_misc:amqp_error`)."""


def is_of_channel(global_prefetch: bool, profile: Profile) -> bool:
    """Return True if a global prefetch counts for the channel. Where that is denied, it counts for the consumer."""
    return global_prefetch and GLOBAL_PREFETCH not in profile.denied_features


def refuses_locator(arguments: Mapping[str, object], profile: Profile) -> bool:
    """Return True if a classic queue is refused for naming a master locator, whatever its value."""
    return MASTER_LOCATOR in profile.denied_features and "x-queue-master-locator" in arguments


def refusal(feature: str) -> str:
    """Return the text of the 541 for the use of this feature."""
    text = (
        f"INTERNAL_ERROR - Feature `{feature}` is deprecated.\nBy default, this feature is not permitted anymore.\n"
        "The feature will be removed from a future major RabbitMQ version, regardless of the configuration; actual"
        " version to be determined.\nTo continue using this feature when it is not permitted by default, set the"
        f' following parameter in your configuration:\n    "deprecated_features.permit.{feature} = true"'
    )
    return f"{text[: LONGEST_REPLY - 3]}..."
