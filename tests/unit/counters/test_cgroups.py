"""Finding the hierarchy of cgroups that the kernel counts by, in any mountinfo."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.cgroups import hierarchy, open_cgroup
from gnomon.errors import GnomonError, UsageError

V2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "36 24 0:31 / /sys/fs/cgroup/perf\\040event rw - cgroup cgroup rw,perf_event\n"
CPU = "37 24 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"


def machine(folder: Path, mountinfo: str) -> Path:
    (folder / "proc/self").mkdir(parents=True, exist_ok=True)
    (folder / "proc/self/mountinfo").write_text(mountinfo)
    return folder


def test_version_1_goes_before_version_2(tmp_path: Path) -> None:
    assert hierarchy(machine(tmp_path, CPU + V2)) == Path("/sys/fs/cgroup")
    assert hierarchy(machine(tmp_path, V2 + CPU + V1)) == Path("/sys/fs/cgroup/perf event")


def test_none_is_mounted(tmp_path: Path) -> None:
    for mountinfo in ("", CPU, "garbage\n- \n"):
        with pytest.raises(GnomonError, match="mount -t cgroup2"):
            hierarchy(machine(tmp_path, mountinfo))
    with pytest.raises(GnomonError, match="mount -t cgroup2"):
        hierarchy(tmp_path / "nothing")


def test_names_below_and_from_the_root(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    (mount / "a/b").mkdir(parents=True)
    root = machine(tmp_path, V2.replace("/sys/fs/cgroup", str(mount)))
    for name in ("a/b", "/a/b", str(mount / "a/b")):
        fd = open_cgroup(name, root)
        assert os.path.samestat(os.fstat(fd), (mount / "a/b").stat())
        os.close(fd)
    with pytest.raises(UsageError, match="did you mean b"):
        open_cgroup("a/bb", root)


def test_a_name_that_is_too_long_is_no_cgroup_and_is_not_repeated_whole(tmp_path: Path) -> None:
    root = machine(tmp_path, V2.replace("/sys/fs/cgroup", str(tmp_path)))
    for name in ("a/" * 3000, "a" * 300):
        with pytest.raises(UsageError, match="no cgroup has so long a name") as refused:
            open_cgroup(name, root)
        assert len(str(refused.value)) < 100


@given(st.text(alphabet=" -/\\01cgroup2perf_event,\n", max_size=200))
def test_any_mountinfo(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = machine(tmp_path_factory.getbasetemp() / "any", text)
    problem = ""
    try:
        found = hierarchy(root)
    except GnomonError as error:
        problem = str(error)
    assert "mount -t cgroup2" in problem or found
