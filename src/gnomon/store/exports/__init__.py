"""What a run holds in the formats of other tools, written piece by piece."""

from __future__ import annotations

from gnomon.store.exports.collapsed import collapsed
from gnomon.store.exports.csv_json import csv_text, json_text
from gnomon.store.exports.firefox import firefox
from gnomon.store.exports.openmetrics import openmetrics
from gnomon.store.exports.pprof import pprof
from gnomon.store.exports.speedscope import speedscope
from gnomon.store.exports.viz import left_out, viz

__all__ = [
    "collapsed", "csv_text", "firefox", "json_text", "left_out", "openmetrics", "pprof",
    "speedscope", "viz",
]  # fmt: skip
