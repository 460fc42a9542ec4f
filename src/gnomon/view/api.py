"""What the page asks, and what it gets: the contract, with `contract.py` for its types.

All is JSON unless said otherwise. An error is `{"error": sentence}` with status 400 (asked wrongly:
no such run, metric, column), 403 (no token, foreign host or page), 404 (no such address) or 422 (a
run or file cannot be read). Numbers of metrics, locations and regions are those of the run's own
tables. ID is the number of an open run; `ID.caller` is the same with inlined code charged to the
functions and lines that call it. Behind either, `@BEGIN-END` is what samples have between two
moments, in nanoseconds since the first of them began. `location` restricts values to one location
and what is in it. Values over repetitions are means. Typed arrays are as `packed` says.

| request | answer |
|---|---|
| `GET /api/state` | what is open, what could be opened here |
| `GET /api/folder?path=` | runs, .viz files and folders in a folder |
| `GET /api/folder?path=&of=profiles` | programs, gmon.out files and folders |
| `POST /api/open {paths, combine}` | opens runs and .viz files |
| `POST /api/profiles {program, files, config, ...}` | opens gmon.out files, see `ProfilesToLoad` |
| `POST /api/combine {ids}` | one of several that are open, a location for each |
| `POST /api/close {id}` | closes one, and combinations with it |
| `GET /api/runs/ID` | the run page: head, machine, availability, warnings, capabilities |
| `GET /api/runs/ID/metrics`, `/locations`, `/tables` | what can be chosen |
| `GET /api/runs/ID/tree?by=` | typed arrays: a tree in one grouping |
| `GET /api/runs/ID/tree?by=&open=NODE&first=N` | nodes added below NODE: those from N on |
| `GET /api/runs/ID/values?by=&metric=&location=&statistic=` | typed arrays in the tree's order |
| `GET /api/runs/ID/values?...&first=&end=` | only those of some nodes, as numbered in the tree |
| `GET /api/runs/ID/spread?by=&node=&metric=&location=` | typed arrays: a node at each place |
| `GET /api/runs/ID/node?by=&node=&location=` | everything known of a node |
| `GET /api/runs/ID/nodeOfLine?by=&file=&line=` | the node in which a line has most |
| `GET /api/runs/ID/activity?metric=&location=&begin=&end=&bins=` | typed arrays: over time |
| `GET /api/runs/ID/order?metrics=&location=&begin=&end=&bins=` | typed arrays: frames over time |
| `GET /api/runs/ID/matrix?by=&of=&rows=BEGIN-END&columns=&cells=` | typed arrays: messages |
| `GET /api/runs/ID/ranks?series=&sort=&order=&begin=&end=&bands=` | typed arrays: ranks |
| `GET /api/runs/ID/sites?location=` | from where a rank calls MPI |
| `GET /api/runs/ID/io?layer=` | what is known of single calls on files |
| `GET /api/runs/ID/io/files?layer=&filter=&locations=` | files, by what was moved |
| `GET /api/runs/ID/io/pattern?file=&begin=&end=&low=&high=&...` | typed arrays: requests |
| `GET /api/runs/ID/io/rates?by=&kind=&file=&begin=&end=&bins=&...` | typed arrays: over time |
| `GET /api/runs/ID/io/sums?file=&begin=&end=&locations=` | what calls of a window come to |
| `GET /api/runs/ID/callgraph?metric=&e=&E=&f=&F=` | typed arrays: functions and calls |
| `GET /api/runs/ID/callgraph/report?kind=&format=&...` | rows, or a file: text or csv |
| `... &unused=yes&brief=yes&function=INDEX` | unused functions, no field texts; of statistics |
| `GET /api/runs/ID/table?name=&metrics=&location=&sort=&order=...` | rows, see `TableWanted` |
| `GET /api/runs/ID/export?...&format=` | what the table shows, all of it, as a file: csv or json |
| `GET /api/runs/ID/source?file=&choice=` | a source file that the run names |
| `POST /api/runs/ID/sources {directory}` | looks for missing sources in one more directory |
| `GET /api/runs/ID/lines?file=&metrics=&location=` | values of each line of a source file |
| `GET /api/runs/ID/assembly?function=&file=&metric=&ticks=&syntax=` | instructions with values |
| `POST /api/differences {a, b, metric, before, after}` | typed arrays: pairs of nodes compared |
| `GET /api/compare?a=&b=&per=&metric=` | what `gnomon compare A B --json` says |
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from gnomon import __version__
from gnomon.errors import GnomonError, UsageError
from gnomon.metrics import metric_direction
from gnomon.model.metric import CPU_TIME, WAITING_TIME
from gnomon.store import source_files, table_limits
from gnomon.store.reports.run_facts import killed_by
from gnomon.view import (
    assembly_answers,
    call_trace,
    data_table,
    graph_answers,
    io_answers,
    node_details,
    rank_answers,
    request_params,
    table_registry,
    time_answers,
    tree_answers,
    tree_builders,
    xprofiler_answers,
)
from gnomon.view.folder_listing import FolderEntry, listing
from gnomon.view.open_run import OpenRun
from gnomon.view.request_params import QueryParams
from gnomon.view.security import refused
from gnomon.view.session import Session
from gnomon.view.tree_answers import as_json, packed

_OF_THREADS = {CPU_TIME: "running", WAITING_TIME: "waiting"}
_ROWS = 200
_CANNOT_READ = 422


def routes(session: Session) -> list[Route]:
    """Return the addresses of the API for what a session has open."""
    api = _Api(session)
    asked: dict[str, Callable[..., Response]] = {
        "": api.run, "/metrics": api.metrics, "/locations": api.locations, "/tables": api.tables,
        "/tree": tree_answers.tree, "/values": tree_answers.values,
        "/spread": tree_answers.spread, "/node": tree_answers.node,
        "/nodeOfLine": tree_answers.node_of_line,
        "/activity": time_answers.activity, "/order": time_answers.order,
        "/matrix": rank_answers.matrix, "/ranks": rank_answers.ranks,
        "/sites": rank_answers.sites, "/callgraph": graph_answers.graph,
        "/callgraph/report": graph_answers.report,
        "/io": io_answers.trace, "/io/files": io_answers.files,
        "/io/pattern": io_answers.pattern, "/io/rates": io_answers.rates,
        "/io/sums": io_answers.sums,
        "/table": api.table, "/export": api.export, "/source": api.source, "/lines": api.lines,
        "/assembly": assembly_answers.assembly,
    }  # fmt: skip
    of_runs = [
        Route("/api/runs/{id}" + path, _of_run(session, answer)) for path, answer in asked.items()
    ]
    return [
        Route("/api/state", _plain(api.state)),
        Route("/api/folder", _plain(api.folder)),
        Route("/api/compare", _plain(api.compare)),
        Route("/api/open", _posted(api.open), methods=["POST"]),
        Route("/api/combine", _posted(api.combine), methods=["POST"]),
        Route("/api/close", _posted(api.close), methods=["POST"]),
        Route("/api/profiles", _posted(api.profiles), methods=["POST"]),
        Route("/api/differences", _posted(api.differences), methods=["POST"]),
        Route("/api/runs/{id}/sources", _posted(api.add_sources), methods=["POST"]),
        *of_runs,
    ]


def _answered(work: Callable[[], Response]) -> Response:
    try:
        return work()
    except UsageError as error:
        return refused(400, _sentence(error))
    except GnomonError as error:
        return refused(_CANNOT_READ, _sentence(error))
    except MemoryError:
        return refused(_CANNOT_READ, table_limits.no_memory("this part of the run"))
    except OSError as error:
        return refused(_CANNOT_READ, f"{error.filename or 'a file'}: {error.strerror}")


def _sentence(error: Exception) -> str:
    return str(error).encode(errors="backslashreplace").decode()


def _plain(answer: Callable[[QueryParams], Response]) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        asked = dict(request.query_params)
        return await run_in_threadpool(_answered, lambda: answer(asked))

    return handle


def _of_run(
    session: Session, answer: Callable[[OpenRun, QueryParams], Response]
) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        asked = dict(request.query_params)
        number = request.path_params["id"]
        return await run_in_threadpool(_answered, lambda: answer(session.run(number), asked))

    return handle


def _posted(answer: Callable[[Mapping[str, Any], str], Response]) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            return refused(400, "the body is not JSON")
        if not isinstance(body, dict):
            return refused(400, "the body is not a JSON object")
        number = str(request.path_params.get("id", ""))
        return await run_in_threadpool(_answered, lambda: answer(body, number))

    return handle


class _Api:
    """The request handlers; each runs in a thread of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session

    # --- what is open -----------------------------------------------------------------------------

    def state(self, _: QueryParams) -> Response:
        folder = listing(".")
        return as_json(
            {
                "version": __version__,
                "runs": [_title(one) for one in self._session.runs()],
                "problems": self._session.problems,
                "folder": folder.path,
                "openable": [_entry(one) for one in folder.entries],
                "sourceFolders": self._session.folders.names(),
                "sourcesBeforeAsking": self._session.sources_before_asking,
            }
        )

    def folder(self, asked: QueryParams) -> Response:
        folder = listing(asked.get("path", "."), profiles=asked.get("of") == "profiles")
        return as_json(
            {
                "path": folder.path,
                "parent": folder.parent,
                "entries": [_entry(one) for one in folder.entries],
                "truncated": folder.truncated,
            }
        )

    def open(self, body: Mapping[str, Any], _: str) -> Response:
        opened = []
        problems = []
        paths = request_params.strings(body, "paths")
        if body.get("combine") is True:
            opened = self._session.open(paths, combined=True)
        else:
            for path in paths:
                try:
                    opened += self._session.open([path])
                except GnomonError as error:
                    problems.append(_sentence(error))
        return as_json({"runs": [_title(one) for one in opened], "problems": problems})

    def combine(self, body: Mapping[str, Any], _: str) -> Response:
        return as_json(_title(self._session.combine(request_params.strings(body, "ids"))))

    def close(self, body: Mapping[str, Any], _: str) -> Response:
        self._session.close(request_params.text(body, "id"))
        return self.state({})

    def profiles(self, body: Mapping[str, Any], _: str) -> Response:
        return xprofiler_answers.load(self._session, body)

    # --- one run ----------------------------------------------------------------------------------

    def run(self, opened: OpenRun, _: QueryParams) -> Response:
        data, head = opened.data, opened.data.head
        kinds = data.regions.kind[data.regions.number >= 0]
        kinds_of = sorted(Counter(kinds.tolist()).items())
        files = opened.source_files()
        environment = head.get("environment")
        return as_json(
            {
                **_title(opened),
                "head": _finite(head),
                "hosts": _finite(head.get("hosts", [])),
                "workingDirectory": str(head.get("working_directory", "")),
                "environment": environment if isinstance(environment, dict) else {},
                "repetitions": data.repetitions,
                "isDilated": data.is_dilated,
                "hasInlined": data.has_inlined,
                "components": [
                    _component(one)
                    for one in _list(head.get("components"))
                    if isinstance(one, dict)
                ],
                "unavailable": [_component(one, "event") for one in head.get("unavailable", [])],
                "warnings": [str(one) for one in head.get("warnings", [])],
                "capabilities": [
                    {"kind": kind, "title": data.region_kinds.of(kind).title, "regions": count}
                    for kind, count in kinds_of
                ],
                "regionKinds": [one._asdict() for one in data.region_kinds],
                "groupings": [one._asdict() for one in tree_builders.groupings(data)],
                "counts": {
                    "locations": len(data.locations),
                    "regions": len(data.regions.number),
                    "paths": len(data.paths.number),
                    "metrics": len(data.metrics),
                    "sources": len(files),
                },
                "firstMetric": opened.first_metric(),
                "sampledNs": time_answers.sampled_ns(opened),
                "tracedCalls": call_trace.traced_kinds(opened),
                "sourceFiles": files,
                "missingFiles": source_files.missing(
                    files, data.head, self._session.folders, data.source_text
                ),
            }
        )

    def metrics(self, opened: OpenRun, _: QueryParams) -> Response:
        coverage = opened.known()
        return as_json(
            [
                {
                    **metric._asdict(),
                    "group": _group(metric.component, derived=metric.is_derived),
                    "additive": metric.is_additive,
                    "atOnce": metric.is_elapsed,
                    "recomputed": coverage[metric.metric].recomputed,
                    "worse": metric_direction.worse(metric.name, metric.unit) or None,
                    "hasRegions": coverage[metric.metric].has_regions,
                    "hasLocations": coverage[metric.metric].has_locations,
                    "sampleWeight": opened.sample_weight(metric.metric),
                    "ofThreads": _OF_THREADS.get(metric.name) if metric.unit == "s" else None,
                }
                for metric in opened.data.metrics
            ]
        )

    def locations(self, opened: OpenRun, _: QueryParams) -> Response:
        return as_json([one._asdict() for one in opened.data.locations])

    def tables(self, opened: OpenRun, _: QueryParams) -> Response:
        return as_json(table_registry.of_run(opened))

    # --- tables -----------------------------------------------------------------------------------

    def table(self, opened: OpenRun, asked: QueryParams) -> Response:
        offset, limit = (
            request_params.integer(asked, "offset", 0),
            request_params.integer(asked, "limit", _ROWS),
        )
        wanted = _wanted(opened, asked)
        source, query = table_registry.source_of(wanted)
        return as_json({**source.page(opened, query, offset, limit), "name": wanted.name})

    def export(self, opened: OpenRun, asked: QueryParams) -> Response:
        name, media, parts = table_registry.export(
            opened, _wanted(opened, asked), asked.get("format", "csv")
        )
        return StreamingResponse(
            (part.encode(errors="backslashreplace") for part in parts),
            media_type=media,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    # --- sources ----------------------------------------------------------------------------------

    def source(self, opened: OpenRun, asked: QueryParams) -> Response:
        source = source_files.find(
            asked.get("file", ""), opened.source_files(), opened.data.head, self._session.folders,
            asked.get("choice", ""), opened.data.source_text,
        )  # fmt: skip
        return as_json({**source._asdict(), "choices": list(source.choices)})

    def add_sources(self, body: Mapping[str, Any], number: str) -> Response:
        opened = self._session.run(number)
        self._session.folders.add(request_params.text(body, "directory"))
        found = [file for file in opened.source_files() if self._session.folders.candidates(file)]
        return as_json({"sourceFolders": self._session.folders.names(), "found": found})

    def lines(self, opened: OpenRun, asked: QueryParams) -> Response:
        metrics = request_params.integers(asked, "metrics") or [opened.first_metric()]
        location = opened.location(request_params.integer(asked, "location", -1))
        return as_json(node_details.lines(opened, asked.get("file", ""), metrics, location))

    # --- several runs -----------------------------------------------------------------------------

    def compare(self, asked: QueryParams) -> Response:
        from gnomon.view.comparison import compare_runs

        one, other = (self._session.run(asked.get(name, "")) for name in ("a", "b"))
        return as_json(
            _finite(compare_runs(one, other, asked.get("per", ""), asked.get("metric", "")))
        )

    def differences(self, body: Mapping[str, Any], _: str) -> Response:
        from gnomon.store.comparison.model import LIKELY
        from gnomon.view.node_differences import node_differences

        baseline, other = (
            self._session.run(request_params.text(body, name)) for name in ("a", "b")
        )
        compared = node_differences(
            baseline, other, request_params.text(body, "metric"),
            request_params.numbers(body, "before"), request_params.numbers(body, "after"),
        )  # fmt: skip
        return packed({"n": len(compared.p), "likely": LIKELY}, compared._asdict())


def _wanted(opened: OpenRun, asked: QueryParams) -> data_table.TableQuery:
    metrics = tuple(opened.metric(one).metric for one in request_params.integers(asked, "metrics"))
    order = asked.get("order", "descending")
    if order not in ("ascending", "descending"):
        raise UsageError(f"order {order[:40]!a}: there are ascending and descending")
    return data_table.TableQuery(
        asked.get("name", "functions"), metrics if "metrics" in asked else None,
        opened.location(request_params.integer(asked, "location", -1)), asked.get("sort", ""),
        order == "descending", asked.get("filter", "")[:1000],
        tuple(one for one in asked.get("columns", "").split(",") if one),
    )  # fmt: skip


def _title(opened: OpenRun) -> dict[str, Any]:
    head = opened.data.head
    return {
        "id": opened.id,
        "kind": opened.kind,
        "path": opened.path,
        "title": opened.title,
        "command": " ".join(_quoted(str(one)) for one in head.get("command", [])),
        "started": _finite(head.get("started", 0)),
        "wallSeconds": _finite(head.get("wall_seconds", 0)),
        "exitStatus": head.get("exit_status"),
        "signal": killed_by(head),
        "parts": [part._asdict() for part in opened.parts],
    }


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)


def _entry(one: FolderEntry) -> dict[str, Any]:
    return one._asdict()


def _list(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def _component(component: Mapping[str, Any], name: str = "name") -> dict[str, Any]:
    number = component.get("errno", 0)
    fields: dict[str, Any] = {
        name: str(component.get(name, "")),
        "reason": str(component.get("reason", "")),
        "remedy": str(component.get("remedy", "")),
        "errno": number if isinstance(number, int) else 0,
    }
    if name == "name":
        fields["available"] = component.get("available") is True
    return fields


def _group(component: str, *, derived: bool) -> str:
    """Return the heading under which a metric is listed."""
    return "derived metrics" if derived else component or "times"


def _finite(content: object) -> object:
    """Return JSON without the numbers that JSON does not have."""
    if isinstance(content, float):
        return content if np.isfinite(content) else None
    if isinstance(content, Mapping):
        return {str(key): _finite(one) for key, one in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(one) for one in content]
    return content
