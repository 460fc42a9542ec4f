"""The files of a machine: its root folder, its kernel and the first file system of that.

The root is a folder of the host, which the machine sees through 9p and cannot change.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from guest import initrd
from guest.packages import Packages, unpack
from guest.recipe import Architecture
from guest.trouble import GuestError

HERE = Path(__file__).parent

_PACKAGES = ("busybox-static", "python3", "libpfm4", "libstdc++6")
_USELESS = ("./usr/share/doc/*", "./usr/share/man/*", "./usr/share/locale/*",
            "./usr/share/info/*", "./usr/share/zoneinfo/*", "*/__pycache__/*")  # fmt: skip
# The machine's shell and small programs are all busybox.
_APPLETS = ("sh", "true", "false", "sleep", "cat", "ls", "ps", "mount", "mkdir", "ln", "ip",
            "poweroff", "sync", "taskset")  # fmt: skip

_INIT = """\
#!/bin/sh
export PATH=/usr/bin HOME=/tmp LANG=C.UTF-8 PYTHONPYCACHEPREFIX=/tmp/compiled
mount -t devtmpfs dev /dev && mkdir -p /dev/shm && ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmp /tmp && mount -t tmpfs shm /dev/shm && mount -t proc proc /proc
mount -t sysfs sys /sys && mount -t tracefs tracing /sys/kernel/tracing
ip link set lo up && echo guest >/proc/sys/kernel/hostname
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share /mnt
cd /mnt
ulimit -n 16384
sh ./command >output 2>&1
echo $? >status
sync
poweroff -f
"""


@dataclass(frozen=True)
class Image:
    """What a machine boots from, and what programs for it are compiled against.

    Attributes:
        root: the root folder.
        kernel, initrd: for the emulator.
        headers: folder of the headers of Python and libpfm4.
        python: such as "python3.11".
    """

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def kernel(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        return self.folder / "initrd"

    @property
    def headers(self) -> Path:
        return self.folder / "headers" / "usr" / "include"

    @property
    def python(self) -> str:
        return (self.root / "usr" / "bin" / "python3").readlink().name

    @property
    def size_bytes(self) -> int:
        files = (path.lstat() for path in self.folder.rglob("*"))
        return sum(file.st_blocks * 512 for file in files)


def made(architecture: Architecture, cache: Path, *, anew: bool = False) -> Image:
    """Return the image of an architecture, made now if its recipe has changed since the last."""
    folder = cache / f"{architecture.name}-{_recipe_of(architecture)}"
    if anew or not folder.exists():
        for outdated in cache.glob(f"{architecture.name}-*"):
            shutil.rmtree(outdated)
        # Renamed when complete, so that one that is there is whole.
        unfinished = cache / f"unfinished-{architecture.name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        _make(architecture, unfinished)
        unfinished.rename(folder)
    return Image(folder)


def _recipe_of(architecture: Architecture) -> str:
    sources = (HERE / f"{name}.py" for name in ("image", "initrd", "packages"))
    text = repr(architecture).encode() + b"".join(path.read_bytes() for path in sources)
    return hashlib.sha256(text).hexdigest()[:12]


def _make(architecture: Architecture, folder: Path) -> None:
    image = Image(folder)
    apt = folder / "apt"
    packages = Packages(architecture.name, apt)
    packages.update()
    _make_root(image.root, packages.fetch(*_PACKAGES))
    kernel = packages.dependency(architecture.kernel, "linux-image-")
    headers = ("libpfm4-dev", f"lib{image.python}-dev")
    of_kernel, *of_headers = packages.fetch_alone(kernel, *headers)
    unpack(of_headers, folder / "headers", *_USELESS, "*.a", "*.so")
    unpack([of_kernel], folder / "kernel", *_USELESS)
    _take_kernel(image, folder / "kernel")
    shutil.rmtree(folder / "kernel")
    shutil.rmtree(apt)


def _make_root(root: Path, packages: Iterable[Path]) -> None:
    usr = root / "usr"
    for name in ("bin", "sbin", "lib", "lib64"):
        (usr / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    unpack(packages, root, *_USELESS)
    for name in ("proc", "sys", "dev", "tmp", "mnt", "etc", "run"):
        (root / name).mkdir(exist_ok=True)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/tmp:/bin/sh\n")
    (root / "etc" / "group").write_text("root:x:0:\n")
    for name in _APPLETS:
        (usr / "bin" / name).symlink_to("busybox")
    init = usr / "sbin" / "init"
    init.write_text(_INIT)
    init.chmod(0o755)


def _take_kernel(image: Image, unpacked: Path) -> None:
    kernels = [*(unpacked / "boot").glob("vmlinu[xz]-*")]
    modules = [*(unpacked / "lib" / "modules").iterdir()]
    if len(kernels) != 1 or len(modules) != 1:
        raise GuestError(f"{unpacked}: not one kernel with its modules")
    shutil.copy(kernels[0], image.kernel)
    image.initrd.write_bytes(initrd.archive(image.root / "usr/bin/busybox", modules[0]))
