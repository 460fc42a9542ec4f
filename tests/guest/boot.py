"""Boot a machine, run one command in it, and bring back what it said."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from guest.image import Image
from guest.recipe import Machine
from guest.trouble import GuestError, explained, last_lines, run

_MEMORY_MIB = 1024
_POLL_SECONDS = 0.2


def emulator_version(machine: Machine) -> str:
    """Return the version of the emulator, such as "QEMU 7.2.18".

    Raises:
        GuestError: it is not installed.
    """
    remedy = "packaging/setup.sh packages guest"
    said = run(machine.architecture.qemu, "--version", purpose="the emulator", remedy=remedy)
    return "QEMU " + said.split("version ", 1)[-1].split()[0]


def boot(
    machine: Machine,
    image: Image,
    share: Path,
    command: str,
    *,
    seconds: float,
    echo: bool = True,
) -> int:
    """Return the status of a shell command that a machine ran in `share`, its folder /mnt.

    What the command writes is in `share/output`, and with `echo` also on stdout, as it comes.

    Raises:
        GuestError: the machine did not come up, did not end in time or left no status.
    """
    status, output, console = share / "status", share / "output", share / "console"
    for stale in (status, output, console):
        stale.unlink(missing_ok=True)
    (share / "command").write_text(command + "\n")
    emulator = _start(machine, image, share, console)
    end = time.monotonic() + seconds
    seen = 0
    try:
        while emulator.poll() is None and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            seen += _show(output, seen, echo)
        in_time = emulator.poll() is not None
    finally:
        emulator.kill()
        emulator.wait()
    _show(output, seen, echo)
    if status.exists() and status.read_text().strip():
        return int(status.read_text())
    why = "ended without a status" if in_time else f"was stopped after {seconds:.0f} s"
    said = last_lines(console.read_text(errors="replace") if console.exists() else "")
    raise GuestError(
        explained(
            f"machine {machine.name} {why}; the last lines of its console:",
            f"`make test-guest ARGS='--only {machine.name} --rebuild'` makes it anew; the files "
            f"are in {share}",
            said,
        )
    )


def _start(machine: Machine, image: Image, share: Path, console: Path) -> subprocess.Popen[bytes]:
    command = [
        machine.architecture.qemu, *machine.architecture.options, *machine.options,
        "-cpu", machine.cpu, "-smp", str(machine.cpus), "-m", str(_MEMORY_MIB), "-accel", "tcg",
        "-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{console}",
        "-kernel", str(image.kernel), "-initrd", str(image.initrd),
        "-append", f"quiet panic=-1 console={machine.architecture.console}",
        *_folder("root", image.root, ",readonly=on"), *_folder("share", share),
        # Python asks for random numbers at its start.
        "-device", "virtio-rng-pci",
    ]  # fmt: skip
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


def _folder(tag: str, path: Path, more: str = "") -> list[str]:
    source = f"local,id={tag},path={path},security_model=none,multidevs=remap{more}"
    return ["-fsdev", source, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def _show(output: Path, seen: int, echo: bool) -> int:
    """Print what has come since, if it is to be echoed; return how many bytes that were."""
    try:
        with output.open("rb") as file:
            file.seek(seen)
            new = file.read()
    except FileNotFoundError:
        return 0
    if echo and new:
        sys.stdout.write(new.decode(errors="replace"))
        sys.stdout.flush()
    return len(new)
