"""`gnomon annotate`: source and machine code of a function with what each line took."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser, add_report_options
from gnomon.cli.terminal.streams import format_of, width_of, write_report
from gnomon.csv_text import csv_of
from gnomon.errors import GnomonError, UsageError
from gnomon.store import inlined_calls
from gnomon.terminal_text import WIDTH

if TYPE_CHECKING:
    from gnomon.annotate.annotation import Annotation
    from gnomon.store.run import Run
    from gnomon.store.source_digests import Sources

_EPILOG = """\
examples:
  gnomon annotate solve                  lines of solve in the latest run here
  gnomon annotate solve app --assembly   its instructions, with arrows of jumps
  gnomon annotate solver.c:norm app -e PAPI_L1_DCM --both
  gnomon annotate norm app --source-path ~/src:@ --top 5
  gnomon annotate main gmon.out --ticks  as Xprofiler counts: 0.01 s each
  gnomon annotate --file solver.c app    a whole file, as report app source"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon annotate`."""
    p = Parser(
        prog="gnomon annotate",
        usage="gnomon annotate [options] FUNCTION [RUN]",
        description="Print the source or the machine code of a function with what each line or "
        "instruction took.",
        epilog=_EPILOG,
    )
    p.add_argument(
        "words", nargs="*", metavar="FUNCTION [RUN]",
        help="a function, parameters may be left out, with its file or module before it where "
        "several have the name (solver.c:norm); and a run, a program for its latest run, or a "
        "file that gnomon import reads (default: the latest run here)",
    )  # fmt: skip
    views = p.add_mutually_exclusive_group()
    views.add_argument(
        "--source", dest="view", action="store_const", const="source",
        help="lines of the source (default, where lines are known)",
    )  # fmt: skip
    views.add_argument(
        "--assembly", dest="view", action="store_const", const="assembly",
        help="instructions, with their source lines and arrows of jumps",
    )  # fmt: skip
    views.add_argument(
        "--both", dest="view", action="store_const", const="both",
        help="instructions with the source between them",
    )  # fmt: skip
    p.add_argument(
        "-e", "--event", dest="metric", metavar="METRIC", default="",
        help="what is shown, in any case (default: the first that was sampled)",
    )  # fmt: skip
    p.add_argument(
        "--ticks", action="store_true", help="times in ticks of 0.01 s, as gprof counts them"
    )
    p.add_argument(
        "--inlined", choices=inlined_calls.CHARGED, default=None,
        help="show inlined code at its own lines, or charge it to the lines that call it "
        "(default: origin)",
    )  # fmt: skip
    p.add_argument("--file", metavar="FILE", default="", help="a whole source file, no function")
    p.add_argument(
        "--source-path", dest="places", metavar="DIR", action="append", default=[],
        help="where sources are looked for, in this order, or several with colons between; @ is "
        "the place that the run names (default: @)",
    )  # fmt: skip
    p.add_argument(
        "--context", metavar="N", type=int, default=None,
        help="lines shown beside one that has a value (default: 3)",
    )  # fmt: skip
    p.add_argument(
        "--top", metavar="N", type=int, default=0,
        help="only the N lines or instructions with most, and what is beside them (0: all)",
    )  # fmt: skip
    p.add_argument(
        "--bytes", dest="with_bytes", action="store_true", help="the bytes of instructions, too"
    )
    p.add_argument(
        "--intel", dest="is_intel", action="store_true", help="x86 code in Intel's syntax, not AT&T"
    )
    add_report_options(p)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print a function and return 0.

    Raises:
        UsageError: there is no such function, run or metric.
        GnomonError: the run cannot be read, or there is nothing of what was asked for.
    """
    from gnomon.annotate import annotation_text
    from gnomon.annotate.source_search import sources

    name, run_name = _words(arguments)
    opened = _opened(arguments, run_name)
    if arguments.file:
        return _print_file(arguments, opened)
    annotation = _annotation(arguments, opened, name)
    view = arguments.view
    if view is None:
        view = annotation_text.SOURCE if annotation.has_source else annotation_text.ASSEMBLY
    if view != annotation_text.SOURCE and annotation.assembly is None:
        raise GnomonError(annotation.why_no_assembly)
    texts = sources(opened, arguments.places)
    kind = format_of(arguments.output, as_json=arguments.json)
    if kind == "text":
        to_file = bool(arguments.output) and arguments.output != "-"
        look = annotation_text.Look(
            view, WIDTH if to_file else width_of(sys.stdout), arguments.context, arguments.top,
            arguments.with_bytes,
        )  # fmt: skip
        text = annotation_text.annotation_text(opened, annotation, texts, look)
    else:
        text = _data(arguments, annotation, texts, kind, view)
    write_report(arguments.output, text)
    return 0


def _words(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """Return the names of the function and the run.

    Raises:
        UsageError: one is missing, or there are too many.
    """
    words = [*arguments.words]
    if arguments.file:
        words.insert(0, "")
        if arguments.view not in (None, "source"):
            raise UsageError(f"--file shows source, not --{arguments.view}; name a function")
        if arguments.places or arguments.with_bytes or arguments.ticks:
            raise UsageError("--source-path, --bytes and --ticks go with a function, not --file")
    if not words or (not words[0] and not arguments.file):
        raise UsageError("a function is missing: gnomon annotate FUNCTION [RUN]; the functions of "
                         "a run: gnomon report RUN profile")  # fmt: skip
    if len(words) > 2:
        raise UsageError(f"'{words[2]}': unexpected; see gnomon annotate --help")
    for option in ("top", "context"):
        value = getattr(arguments, option)
        if value is not None and value < 0:
            raise UsageError(f"--{option} {value}: must be 0 or more")
    return words[0], words[1] if len(words) > 1 else None


def _opened(arguments: argparse.Namespace, name: str | None) -> Run:
    from gnomon.capabilities import readers
    from gnomon.store import reference_checks
    from gnomon.store.run_directory import find

    opened = find(name, readers=readers())
    reference_checks.check(opened)
    if arguments.inlined == inlined_calls.CALLER:
        opened = inlined_calls.at_callers(opened)
    return opened


def _print_file(arguments: argparse.Namespace, opened: Run) -> int:
    """Print a source file as `gnomon report RUN source FILE` does, and return 0."""
    from gnomon.capabilities import report_parts
    from gnomon.cli.terminal.piecewise_output import write_pieces
    from gnomon.csv_text import csv_pieces
    from gnomon.store.reports.report_part import Request, json_pieces

    (part,) = (one for one in report_parts() if one.name == "source")
    to_file = bool(arguments.output) and arguments.output != "-"
    request = Request(
        argument=arguments.file, metrics=(arguments.metric,) if arguments.metric else (),
        top=arguments.top, inlined=arguments.inlined or "",
        width=WIDTH if to_file else width_of(sys.stdout),
    )  # fmt: skip
    kind = format_of(arguments.output, as_json=arguments.json)
    if kind == "text":
        write_report(arguments.output, part.text(opened, request).text)
        return 0
    data = part.data(opened, request)
    csv = csv_pieces(data.rows)
    write_pieces(csv if kind == "csv" else json_pieces(opened, part, request, data),
                 arguments.output)  # fmt: skip
    return 0


def _annotation(arguments: argparse.Namespace, opened: Run, name: str) -> Annotation:
    from gnomon.annotate.annotation import annotate

    is_text = format_of(arguments.output, as_json=arguments.json) == "text"
    needs_code = arguments.view in ("assembly", "both") or not is_text
    with_assembly = needs_code and not (arguments.view == "source" and is_text)
    annotation = annotate(
        opened, name, arguments.metric, with_assembly=with_assembly, in_ticks=arguments.ticks,
        is_intel=arguments.is_intel,
    )  # fmt: skip
    if annotation.has_source or with_assembly or arguments.view == "source":
        return annotation
    return annotate(
        opened, name, arguments.metric, in_ticks=arguments.ticks, is_intel=arguments.is_intel
    )


def _data(
    arguments: argparse.Namespace, annotation: Annotation, texts: Sources, kind: str, view: str
) -> str:
    from gnomon.annotate.annotation import document, instruction_rows, line_rows
    from gnomon.annotate.annotation_text import BOTH, SOURCE

    if kind == "json":
        return json.dumps(document(annotation, texts.line), indent=2) + "\n"
    if view == BOTH:
        raise UsageError(f"{arguments.output}: CSV is of --source or --assembly, not of both")
    return csv_of(
        line_rows(annotation, texts.line) if view == SOURCE else instruction_rows(annotation)
    )
