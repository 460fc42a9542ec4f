"""Files of Python: open, os, mmap, shutil, tempfile and threads."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import threading
from pathlib import Path

LINES = 500
BYTES = bytes(range(256)) * 40


def by_open() -> None:
    with open("text", "w", encoding="utf-8") as text:
        text.writelines(f"line {number}\n" for number in range(LINES))
    with open("text", encoding="utf-8") as text:
        assert [int(line.split()[1]) for line in text] == list(range(LINES))
    with open("data", "wb", buffering=0) as data:
        assert data.write(BYTES) == len(BYTES)
    with open("data", "r+b") as data:
        data.seek(1000)
        assert data.read(10) == BYTES[1000:1010]
        data.write(b"xyz")
    assert Path("data").stat().st_size == len(BYTES)


def by_os() -> None:
    fd = os.open("raw", os.O_RDWR | os.O_CREAT, 0o600)
    assert os.write(fd, b"0123456789") == 10
    assert os.pread(fd, 5, 2) == b"23456"
    assert os.pwritev(fd, [b"ab", b"cde"], 20) == 5
    parts = [bytearray(2), bytearray(3)]
    assert os.preadv(fd, parts, 20) == 5
    assert parts == [b"ab", b"cde"]
    assert os.lseek(fd, 0, os.SEEK_SET) == 0
    copy = os.dup(fd)
    assert os.read(copy, 4) == b"0123"
    os.ftruncate(fd, 12)
    os.fsync(fd)
    os.close(copy)
    os.close(fd)
    Path("folder").mkdir()
    folder = os.open("folder", os.O_RDONLY)
    os.close(os.open("inner", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder))
    assert os.stat("inner", dir_fd=folder).st_size == 0
    os.close(folder)
    Path("folder/inner").rename("folder/renamed")
    assert not os.access("folder/inner", os.F_OK)


def by_mmap() -> None:
    with open("mapped", "w+b") as file:
        file.truncate(mmap.PAGESIZE)
        with mmap.mmap(file.fileno(), 0) as mapped:
            mapped[10:15] = b"hello"
            mapped.flush()
        file.seek(10)
        assert file.read(5) == b"hello"


def by_others() -> None:
    shutil.copyfile("data", "copy")
    assert Path("copy").read_bytes() == Path("data").read_bytes()
    with tempfile.TemporaryFile(dir="folder") as file:
        file.write(BYTES)
        file.seek(0)
        assert file.read() == BYTES
    Path("copy").unlink()


def in_thread(number: int) -> None:
    for turn in range(20):
        with open(f"thread-{number}", "ab") as file:
            file.write(bytes([turn]) * 10)


MARK = "/gnomon-corpus-"
os.access(MARK + "begin", os.F_OK)
by_open()
by_os()
by_mmap()
by_others()
threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
os.access(MARK + "end", os.F_OK)
print("python_files:", LINES, "lines")
