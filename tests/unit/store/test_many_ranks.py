"""The programs of the page "Analyse many ranks" do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from repeated_runs import repeated_run

PAGE = Path(__file__).parents[3] / "docs" / "commands" / "many-ranks.md"


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    tasks = [("process", "app", at, {"wall time": [float(at)]}) for at in range(5)]
    repeated_run(tmp_path, "app", {"wall time": [4.0]}, tasks=tasks)
    first, own = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    program = f"""if __name__ == "__main__":
    {first.replace(chr(10), chr(10) + "    ")}
    print(slowest.key, slowest.total)
from gnomon.store import profile_query, run_directory
{own}
print(profile_query.run(Spread(), profile_query.parts(run_directory.find("app"))))
"""
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-2:] == ["('', 'rank', '', 4) 4.0", "{0: (0.0, 4.0)}"]
