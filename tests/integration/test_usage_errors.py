"""Mistakes in a command line: one line that says what to type, and status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import TOOLS, run


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gnomon runs --tag", "--tag: an option of gnomon runs list; type gnomon runs list --tag"),
        ("gnomon runs --tag v1", "type gnomon runs list --tag TAG"),
        ("gnomon runs -o x.csv", "-o: gnomon runs has no such option; gnomon count has: "),
        ("gnomon runs lst", "did you mean list?"),
        ("gnomon runs tag a", "TAG is missing; type gnomon runs tag TAG"),
        ("gnomon count -a -d 2s", "-d '2s': not a number; did you mean -d 2?"),
        ("gnomon count -r 2.5 true", "-r '2.5': not a whole number; did you mean -r 2?"),
        ("gnomon count -r x true", "-r 'x': not a whole number; type -r N"),
        ("gnomon count -r", "-r: its value is missing; type -r N"),
        ("gnomon count --nmae x -- true", "--nmae: no such option; did you mean --name?"),
        # --run is an alias that no message names
        ("gnomon count --runn x -- true", "--runn: no such option; did you mean --name?"),
        ("gnomon count --json=3 true", "--json takes no value; type --json"),
        ("gnomon run -e cycles -- true", "gnomon count has: gnomon count -e LIST; or see"),
        ("gnomon report --per functon", "did you mean function?"),
        ("gnomon report --per x", "there are command, process, thread"),
        ("gnomon report a b", "'b': gnomon report has no such part; it has values, hotspots"),
        ("gnomon compare", "RUN is missing; type gnomon compare RUN"),
        ("gnomon export x", "--to is missing; type gnomon export --to {csv,"),
        ("gnomon view --port x", "--port 'x': not a whole number; type --port N"),
        ("gnomon clockres more", "'more': unexpected; see gnomon clockres"),
        ("gnomon config", "type gnomon config {hpm,"),
        ("hpmcount -z true", "hpmcount: -z: hpmcount has no such option; see hpmcount --help"),
        ("hpmcount -r", "hpmcount: -r: its value is missing; type -r <n>"),
        ("hpmstat -k", "hpmstat: -k: hpmstat has no such option; see hpmstat --help"),
        ("peekperf --prt 1", "did you mean --port?"),
    ],
)
def test_a_mistake_is_one_line(line: str, said: str, tmp_path: Path) -> None:
    command, *words = line.split()
    done = run(TOOLS / command, *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"{command}: ")
    assert said in done.stderr
    assert "argument" not in done.stderr
