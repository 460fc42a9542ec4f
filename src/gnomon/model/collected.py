"""The name by which scripts have imported `gnomon.model.capability_result` ever since."""

from __future__ import annotations

from gnomon.model.capability_result import Collected, rows_of

__all__ = ["Collected", "rows_of"]
