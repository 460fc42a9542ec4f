"""Debian packages of another architecture: fetched from this machine's own sources, not installed.

apt is given a state and a cache of its own, so it neither asks for rights nor changes what is
installed here; its sources, keys and proxies are those of the machine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from guest.trouble import GuestError, explained, last_lines, run

_REMEDY = (
    "this machine's apt sources must offer this architecture (Debian's own do; an entry with "
    "[arch=...] must list it): see `apt-get indextargets` and /etc/apt/sources.list.d"
)


class Packages:
    """The packages of one architecture, with apt's files about them below `folder`."""

    def __init__(self, architecture: str, folder: Path) -> None:
        self._architecture = architecture
        self._cache = folder / "cache"
        state = folder / "state"
        for needed in (state / "lists" / "partial", self._archives / "partial"):
            needed.mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        self._options = [
            f"-oAPT::Architecture={architecture}",
            f"-oAPT::Architectures={architecture}",
            f"-oDir::State={state}",
            f"-oDir::State::status={state / 'status'}",
            f"-oDir::Cache={self._cache}",
            "-oAPT::Install-Recommends=0",
            "-oAPT::Sandbox::User=",
            "-oAcquire::Languages=none",
            "-oAcquire::Retries=3",
            "-oDebug::NoLocking=1",
        ]
        self._update_failed: list[str] = []

    @property
    def _archives(self) -> Path:
        return self._cache / "archives"

    def update(self) -> None:
        """Fetch the lists of packages."""
        command = ["apt-get", "-qq", *self._options, "update"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # A mirror that is just being written lacks one list at times, and every package is in
        # the other lists too; if not, the next step fails and says this as well.
        self._update_failed = last_lines(done.stderr) if done.returncode else []

    def fetch(self, *names: str) -> list[Path]:
        """Return the files of packages and of all that they depend on."""
        self._run("apt-get", "-qq", "-y", "install", "--download-only", *names)
        return sorted(self._archives.glob("*.deb"))

    def fetch_alone(self, *names: str) -> list[Path]:
        """Return the files of packages without what they depend on, in the order of names."""
        alone = self._cache / "alone"
        alone.mkdir(exist_ok=True)
        self._run("apt-get", "-qq", "download", *names, folder=alone)
        return [next(alone.glob(f"{name}_*.deb")) for name in names]

    def dependency(self, name: str, prefix: str) -> str:
        """Return the package with this prefix that a package depends on."""
        words = self._run("apt-cache", "depends", "--important", name).split()
        for word in words:
            if word.startswith(prefix) and word != name:
                return word
        raise GuestError(f"{name} ({self._architecture}) depends on no package {prefix}*")

    def _run(self, tool: str, *arguments: str, folder: Path | None = None) -> str:
        purpose = f"packages for {self._architecture}"
        try:
            return run(tool, *self._options, *arguments, purpose=purpose, folder=folder)
        except GuestError as error:
            said = self._update_failed and ["before that, apt-get update:", *self._update_failed]
            raise GuestError(explained(str(error), _REMEDY, said)) from error


def unpack(packages: Iterable[Path], root: Path, *leave_out: str) -> None:
    """Unpack packages below a folder, without the paths that match a pattern of tar's."""
    root.mkdir(parents=True, exist_ok=True)
    left_out = [f"--exclude={pattern}" for pattern in leave_out]
    for package in packages:
        reading = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
        # The older folders are links in a root whose /usr is merged, and are to stay links.
        command = ["tar", "-x", "-C", str(root), "--no-same-owner", "--keep-directory-symlink"]
        writing = subprocess.run([*command, *left_out], stdin=reading.stdout, check=False)
        if reading.wait() or writing.returncode:
            raise GuestError(
                explained(f"{package.name} cannot be unpacked below {root}", "free space there")
            )
