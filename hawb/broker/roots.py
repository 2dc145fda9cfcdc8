"""The releases of RabbitMQ that can run here: the machine's own package, and other Debian releases in their own roots.

Each rules profile except 3.13 is the release in some Debian, so that hawb can run it. If the machine's own package is
another release, that Debian is installed with debootstrap, once, below the user's cache directory; its programs run
with `chroot`. The parts of the machine that they need are mounted for each program in its own mount namespace, so the
mounts end with the program.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hawb.rules.profiles import PROFILES

SUITES = {"3.8": "bullseye", "3.10": "bookworm", "4.0": "trixie", "4.3": "forky"}
"""The Debian release that has a profile's RabbitMQ, by profile."""
SCRIPTS = Path("/usr/share/debootstrap/scripts")
"""debootstrap's script for each Debian release that it knows; a newer one is installed with the script of sid."""
PACKAGES = "rabbitmq-server,iproute2,adduser"
HOME = Path("/usr/lib/rabbitmq")
"""The folder of the broker in Debian's package."""
ENTER = """
root=$1 shared=$2
shift 2
mount --bind /proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
exec chroot "$root" "$@"
"""

log = logging.getLogger(__name__)


class CannotPlay(Exception):  # noqa: N818 - named for what it says
    """A scenario cannot be played on a real cluster, here or on any machine; the text says why."""


class Release(NamedTuple):
    """A release that is installed at `root`; its broker's own files are at the same place in each root."""

    version: str
    root: Path = Path("/")

    @property
    def libraries(self) -> Path:
        """Return the release's Erlang libraries, for ERL_LIBS."""
        return HOME / "lib" / f"rabbitmq_server-{PROFILES[self.version].release}" / "plugins"

    @property
    def installed(self) -> bool:
        """Return True if the root has exactly this release."""
        return self.root.joinpath(*self.libraries.parts[1:]).is_dir()

    def command(self, words: Iterable[str], shared: Path) -> list[str]:
        """Return a command that runs one of the root's programs; it finds the directory `shared` at the same path."""
        if self.root == Path("/"):
            return list(words)
        return ["unshare", "--mount", "sh", "-ec", ENTER, "sh", str(self.root), str(shared), *words]


def script(name: str) -> str:
    """Return the path of one of the broker's own scripts, within its root."""
    return str(HOME / "bin" / name)


def release(version: str) -> Release:
    """Return the release of a profile, installed at its first use. Raise CannotPlay, naming the missing parts."""
    if version not in SUITES:
        raise CannotPlay(f"no real broker is available for version {version}; available: {', '.join(SUITES)}")
    return found(version) or install(Release(version, directory() / version))


def found(version: str) -> Release | None:
    """Return the release of a profile if it is installed, the machine's own first; else None."""
    releases = [Release(version, root) for root in (Path("/"), directory() / version)]
    return next((known for known in releases if known.installed), None)


def directory() -> Path:
    """Return the folder of all roots."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hawb" / "brokers"


def install(wanted: Release) -> Release:
    """Install a release with its Debian. Raise CannotPlay."""
    suite, number = SUITES[wanted.version], PROFILES[wanted.version].release
    name = f"RabbitMQ {number} of Debian {suite}"
    if shutil.which("debootstrap") is None:
        raise CannotPlay(f"{name} needs debootstrap (apt-get install --no-install-recommends debootstrap)")
    import fcntl  # Windows, where fuzzing runs too, has none

    source = mirror()
    wanted.root.parent.mkdir(parents=True, exist_ok=True)
    with (wanted.root.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if wanted.installed:
            return wanted
        log.warning("installing %s in %s: a few minutes, and 600 MB", name, wanted.root)
        unfinished = wanted.root.with_name(f"{wanted.root.name}.unfinished")
        try:
            bootstrap(suite, unfinished, source)
            if not Release(wanted.version, unfinished).installed:
                raise CannotPlay(f"{source} has another release than {name}")
            unfinished.rename(wanted.root)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return wanted


def bootstrap(suite: str, root: Path, source: str) -> None:
    """Install a Debian and the broker. Its mounts and processes end with it. Raise CannotPlay."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "debootstrap", "--variant=minbase"]
    command += [f"--include={PACKAGES}", suite, str(root), source]
    if (SCRIPTS / "sid").exists() and not (SCRIPTS / suite).exists():
        command.append(str(SCRIPTS / "sid"))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(("E:", "W:"))]
        raise CannotPlay(f"debootstrap could not install Debian {suite} from {source}: {' '.join(said)}")
    # Erlang's port mapper looks its own host up by this name.
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")


def mirror() -> str:
    """Return the Debian mirror that the machine's own apt is configured with. Raise CannotPlay."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    command += ["Created-By: Packages", "Origin: Debian", "Label: Debian"]
    try:
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        found = []
    if not found:
        raise CannotPlay("apt knows no Debian mirror to install from (/etc/apt; apt-get update)")
    return found[0]
