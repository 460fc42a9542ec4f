"""The command line: one module per command, imported when the command is asked for."""

from __future__ import annotations

from gnomon.cli.main import hpmcount, main, parser

__all__ = ["hpmcount", "main", "parser"]
