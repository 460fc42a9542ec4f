"""What a run holds in the formats of other tools, as text that is written piece by piece."""

from __future__ import annotations

from gnomon.store.exports.csv_json import csv_text, json_text
from gnomon.store.exports.openmetrics import openmetrics
from gnomon.store.exports.speedscope import speedscope
from gnomon.store.exports.viz import left_out, viz

__all__ = ["csv_text", "json_text", "left_out", "openmetrics", "speedscope", "viz"]
