"""The first file system of a machine: the modules that reach its root, and what loads them.

Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import gzip
import lzma
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from guest.trouble import GuestError

_WANTED = ("virtio_pci", "9pnet_virtio", "9p", "virtio_rng")

_INIT = """\
#!/bin/busybox sh
for module in /modules/*; do /bin/busybox insmod $module; done
/bin/busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 root /root
exec /bin/busybox switch_root /root /sbin/init
"""


def archive(busybox: Path, modules: Path) -> bytes:
    """Return the file system: busybox and the modules that are needed of a folder of them."""
    files = {"init": (_INIT.encode(), 0o755), "bin/busybox": (busybox.read_bytes(), 0o755)}
    for at, module in enumerate(in_order(_WANTED, modules)):
        files[f"modules/{at:02}-{module.name.partition('.')[0]}.ko"] = (_plain(module), 0o644)
    return gzip.compress(cpio(files), compresslevel=1)


def in_order(wanted: tuple[str, ...], folder: Path) -> list[Path]:
    """Return the files of modules, each after those that it depends on.

    Raises:
        GuestError: the kernel has no such module.
    """
    files = {_name(path): path for path in folder.rglob("*.ko*")}
    built_in = {_name(Path(line)) for line in (folder / "modules.builtin").read_text().split()}
    found: dict[str, Path] = {}

    def add(name: str) -> None:
        if name in found or name in built_in:
            return
        if name not in files:
            raise GuestError(f"kernel {folder.name} has no module {name}")
        for dependency in _dependencies(files[name]):
            add(dependency)
        found[name] = files[name]

    for name in wanted:
        add(name)
    return list(found.values())


def _name(path: Path) -> str:
    return path.name.partition(".")[0].replace("-", "_")


def _plain(module: Path) -> bytes:
    content = module.read_bytes()
    return lzma.decompress(content) if module.suffix == ".xz" else content


def _dependencies(module: Path) -> list[str]:
    # In section .modinfo; modules.dep does not exist until depmod has run.
    match = re.search(rb"\0depends=([^\0]*)\0", _plain(module))
    names = match[1].decode().split(",") if match else []
    return [name.replace("-", "_") for name in names if name]


def cpio(files: dict[str, tuple[bytes, int]]) -> bytes:
    """Return an archive of files (path to content and permissions), with their folders."""
    parts: list[bytes] = []
    folders = {str(parent): None for path in files for parent in reversed(Path(path).parents)}
    folders.pop(".")
    for name in (*folders, "root", "dev"):
        parts += _entry(name, b"", stat.S_IFDIR | 0o755)
    for name, (content, permissions) in files.items():
        parts += _entry(name, content, stat.S_IFREG | permissions)
    parts += _entry("TRAILER!!!", b"", 0)
    return b"".join(parts)


def _entry(name: str, content: bytes, mode: int) -> Iterator[bytes]:
    # inode, mode, uid, gid, links, mtime, size, device and special device (two numbers each),
    # length of the name, checksum
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    for part in (head, content):
        yield part + bytes(-len(part) % 4)
