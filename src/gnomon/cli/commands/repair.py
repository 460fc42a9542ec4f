"""`gnomon repair`: the output of a program, or the run of a `gnomon run`, that was killed."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import GnomonError, RunDirectoryError, UsageError
from gnomon.installation import LIBRARY_FOLDER
from gnomon.store import executors
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.measurement.items import RankFile


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon repair`."""
    p = Parser(
        prog="gnomon repair",
        description="Write the output of hpmTerminate (.hpm, .viz, .csv) from the raw file that a "
        "killed program with libhpm leaves. It contains all complete starts and stops; what a "
        "section measured since its last start is missing, and the output says so. The raw file "
        "is kept. After a killed gnomon run: assemble the run directory from its parts.",
    )
    p.add_argument(
        "files",
        nargs="+",
        metavar="FILE.hpmraw|NAME",
        help="the raw files, with -a also .hpmitems; or the name of a gnomon run",
    )
    p.add_argument(
        "-o",
        "--output",
        metavar="NAME",
        help="write NAME.hpm, NAME.viz, NAME.csv (without -a for one file only)",
    )
    p.add_argument(
        "-a",
        dest="plugin",
        metavar="PLUGIN",
        help="aggregate the files of a job's tasks with a plug-in, like hpmTerminate, and print "
        "one report for each group of tasks, or write it with -o; missing tasks are listed",
    )
    p.add_argument(
        "--name",
        metavar="NAME",
        help="for a gnomon run: write the run directory NAME.gnomon (default: the intended name "
        "of the run)",
    )
    p.add_argument("--force", action="store_true", help="for a gnomon run: replace an existing run")
    p.add_argument(
        "--executor",
        metavar="WHO",
        default="",
        help=f"for a run of many ranks: {executors.HELP}",
    )
    return p


def run(arguments: argparse.Namespace) -> int:
    """Repair each file and print its new name; return 0, or 1 if one could not be repaired.

    With a plug-in all files come to one report for each group of tasks.

    Raises:
        GnomonError: the helper that reads raw files is not installed, or the plug-in failed.
    """
    with executors.is_chosen(arguments.executor) as is_director:
        return _repair_all(arguments) if is_director else 0


def _repair_all(arguments: argparse.Namespace) -> int:
    from gnomon.store import run_directory, staging

    given = "--name" if arguments.name is not None else "--force" if arguments.force else ""
    if arguments.plugin is not None:
        if given:
            raise UsageError(f"{given} applies to a gnomon run, not to -a")
        return _aggregate(arguments.plugin, arguments.files, arguments.output)
    if arguments.name is not None and len(arguments.files) > 1:
        raise UsageError("--name needs exactly one gnomon run")
    if arguments.output and len(arguments.files) > 1:
        parser().error("-o needs exactly one file")

    status = 0
    for file in arguments.files:
        name = _run_of(file)
        if not name and not Path(file).exists() and run_directory.exists(file):
            made = run_directory.located(file)
            raise GnomonError(f"{made}: this run is complete; nothing to repair")
        if name:
            _close(name, arguments.name, force=arguments.force)
            continue
        if not Path(file).is_file() and run_directory.exists(file):
            raise RunDirectoryError(
                f"{run_directory.located(file)}: this run is complete; nothing to repair"
            )
        if not Path(file).exists():
            raise GnomonError(
                f"{file}: no such file, and no {staging.raw_of(file)} of a killed run; give a "
                f"NAME.hpmraw, or the name of a killed run"
            )
        if given:
            raise UsageError(f"{given} applies to a gnomon run, and {file} is a file; use -o NAME")
        status = status or _repair(file, [arguments.output] if arguments.output else [])
    return status


def _run_of(word: str) -> str:
    """Return the name of the run that a word is of, "" if it left no staging folder."""
    from gnomon.store.run_directory import SUFFIX
    from gnomon.store.staging import raw_of

    if word.rstrip("/").endswith(f"{SUFFIX}.raw") and Path(word).is_dir():
        return word.rstrip("/").removesuffix(".raw")
    return word if word and raw_of(word.rstrip("/")).is_dir() else ""


def _close(left: str, name: str | None, *, force: bool) -> None:
    """Make the run directory of what a run left, under the name that it was to have or another."""
    from gnomon.cli.commands.run import close_run, print_summary
    from gnomon.store import run_directory, staging

    left = left.rstrip("/")
    folder = staging.raw_of(left)
    name = left if name is None else name
    force = force or staging.replaces(folder)
    run_directory.check_free(name, force=force)
    staging.check_ended(folder)
    assembled = close_run(folder, name, force=force)
    print_summary(assembled)
    print(assembled.path)


def _repair(file: str, rest: Sequence[str | Path], *options: str) -> int:
    """Run the helper and return its status."""
    helper = LIBRARY_FOLDER / "hpm-repair"
    if not os.access(helper, os.X_OK):
        raise GnomonError(f"{helper}: missing or not executable; install Gnomon again")
    # A file may begin with a dash.
    shown = file if "/" in file else f"./{file}"
    words = [os.fspath(helper), *options, shown, *rest]
    done = subprocess.run(words, check=False, stderr=subprocess.PIPE)
    for line in done.stderr.decode(errors="backslashreplace").splitlines():
        said = line.replace(f"{shown}:", f"{file}:", 1) if line.startswith(shown) else line
        print(f"gnomon: {printable(said)}", file=sys.stderr)
    if done.returncode < 0:
        raise GnomonError(
            f"{file}: the helper that reads it was killed by signal {-done.returncode}; "
            "please report this as a bug, with the file"
        )
    return done.returncode


# --- over tasks -----------------------------------------------------------------------------------


def _aggregate(name: str, files: Sequence[str], output: str | None) -> int:
    import tempfile

    from gnomon.hpm.ranks import plugin as plugins

    if output == "":
        raise UsageError("-o '': a file name is missing")
    plugin, _ = plugins.find_plugin(name, os.environ, "-a ")
    with tempfile.TemporaryDirectory(prefix="gnomon-repair-") as folder:
        tasks = [_of_task(file, at, Path(folder)) for at, file in enumerate(files)]
        paths = [str(path) for path, _ in tasks]
        aggregated = plugins.replay_aggregator(plugin, paths, os.environ)
    notes = "\n".join(_notes([file for _, file in tasks]))
    for index, file in enumerate(aggregated):
        last = index == len(aggregated) - 1
        # How a program ended that left a raw file, nobody knows.
        found = file._replace(notes=notes if last else "", exit_status=-1)
        _report(found, output, is_first=index == 0)
    return 0


def _of_task(name: str, task: int, folder: Path) -> tuple[Path, RankFile]:
    """Return the file of items of a task, and what is in it.

    Raises:
        GnomonError: it is none, or cannot be read.
    """
    from gnomon.measurement.item_codec import BYTES_MAX, MAGIC, decoded, encoded

    path = folder / f"{task}.hpmitems"
    try:
        with Path(name).open("rb") as file:
            content = file.read(BYTES_MAX)
    except OSError as error:
        raise GnomonError(f"{name}: cannot be read: {error.strerror}") from None
    if not content.startswith(MAGIC):
        if _repair(name, [path], "--items"):
            raise GnomonError(f"{name}: cannot be aggregated; give files of this job's tasks only")
        content = path.read_bytes()
    rank_file, _ = decoded(content, name)
    if rank_file.task < 0:
        rank_file = rank_file._replace(task=task)
    path.write_bytes(encoded(rank_file))
    return path, rank_file


def _notes(files: Sequence[RankFile]) -> list[str]:
    """Return the notes on the files, each sentence once with its ranks."""
    tasks: dict[str, list[int]] = {}
    for file in files:
        for note in file.notes.splitlines():
            tasks.setdefault(note, []).append(file.task)
    return [f"{_named(sorted(which))}: {note}" for note, which in tasks.items()]


def _named(tasks: Sequence[int]) -> str:
    """Return "tasks 0-2,4,5"."""
    ranges: list[list[int]] = []
    for task in tasks:
        if ranges and task <= ranges[-1][1] + 1:
            ranges[-1][1] = task
        else:
            ranges.append([task, task])
    words = ",".join(
        f"{a}-{b}" if b > a + 1 else ",".join(map(str, range(a, b + 1))) for a, b in ranges
    )
    return f"task{'s' if len(tasks) > 1 else ''} {words}"


def _report(file: RankFile, name: str | None, *, is_first: bool) -> None:
    from gnomon.cli.classical.hpm_output_files import Output
    from gnomon.hpm.environment import read_settings
    from gnomon.hpm.ranks import aggregate_report, aggregate_viz_csv
    from gnomon.launch.run_environment import this_host
    from gnomon.measurement.report_style import ReportOptions

    chosen = read_settings()
    own = name or ""
    if own and not is_first:
        own = f"{own}_{file.task}"
    chosen = chosen._replace(name=own, silent=bool(own), unique=False)
    host = this_host()
    options = ReportOptions(tool="gnomon repair", formulas=chosen.formulas, guide_names=True)
    with Output(chosen, options, "") as output:
        output.write(
            lambda options: aggregate_report.render_aggregate_report(file, host, options),
            {
                "viz": lambda: aggregate_viz_csv.viz("libhpm", host, file),
                "csv": lambda: aggregate_viz_csv.csv(host, file),
            },
        )
    if own:
        for ending in chosen.formats:
            with suppress(BrokenPipeError):
                print(f"{own}.{ending}")
