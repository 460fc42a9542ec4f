"""Users' presets in C: the files of PAPI's format mean what they mean in Python, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from c_names import Machine, compare, in_c, in_python, program
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.counters import presets
from gnomon.errors import PresetFileError

__all__ = ["program"]


@pytest.fixture(autouse=True)
def no_presets_left() -> Iterator[None]:
    presets.forget()
    yield
    presets.forget()
