"""A process of its own that reads a Darshan log with PyDarshan, whose library is written in C.

What a damaged log does to that library, it does to this process alone. It is called with numbers of
two open files, that of the log and one to write to, and writes there the records of modules as they
are in memory; then JSON that says where each is; last, in eight bytes, where this begins.

Source: PyDarshan's backend/cffi_backend.py; include/darshan-*-log-format.h.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

MEMORY_BYTES = 4 << 30
CPU_SECONDS = 300
WRITTEN_BYTES = 1 << 30
DAMAGED, TOO_LARGE, NOT_LOADED = 1, 2, 3
"""Exit statuses."""
COUNTER_MODULES = {"POSIX": "posix", "STDIO": "stdio", "MPI-IO": "mpiio"}
"""Modules of counters, and what their structures are called in C."""
TRACE = "DXT_POSIX"
_EXE_BYTES = 4096
_NAMES_MOST = 1 << 20
"""Of counters."""
_RECORD_HEAD_BYTES = 16
_SEGMENT_BYTES = {32: 1, 40: 2}
"""Of a segment, and the last version of the module that has these: later ones have the thread."""


class _LogError(Exception):
    """The region that was begun last cannot be read."""


class _LogReader:
    """A log, and the file that takes what it has."""

    def __init__(self, log: int, out: IO[bytes]) -> None:
        from darshan.backend import cffi_backend

        self._c: Any = cffi_backend.libdutil
        self._ffi: Any = cffi_backend.ffi
        self._out = out
        _begin("the job")
        handle = self._c.darshan_log_open(f"/proc/self/fd/{log}".encode())
        if handle == self._ffi.NULL:
            raise _LogError
        self._log = handle

    def content(self) -> dict[str, Any]:
        """Write the records of modules, and return all else."""
        content: dict[str, Any] = {
            "library": self._text(self._c.darshan_log_get_lib_version()),
            **self._job_facts(),
        }
        modules = self._modules()
        _begin("the names of files")
        content["names"] = self._names()
        content["records"], content["counters"] = {}, {}
        for name, prefix in COUNTER_MODULES.items():
            if name in modules:
                _begin(name)
                content["counters"][name] = self._counter_names(prefix)
                content["records"][name] = self._records(prefix, modules[name]["index"])
        content["traces"], content["skipped"] = [], ""
        if TRACE in modules:
            _begin(TRACE)
            if self._can_read(modules[TRACE]["version"]):
                content["traces"] = self._traces(modules[TRACE]["index"])
            else:
                content["skipped"] = f"{TRACE} of version {modules[TRACE]['version']}"
        content["modules"] = modules
        return content

    def _text(self, pointer: object) -> str:
        return bytes(self._ffi.string(pointer)).decode("utf-8", "replace")

    def _job_facts(self) -> dict[str, Any]:
        job = self._ffi.new("struct darshan_job *")
        if self._c.darshan_log_get_job(self._log, job) < 0:
            raise _LogError
        exe = self._ffi.new("char[]", _EXE_BYTES + 1)
        if self._c.darshan_log_get_exe(self._log, exe) < 0:
            raise _LogError
        mounts, count = self._ffi.new("struct darshan_mnt_info **"), self._ffi.new("int *")
        if self._c.darshan_log_get_mounts(self._log, mounts, count) < 0:
            raise _LogError
        seconds = self._ffi.new("double *")
        self._c.darshan_log_get_job_runtime(self._log, job[0], seconds)
        # The last byte of the job's text is one that a hostile log has written over.
        facts = bytes(self._ffi.buffer(job[0].metadata)).split(b"\0")[0].decode("utf-8", "replace")
        return {
            "job": int(job[0].jobid),
            "processes": int(job[0].nprocs),
            "start_s": int(job[0].start_time_sec),
            "start_ns": int(job[0].start_time_nsec),
            "seconds": float(seconds[0]),
            "facts": facts,
            "exe": self._text(exe),
            "mounts": [
                (self._text(mounts[0][place].mnt_path), self._text(mounts[0][place].mnt_type))
                for place in range(count[0])
            ],
        }

    def _modules(self) -> dict[str, dict[str, int]]:
        listed, count = self._ffi.new("struct darshan_mod_info **"), self._ffi.new("int *")
        self._c.darshan_log_get_modules(self._log, listed, count)
        return {
            self._text(listed[0][place].name): {
                "index": int(listed[0][place].idx),
                "version": int(listed[0][place].ver),
                "is_partial": int(listed[0][place].partial_flag),
            }
            for place in range(count[0])
        }

    def _names(self) -> dict[str, str]:
        names, count = self._ffi.new("struct darshan_name_record **"), self._ffi.new("int *")
        self._c.darshan_log_get_name_records(self._log, names, count)
        return {
            str(int(names[0][place].id)): self._text(names[0][place].name)
            for place in range(count[0])
        }

    def _counter_names(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the names of whole counters, and of times, in the order of records."""
        return tuple(  # type: ignore[return-value]
            self._listed(f"{prefix}_{middle}counter_names") for middle in ("", "f_")
        )

    def _listed(self, variable: str) -> list[str]:
        texts = getattr(self._c, variable)
        names: list[str] = []
        while len(names) < _NAMES_MOST:
            name = self._text(texts[len(names)])
            if name.endswith("_NUM_INDICES"):
                break
            names.append(name)
        return names

    def _records(self, prefix: str, index: int) -> list[int]:
        """Write the records of a module; return where they begin and end."""
        size = self._ffi.sizeof(f"struct darshan_{prefix}_file")
        begin = self._out.tell()
        for record in self._each(index):
            self._out.write(self._ffi.buffer(record, size))
        return [begin, self._out.tell(), size]

    def _each(self, index: int) -> Iterator[Any]:
        while True:
            buffer = self._ffi.new("void **")
            how_ended = self._c.darshan_log_get_record(self._log, index, buffer)
            if how_ended < 0:
                raise _LogError
            if how_ended == 0:
                return
            yield buffer[0]
            self._c.darshan_free(buffer[0])

    def _can_read(self, version: int) -> bool:
        """Return whether segments are as the library has them."""
        return version <= _SEGMENT_BYTES.get(self._ffi.sizeof("segment_info"), 0)

    def _traces(self, index: int) -> list[tuple[Any, ...]]:
        """Write the segments of files, the writes of each first; return what each has."""
        head_bytes = self._ffi.sizeof("struct dxt_file_record")
        segment_bytes = self._ffi.sizeof("segment_info")
        traces: list[tuple[Any, ...]] = []
        for buffer in self._each(index):
            head = self._ffi.cast("struct dxt_file_record *", buffer)[0]
            writes, reads = int(head.write_count), int(head.read_count)
            n_bytes = (writes + reads) * segment_bytes
            if writes < 0 or reads < 0 or n_bytes > WRITTEN_BYTES:
                raise _LogError
            host = bytes(self._ffi.buffer(head.hostname)).split(b"\0")[0]
            begin = self._out.tell()
            self._out.write(self._ffi.buffer(buffer + head_bytes, n_bytes))
            traces.append(
                (int(head.base_rec.id), int(head.base_rec.rank), host.decode("utf-8", "replace"),
                 begin, writes, reads, segment_bytes)
            )  # fmt: skip
        return traces


def _begin(region: str) -> None:
    """Tell which region is read now: if the library ends the process, nobody else can."""
    os.write(1, f"{region}\n".encode())


def main(arguments: list[str]) -> int:
    """Read a log; return 0, or a status. Regions are on the standard output as they are begun."""
    import resource

    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, WRITTEN_BYTES), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(limit)[1]
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (soft, hard))
    log, out = map(int, arguments)
    with os.fdopen(out, "wb", closefd=False) as file:
        try:
            reader = _LogReader(log, file)
            content = reader.content()
            begin = file.tell()
            file.write(json.dumps(content).encode())
            file.write(begin.to_bytes(8, "little"))
            file.flush()
        except _LogError:
            return DAMAGED
        except ImportError as error:
            os.write(2, f"{error}\n".encode())
            return NOT_LOADED
        except (MemoryError, OSError):
            return TOO_LARGE
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    # Nothing of what the library holds need be given back.
    os._exit(status)
