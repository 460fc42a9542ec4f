"""`python -m guest`: run the tests of hardware counters in emulated machines (make test-guest)."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from guest import boot, cross, documents, figures, image
from guest.recipe import MACHINES, Architecture, Machine
from guest.trouble import GuestError, last_lines

_FOLDER = image.HERE.parents[1] / "build" / "guest"
_SECONDS = 900.0
_TESTS = "PYTHONPATH=site:. python3 -m pytest -q -p no:cacheprovider -c /dev/null --rootdir=. "


def main() -> int:
    """Make, boot and test the machines; return 0 if every test of every one passed."""
    arguments = _parser().parse_args()
    machines = [m for m in MACHINES if not arguments.only or m.name in arguments.only]
    _FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        for machine in machines:
            boot.emulator_version(machine)
        images, seconds = _make(machines, anew=arguments.rebuild)
        if arguments.run:
            return _run(machines[0], images[machines[0].architecture], arguments.run)
    except GuestError as error:
        print(f"test-guest: {error}", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(2) as pool:
        testing = [
            pool.submit(_test, one, images[one.architecture], arguments.pytest) for one in machines
        ]
        results = []
        for machine, test in zip(machines, testing, strict=True):
            result = test.result()
            result.build_seconds = seconds[machine.architecture]
            print(f"\n{machine.name}: {result.description}\n")
            output = _share(machine) / "output"
            print(output.read_text(errors="replace") if output.exists() else "", end="")
            print(f"{machine.name}: {result.summary}")
            results.append(result)
    _report(results, arguments.json)
    return int(any(result.status for result in results))


def _parser() -> argparse.ArgumentParser:
    names = [machine.name for machine in MACHINES]
    parser = argparse.ArgumentParser(prog="python -m guest", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, help="this machine (repeatable)")
    parser.add_argument("--rebuild", action="store_true", help="make the machines anew")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--pytest", metavar="ARGS", default="", help="for pytest in the machines")
    parser.add_argument(
        "--run", metavar="COMMAND", help="run a shell command in the (first) machine instead"
    )
    return parser


def _share(machine: Machine) -> Path:
    return _FOLDER / "run" / machine.name


def _make(
    machines: list[Machine], *, anew: bool
) -> tuple[dict[Architecture, image.Image], dict[Architecture, float]]:
    """Return the image of each architecture, and the seconds that it and compiling took."""
    architectures = list(dict.fromkeys(machine.architecture for machine in machines))

    def make(architecture: Architecture) -> tuple[image.Image, float]:
        begin = time.monotonic()
        made = image.made(architecture, _FOLDER, anew=anew)
        build = _FOLDER / "cross" / architecture.name
        build.mkdir(parents=True, exist_ok=True)
        for machine in machines:
            if machine.architecture == architecture:
                share = _share(machine)
                shutil.rmtree(share, ignore_errors=True)
                share.mkdir(parents=True)
                cross.fill(share, architecture, made, build)
        return made, time.monotonic() - begin

    with ThreadPoolExecutor() as pool:
        done = dict(zip(architectures, pool.map(make, architectures), strict=True))
    for architecture, (made, seconds) in done.items():
        print(f"{architecture.name}: {made.size_bytes / 1e6:.0f} MB, ready in {seconds:.0f} s")
    return {a: made for a, (made, _) in done.items()}, {a: s for a, (_, s) in done.items()}


def _run(machine: Machine, made: image.Image, command: str) -> int:
    command = f"export PYTHONPATH=site:. PATH=$PATH:bin; {command}"
    return boot.boot(machine, made, _share(machine), command, seconds=_SECONDS)


def _test(machine: Machine, made: image.Image, pytest_arguments: str) -> figures.Result:
    result = figures.Result(machine.name)
    begin = time.monotonic()
    files = " ".join(f"guest/inside/{name}" for name in machine.tests)
    command = f"{_TESTS} {shlex.join(shlex.split(pytest_arguments))} {files}"
    share = _share(machine)
    try:
        result.status = boot.boot(machine, made, share, command, seconds=_SECONDS, echo=False)
        result.summary = (last_lines((share / "output").read_text()) or ["no output"])[-1]
    except GuestError as error:
        result.summary = str(error)
    counts = "test_counting.py" in machine.tests
    wrong = documents.problems(share / "documents") if counts else []
    if wrong:
        result.status = result.status or 1
        result.summary = "\n".join([*wrong, result.summary])
    result.run_seconds = time.monotonic() - begin
    result.figures = figures.read(machine.name, share / "figures.jsonl")
    kernel = share / "kernel"
    result.description = ", ".join(
        [
            f"{machine.cpu} × {machine.cpus}",
            kernel.read_text().strip() if kernel.exists() else "kernel unknown",
            boot.emulator_version(machine),
        ]
    )
    return result


def _report(results: list[figures.Result], file: Path | None) -> None:
    print(f"\n{figures.table(results)}")
    for result in results:
        print(
            f"{result.machine}: {result.summary.splitlines()[-1]} (made in "
            f"{result.build_seconds:.0f} s, booted and tested in {result.run_seconds:.0f} s)"
        )
    if file is not None:
        file.write_text(figures.document(results))


if __name__ == "__main__":
    raise SystemExit(main())
