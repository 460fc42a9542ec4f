"""NAME.viz files (gnomon/hpm/viz.xsd) as runs; `gnomon.store.exports.viz` writes them of runs."""

from __future__ import annotations

from gnomon.store.viz.run import Document, open_viz, read_viz

__all__ = ["Document", "open_viz", "read_viz"]
