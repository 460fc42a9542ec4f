"""The harness itself, without a machine: these run wherever `make test` does."""

from __future__ import annotations

import dataclasses
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from guest import __main__ as driver
from guest import boot, documents, figures, image, initrd
from guest.recipe import ARM64, MACHINES, PPC64EL, Machine
from guest.trouble import GuestError, explained, run

# --- the first file system ------------------------------------------------------------------------


def unpacked(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Return mode and content by name, read as the kernel reads a cpio archive."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        begin = (at + 110 + name_size + 3) & ~3
        at = (begin + size + 3) & ~3
        if name == "TRAILER!!!":
            assert at == len(archive)
            return found
        found[name] = (mode, archive[begin : begin + size])


def test_archive_holds_files_after_their_folders() -> None:
    files = {"init": (b"#!", 0o755), "a/b/c": (b"12345", 0o644), "a/empty": (b"", 0o600)}
    found = unpacked(initrd.cpio(files))
    assert [*found] == ["a", "a/b", "root", "dev", "init", "a/b/c", "a/empty"]
    assert found["a/b"] == (0o040755, b"")
    assert found["init"] == (0o100755, b"#!")
    assert found["a/b/c"] == (0o100644, b"12345")


def plant_modules(folder: Path, modules: dict[str, str], built_in: str = "") -> Path:
    for path, depends in modules.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        content = b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=x\0"
        file.write_bytes(lzma.compress(content) if file.suffix == ".xz" else content)
    (folder / "modules.builtin").write_text(built_in)
    return folder


def test_modules_come_after_what_they_depend_on(tmp_path: Path) -> None:
    folder = plant_modules(
        tmp_path,
        {
            "fs/9p.ko": "9pnet,netfs",
            "net/9pnet.ko": "",
            "net/9pnet_virtio.ko": "9pnet,virtio-ring",
            "fs/netfs.ko.xz": "fscache",
            "fs/fscache.ko": "",
            "drivers/virtio-ring.ko": "",
            "drivers/other.ko": "",
        },
        "kernel/drivers/virtio/virtio-pci.ko\n",
    )
    found = initrd.in_order(("virtio_pci", "9p", "9pnet_virtio"), folder)
    assert [path.name.partition(".")[0] for path in found] == [
        "9pnet",
        "fscache",
        "netfs",
        "9p",
        "virtio-ring",
        "9pnet_virtio",
    ]


def test_missing_module_is_named(tmp_path: Path) -> None:
    folder = plant_modules(tmp_path, {"fs/9p.ko": "9pnet"})
    with pytest.raises(GuestError, match="no module 9pnet"):
        initrd.in_order(("9p",), folder)


# --- recipes --------------------------------------------------------------------------------------


def test_every_machine_has_its_tests_and_every_test_a_machine() -> None:
    inside = {path.name for path in (image.HERE / "inside").glob("test_*.py")}
    assert {name for machine in MACHINES for name in machine.tests} == inside


def test_another_recipe_is_another_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(architecture: object, folder: Path) -> None:
        made.append(str(architecture))
        folder.mkdir()

    monkeypatch.setattr(image, "_make", make)
    first = image.made(ARM64, tmp_path)
    assert image.made(ARM64, tmp_path) == first
    assert len(made) == 1
    image.made(PPC64EL, tmp_path)
    changed = dataclasses.replace(ARM64, kernel="linux-image-cloud-arm64")
    assert image.made(changed, tmp_path) != first
    assert len(made) == 3
    # The outdated one is gone, the other architecture's is not.
    assert len(list(tmp_path.iterdir())) == 2
    assert image.made(changed, tmp_path, anew=True).folder.exists()
    assert len(made) == 4


# --- booting --------------------------------------------------------------------------------------

Emulated = Callable[[str], Machine]


@pytest.fixture
def emulated(tmp_path: Path) -> Emulated:
    """Return a function from a shell script, which stands in for the emulator, to a machine."""

    def machine(script: str) -> Machine:
        emulator = tmp_path / "emulator"
        emulator.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        emulator.chmod(0o755)
        architecture = dataclasses.replace(ARM64, qemu=str(emulator))
        return Machine("stand-in", architecture, "any", 1, ())

    return machine


def booted(machine: Machine, folder: Path, seconds: float = 20) -> int:
    return boot.boot(machine, image.Image(folder), folder, "true", seconds=seconds)


def test_status_and_output_come_back(
    emulated: Emulated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert booted(emulated("echo hello >output; echo 3 >status"), tmp_path) == 3
    assert capsys.readouterr().out == "hello\n"
    assert booted(emulated("echo 0 >status"), tmp_path) == 0


def test_machine_without_a_status_is_no_success(emulated: Emulated, tmp_path: Path) -> None:
    assert booted(emulated("echo 0 >status"), tmp_path) == 0
    with pytest.raises(GuestError, match=r"without a status[^$]*Kernel panic[^$]*remedy"):
        booted(emulated("echo Kernel panic >console"), tmp_path)


def test_machine_that_hangs_is_stopped(emulated: Emulated, tmp_path: Path) -> None:
    with pytest.raises(GuestError, match="stopped after 1 s"):
        booted(emulated("exec sleep 60"), tmp_path, seconds=1)


def test_missing_emulator_is_named_with_its_remedy(emulated: Emulated) -> None:
    architecture = dataclasses.replace(emulated("").architecture, qemu="no-such-emulator")
    with pytest.raises(GuestError, match=r"no-such-emulator[^$]*packaging/setup.sh packages guest"):
        boot.emulator_version(dataclasses.replace(emulated(""), architecture=architecture))


def test_failed_command_is_told_with_its_last_lines() -> None:
    with pytest.raises(GuestError, match=r"trying: sh returned 7\n    because\nremedy: do it"):
        run("sh", "-c", "echo because >&2; exit 7", purpose="trying", remedy="do it")
    assert explained("what", "") == "what"


# --- results --------------------------------------------------------------------------------------


def test_figures_become_a_table(tmp_path: Path) -> None:
    file = tmp_path / "figures.jsonl"
    file.write_text(json.dumps({"what": "instructions", "measured": "42"}) + "\n")
    result = figures.Result("arm64", figures=figures.read("arm64", file))
    assert figures.table([result]) == (
        "| machine | what         | measured |\n"
        "|---------|--------------|----------|\n"
        "| arm64   | instructions | 42       |\n"
    )
    (row,) = json.loads(figures.document([result]))["results"]
    assert row["figures"] == [{"machine": "arm64", "what": "instructions", "measured": "42"}]
    assert figures.read("arm64", tmp_path / "none") == []


def test_documents_are_held_against_the_schema(tmp_path: Path) -> None:
    assert documents.problems(tmp_path) == ["gnomon count wrote no JSON document"]
    schema = tmp_path / "schema"
    schema.write_text('{"type": "object", "required": ["counters"]}')
    (tmp_path / "0.json").write_text('{"counters": []}')
    assert documents.problems(tmp_path, schema) == []
    (tmp_path / "1.json").write_text("{}")
    (problem,) = documents.problems(tmp_path, schema)
    assert problem.startswith("1.json: $: ")


@pytest.mark.parametrize("status", [0, 1, 5, -1])
def test_driver_fails_if_a_machine_does(
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """5 is pytest's "no tests ran", -1 a machine that left no status."""
    monkeypatch.setattr("sys.argv", ["guest", "--json", str(tmp_path / "figures.json")])
    monkeypatch.setattr(driver, "_FOLDER", tmp_path)
    monkeypatch.setattr(boot, "emulator_version", lambda _: "QEMU")
    monkeypatch.setattr(
        driver, "_make", lambda *_, **__: (dict.fromkeys([ARM64, PPC64EL]), {ARM64: 1, PPC64EL: 2})
    )
    results = {machine.name: 0 for machine in MACHINES} | {"power9": status}
    monkeypatch.setattr(
        driver,
        "_test",
        lambda machine, *_: figures.Result(machine.name, status=results[machine.name], summary="s"),
    )
    assert (driver.main() != 0) is (status != 0)
    assert "| machine | what | measured |" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "figures.json").read_text())["results"]) == len(MACHINES)
