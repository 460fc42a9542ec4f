"""`gnomon view`: the page in the browser."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import GnomonError, UsageError
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.callgraph.inputs import GmonFiles
    from gnomon.view.server import Address

_EPILOG = """\
examples:
  gnomon view                        the latest run here
  gnomon view before after           two runs: compare them in every view
  gnomon view relax.viz              what libhpm or hpmcount wrote
  gnomon view app --sources ~/src    also search this directory for sources

The server listens on 127.0.0.1 (or ::1) and accepts only the address that it prints. To use it
from another machine, forward the port: ssh -L PORT:127.0.0.1:PORT that-machine, and open the
address here."""
_SOURCES_BEFORE_ASKING = 15
_LARGEST_PORT = 65535


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon view`."""
    p = Parser(
        prog="gnomon view",
        description="Show runs and .viz files in the browser: a tree of sections, functions and "
        "lines beside the source, tables, distributions over ranks and threads, and differences "
        "between runs.",
        epilog=_EPILOG,
    )
    p.add_argument(
        "runs",
        nargs="*",
        metavar="RUN|FILE",
        help="run directories by name or path, or files such as NAME.viz (default: the latest run "
        "here)",
    )
    add_options(p)
    return p


def add_options(p: argparse.ArgumentParser) -> None:
    """Add what `gnomon view` and `peekperf` have in common."""
    p.add_argument(
        "--port", type=int, default=0, metavar="N", help="port to listen on (default: a free one)"
    )
    p.add_argument(
        "--no-browser", action="store_true", help="print the address without opening a browser"
    )
    p.add_argument(
        "--sources",
        action="append",
        default=[],
        metavar="DIR",
        help="directory to search for source files; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until a signal comes, and return 0."""
    return serve(arguments, arguments.runs, combined=False, asking=_SOURCES_BEFORE_ASKING)


def serve(
    arguments: argparse.Namespace, paths: Sequence[str], *, combined: bool, asking: int,
    page: str = "", preferred: Sequence[Path] = (), gmon: GmonFiles | None = None,
) -> int:  # fmt: skip
    """Open the named runs, print the address, and answer until a signal arrives.

    Args:
        arguments: those of `add_options`.
        paths: of the runs.
        combined: several become one.
        asking: source files that the page opens before it asks.
        page: that the address names, as "#/table"; "" for the first one.
        preferred: where sources are looked for before the places that runs name.
        gmon: gmon.out files of a program, shown instead of runs.

    Raises:
        GnomonError: nothing of it can be opened, or the server cannot start.
    """
    if not 0 <= arguments.port <= _LARGEST_PORT:
        raise UsageError(
            f"--port {arguments.port}: must be 1 to {_LARGEST_PORT}, or 0 for any free port"
        )
    from gnomon.view.server import Server
    from gnomon.view.session import Session

    session = Session(
        sources=list(map(Path, arguments.sources)), preferred_sources=preferred,
        sources_before_asking=asking,
    )  # fmt: skip
    if gmon is not None:
        session.open_gmon(gmon)
    else:
        _open(session.open, session.problems, paths, combined=combined)
    for problem in session.problems:
        print(f"gnomon view: {printable(problem)}", file=sys.stderr)
    server = Server(session, arguments.port)
    combinations = [one.id for one in session.runs() if one.kind == "combined"]
    place = f"#/tree?run={combinations[-1]}" if combinations else page
    _tell(server.address, place, browser=not arguments.no_browser)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        session.end()
    return 0


def _open(
    opening: Callable[..., object], problems: list[str], paths: Sequence[str], *, combined: bool
) -> None:
    """Open what can be opened; the rest is said, and only an error if that is all."""
    if not paths:
        from gnomon.store import run_directory

        if not run_directory.runs(Path()):
            # The page itself can open runs of other folders.
            return
        paths = [os.fspath(run_directory.find(None).path)]
    if combined and len(paths) > 1:
        opening(paths, combined=True)
        return
    for path in paths:
        try:
            opening([path])
        except GnomonError as error:
            if len(paths) == 1:
                raise
            problems.append(str(error))
    if len(problems) == len(paths):
        raise GnomonError("\n".join(problems))


def _tell(address: Address, place: str, *, browser: bool) -> None:
    url, port = address.url + place, address.port
    opened = browser and _has_browser() and _opens(url)
    print(f"{'opening in the browser' if opened else 'open in a browser'}: {url}")
    if not opened:
        user = os.environ.get("USER") or os.environ.get("LOGNAME") or "you"
        print(
            "from another machine, first: "
            f"ssh -N -L {port}:{address.host}:{port} {user}@{os.uname().nodename}"
        )
    print("Ctrl-C ends it", flush=True)


def _has_browser() -> bool:
    """Return whether there is a screen here on which a browser could appear."""
    if os.environ.get("SSH_CONNECTION") and not os.environ.get("DISPLAY"):
        return False
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or bool(
        os.environ.get("BROWSER")
    )


def _opens(url: str) -> bool:
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # One that runs in this terminal would hold up the server.
    if isinstance(browser, webbrowser.GenericBrowser) and not isinstance(
        browser, webbrowser.BackgroundBrowser
    ):
        return False
    sys.stdout.flush()
    # What it says is whether the starter still runs: most have done their work by then.
    browser.open(url)
    return True
