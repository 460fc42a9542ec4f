"""The window Load Files: a program, its gmon.out files and Xprofiler's options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.callgraph.gmon_names import SUM_FILE
from gnomon.callgraph.gmon_profile import sum_bytes
from gnomon.callgraph.inputs import gmon_files
from gnomon.callgraph.selection import Selection, selected_functions
from gnomon.callgraph.xprofiler_settings import (
    DISPLAY_MOST,
    XprofilerSettings,
    check_paths,
    source_places,
    with_configuration,
)
from gnomon.errors import UsageError
from gnomon.view import request_params
from gnomon.view.folder_listing import absolute_of
from gnomon.view.graph_inputs import graph_input
from gnomon.view.session import Session
from gnomon.view.tree_answers import as_json

if TYPE_CHECKING:
    from starlette.responses import Response


def load(session: Session, body: Mapping[str, Any]) -> Response:
    """Open gmon.out files with options, and return how the page starts: `LoadedProfiles`.

    Raises:
        UsageError: a field is missing, or an option or a name makes no sense.
        GnomonError: a file cannot be read or written.
    """
    config = request_params.text(body, "config")
    settings, notes = with_configuration(absolute_of(config) if config else "", _typed(body))
    check_paths(settings)
    program = request_params.text(body, "program")
    names = [program] if program else []
    gmon = gmon_files([absolute_of(name) for name in (*names, *_texts(body, "files"))])
    if gmon is None:
        raise UsageError(
            f"{program or 'files'}: name a program that was built with -pg and gmon.out files of it"
        )
    opened = session.open_gmon(gmon)
    read = graph_input(opened, {})
    selected_functions(read.profile, settings.selection)
    places = source_places(settings.source_paths)
    session.search_sources(places.before, places.behind)
    if body.get("sum") is True and read.gmon is not None:
        summed = Path(SUM_FILE).absolute()
        summed.write_bytes(sum_bytes(read.gmon))
        notes = (*notes, f"the sum of the files was written to {summed}")
    chosen = settings.selection
    return as_json({
        "run": opened.id, "displayMax": settings.display_max, "notes": list(notes),
        "hidden": list(chosen.hidden), "dropped": list(chosen.dropped),
        "shown": list(chosen.shown), "counted": list(chosen.counted),
    })  # fmt: skip


def _typed(body: Mapping[str, Any]) -> XprofilerSettings:
    most = body.get("displayMax")
    if most is not None and (type(most) is not int or not 0 <= most <= DISPLAY_MOST):
        raise UsageError(f"-disp_max: must be a whole number from 0 to {DISPLAY_MOST}")
    selection = Selection(
        _texts(body, "hidden"), _texts(body, "dropped"), _texts(body, "shown"),
        _texts(body, "counted"), by_chapter=True,
    )  # fmt: skip
    return XprofilerSettings(
        most, selection, _texts(body, "sourcePaths"), _texts(body, "libraryPaths")
    )


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts, which may be empty."""
    return tuple(request_params.strings(body, name)) if body.get(name) else ()
