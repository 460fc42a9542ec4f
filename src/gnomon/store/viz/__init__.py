"""NAME.viz files (gnomon/hpm/viz.xsd) as runs; `gnomon.store.exports.viz` writes them of runs."""

from __future__ import annotations

from gnomon.store.viz.run import Document, opened, read

__all__ = ["Document", "opened", "read"]
