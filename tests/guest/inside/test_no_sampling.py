"""Where stacks cannot be unwound nothing is sampled, and who asks for it is told."""

from __future__ import annotations

import platform
from pathlib import Path

from guest.inside.work import BIN, run


def test_program_is_not_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    done = run(BIN / "gnomon", "record", "--name", tmp_path / "r", "--", "sh", "-c", f">{started}")
    assert done.returncode == 1, done.stdout + done.stderr
    assert not started.exists()
    assert not (tmp_path / "r.gnomon").exists()
    (line,) = done.stderr.splitlines()
    assert platform.machine() in line
    assert "gnomon count" in line
