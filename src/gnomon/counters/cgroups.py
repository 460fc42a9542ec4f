"""Finding the cgroup of a name, where the kernel counts events by cgroups.

Source: perf_event_open(2), PERF_FLAG_PID_CGROUP; cgroups(7); proc_pid_mountinfo(5).
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from gnomon.errors import GnomonError, UsageError
from gnomon.units import printable

_ROOT = Path("/")
_OCTAL = re.compile(r"\\([0-7]{3})")


def open_cgroup(name: str, root: Path = _ROOT) -> int:
    """Return a descriptor of the folder of a cgroup.

    Args:
        name: its path below the hierarchy's mount point, as /proc/PID/cgroup gives it, or from the
            root of the file system.
        root: what /proc lies under, "/" but for recorded trees.

    Raises:
        UsageError: there is no such cgroup.
        GnomonError: no hierarchy that counts is mounted, or the folder cannot be opened.
    """
    mount = hierarchy(root)
    path = Path(name) if Path(name).is_relative_to(mount) else mount / name.lstrip("/")
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        from gnomon.counters.name_suggestions import nearest

        try:
            beside = sorted(one.name for one in path.parent.iterdir() if one.is_dir())
        except (OSError, ValueError):
            beside = []
        close = nearest(path.name, beside)
        hint = f"did you mean {' or '.join(close)}?" if close else f"they are folders of {mount}"
        raise UsageError(f"-G {printable(name)}: no such cgroup; {hint}") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            short = f"{printable(name[:40])}..."
            raise UsageError(f"-G {short}: no cgroup has so long a name") from None
        raise GnomonError(
            f"-G {printable(name)}: it cannot be opened: {error.strerror}; count it as root"
        ) from None


def hierarchy(root: Path = _ROOT) -> Path:
    """Return where the cgroups that the kernel counts by are mounted.

    That is the perf_event hierarchy of version 1 where one is mounted, else version 2.

    Raises:
        GnomonError: neither is mounted.
    """
    mounts: dict[str, Path] = {}
    try:
        lines = (root / "proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        before, is_split, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if not is_split or len(fields) < 5 or len(kind) < 3:
            continue
        place = Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4]))
        if kind[0] == "cgroup" and "perf_event" in kind[2].split(","):
            mounts["version 1"] = place
        elif kind[0] == "cgroup2":
            mounts.setdefault("version 2", place)
    for version in ("version 1", "version 2"):
        if version in mounts:
            return mounts[version]
    raise GnomonError(
        "-G: no cgroup hierarchy with perf_event is mounted; as root: mount -t cgroup2 none "
        "/sys/fs/cgroup"
    )


def problem(number: int, name: str) -> str:
    """Return why the kernel does not count a cgroup, and the remedy; "" for other errors."""
    if number == errno.EBADF:
        return (
            f"-G {printable(name)}: not a cgroup that the kernel counts by; name one below "
            f"{hierarchy()}"
        )
    if number == errno.EINVAL:
        return "-G: this kernel does not count by cgroups; use one built with CONFIG_CGROUP_PERF"
    return ""
