"""Quantities of the page are the text that the terminal has of them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from page_scripts import bundled, output

from gnomon.units import quantity

UNITS = ("ns", "s", "bytes", "bytes/s", "J")


def test_the_page_has_the_text_of_the_terminal(tmp_path: Path) -> None:
    random = Random(1)
    values = [random.choice((-1, 1)) * 10 ** random.uniform(-6, 15) for _ in range(3000)]
    # Halves of the last digit that is shown, and numbers next to these.
    values += [random.randrange(100_000) / 2 ** random.randrange(6) for _ in range(3000)]
    values += [487250.0, 487350.0, 1.85, 1.45, 8192.5, 8193.5, 0.5, 1.5, 0.0, 999.95, 59.995]
    pairs = [(value, random.choice(UNITS)) for value in values]
    printed = output(bundled("quantities.mjs", tmp_path), given=json.dumps(pairs))
    shown = dict(zip(pairs, json.loads(printed), strict=True))
    expected = {pair: quantity(*pair) for pair in pairs}
    assert {pair: text for pair, text in shown.items() if text != expected[pair]} == {}
