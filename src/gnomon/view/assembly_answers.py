"""Answers about the machine code of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.errors import GnomonError, UsageError
from gnomon.view import request_params
from gnomon.view.recorded_run import recorded_run
from gnomon.view.tree_answers import as_json

if TYPE_CHECKING:
    from starlette.responses import Response

    from gnomon.view.open_run import OpenRun
    from gnomon.view.request_params import QueryParams


def assembly(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the instructions of a function with their values: `Assembly` of the contract."""
    from gnomon.annotate.annotation import annotate, document

    if opened.parts or opened.is_window:
        raise UsageError("instructions are shown of one whole run: open it by itself")
    metric = opened.metric(request_params.integer(asked, "metric", opened.first_metric()))
    name, file = asked.get("function", ""), asked.get("file", "")
    if not name:
        raise UsageError("'function' is missing")
    try:
        annotation = annotate(
            recorded_run(opened), name, metric.name, file=file,
            in_ticks=asked.get("ticks") == "yes", is_intel=asked.get("syntax") == "intel",
        )  # fmt: skip
    except UsageError:
        raise
    except GnomonError as error:
        raise UsageError(str(error)) from None
    answer: dict[str, Any] = document(annotation, lambda _file, _line: "")
    wanted = ("function", "module", "metric", "unit", "how", "whole", "total", "instructions",
              "jumps", "elsewhere")  # fmt: skip
    for row in answer["instructions"]:
        row["targetAddress"] = row.pop("target_address")
    return as_json(
        {key: answer[key] for key in wanted}
        | {
            "whyNone": answer["no_instructions"],
            "whyNoLines": answer["no_lines"],
            "isX86": annotation.assembly is not None and annotation.assembly.is_x86,
        }
    )
