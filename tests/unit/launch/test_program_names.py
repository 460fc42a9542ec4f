"""What a run is called after."""

from __future__ import annotations

import pytest

from gnomon.launch.program_names import program_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./app -n 4", "app"),
        ("python prog.py 5", "prog"),
        ("/usr/bin/python3.12 dir/prog.v2.py", "prog.v2"),
        ("python -m json.tool in.json", "json.tool"),
        ("python -mjson.tool in.json", "json.tool"),
        ("python -X dev -W error -Bu -m compileall .", "compileall"),
        ("python -Xdev -bum compileall .", "compileall"),
        ("python --check-hash-based-pycs always prog.py", "prog"),
        ("python -c pass", "python"),
        ("python -Ic pass", "python"),
        ("python -m", "python"),
        ("python -m ../x", "python"),
        ("python -X", "python"),
        ("python -", "python"),
        ("python", "python"),
        ("python-config --libs", "python-config"),
        ("nice -n 5 sh -c true", "sh"),
        ("env A=1 sh x", "sh"),
        ("mpirun -n 4 ./no-such-program", "mpirun"),
    ],
)
def test_programs_and_scripts_give_the_name(command: str, name: str) -> None:
    assert program_name(command.split()) == name
