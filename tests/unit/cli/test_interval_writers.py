"""Files that `gnomon stat` writes for days, while others do things to them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gnomon.cli.terminal.interval_writers import Appended, Textfile

IGNORED: Any = None


def test_a_file_that_is_cut_off_by_others_has_no_hole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = Appended(str(path))
    file.append("one\n")
    os.truncate(path, 0)
    file.append("two\n")
    file.close()
    assert path.read_bytes() == b"two\n"


def test_a_link_in_the_place_of_the_part_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("another's\n")
    path = tmp_path / "node.prom"
    file = Textfile(str(path), lambda: "1\n")
    part = tmp_path / f"node.prom.{os.getpid()}.part"
    part.symlink_to(other)
    file.tell(IGNORED)
    assert other.read_text() == "another's\n"
    file.tell(IGNORED)
    assert not path.is_symlink()
    assert path.read_text() == "1\n"


def test_what_a_killed_one_with_our_number_has_left_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / f"node.prom.{os.getpid()}.part").write_text("half")
    Textfile(str(tmp_path / "node.prom"), lambda: "1\n").tell(IGNORED)
    assert [path.name for path in tmp_path.iterdir()] == ["node.prom"]
