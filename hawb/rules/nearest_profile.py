"""The profile whose rules are played for a version of RabbitMQ.

4.1 and 4.2 have no profiles, since hawb has compared its rules with no cluster of theirs. 4.0 is nearest to 4.1, and
4.3 to 4.2. The docstrings in `profiles` and `quorum_profiles` name the release of each difference. One more: 4.2 can
keep its metadata in Mnesia, and 4.3 cannot.
"""

from __future__ import annotations

from hawb.rules.profiles import PROFILES, Profile


def nearest(release: str) -> str | None:
    """Return the version of the profile nearest to a release, the older of two equally near.

    `release` is a version, such as 4.1, or a release, such as 4.1.3. Return None if it is neither.
    """
    major, _, rest = release.partition(".")
    minor = rest.partition(".")[0]
    if not all(part.isascii() and part.isdigit() and len(part) <= 4 for part in (major, minor)):
        return None
    wanted = _position(f"{int(major)}.{int(minor)}")
    return min(PROFILES, key=lambda name: (abs(_position(name) - wanted), _position(name)))


def profile_for(version: str) -> Profile:
    """Return the profile of a version that a scenario names. 4.1 and 4.2 have none of their own, so it is the nearest.

    Raise KeyError if the text is no version.
    """
    return PROFILES[nearest(version) or version]


def _position(version: str) -> int:
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor)
