"""Read the releases of an upgrade from a command's options: the release that runs now, and the releases to stop at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hawb.cli.files import is_scenario, read, refuse
from hawb.rules.upgrade_releases import RELEASES
from hawb.rules.upgrade_road import series_of

NO_STOP = "none"
VIA_HELP = "The releases to install on the way, such as 4.0,4.2; `none`: a single step.  [default: as few as possible]"


def known_release(option: str, given: str | None) -> str | None:
    """Return `given` if it is a release, or a series, whose upgrades hawb knows; otherwise end the program.

    `option` names the place of an unknown release in the message.
    """
    if given is None or series_of(given) is not None:
        return given
    from hawb.exports.untrusted import released

    named = repr(given) if option.startswith("--") else released(given)
    raise SystemExit(refuse(f"{option}: {named}: not a known release; accepted: releases of {', '.join(RELEASES)}"))


def stops(given: str | None) -> tuple[str, ...] | None:
    """Return the series in the list of `--via`: None without the option, empty for `none`.

    End the program if hawb knows no upgrade of a release in it.
    """
    if given is None or given == NO_STOP:
        return None if given is None else ()
    found = []
    for name in given.split(","):
        known_release("--via", name)
        found.append(series_of(name) or name)
    return tuple(found)


def release_of(files: Sequence[str], given: str | None) -> str:
    """Return the release that a cluster runs, from `--from`, its scenario or its files.

    End the program if no release is named, or if hawb knows no upgrade from the release. Raise ScenarioRefused.
    """
    from hawb.exports.untrusted import ImportRefused
    from hawb.planning.inventory import of_files

    if any(map(is_scenario, files)):
        if given is not None:
            raise SystemExit(
                refuse(f"--from: {files[0]} is a scenario, which names its release itself (cluster.version)")
            )
        return read(Path(files[0])).cluster.version
    if known_release("--from", given) is not None:
        return str(given)
    try:
        release = of_files(files).release
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    if release is None:
        raise SystemExit(refuse("--to: no file says which release runs; name it with --from"))
    return known_release("the release in the files", release) or release
