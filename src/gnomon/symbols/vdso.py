"""The vDSO: a library that the kernel maps into every process, and that no file holds."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path

from gnomon.errors import GnomonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

VDSO = "[vdso]"
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r.x. .*\[vdso\]")


@contextmanager
def own_vdso() -> Iterator[str]:
    """Yield the path of a copy of this process's vDSO, which is every process's of its kind.

    Raises:
        GnomonError: this process has none.
    """
    import tempfile

    try:
        match = _MAPPING.search(Path("/proc/self/maps").read_text())
        if match is None:
            raise GnomonError("[vdso]: this process has none; see the kernel's parameter vdso")
        begin, end = int(match[1], 16), int(match[2], 16)
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(begin)
            content = memory.read(end - begin)
    except OSError as error:
        raise GnomonError(f"[vdso] cannot be read: {error.strerror}; see why") from None
    with tempfile.TemporaryDirectory(prefix="gnomon-vdso-") as folder:
        copy = Path(folder) / VDSO  # names of functions without symbols begin with it
        copy.write_bytes(content)
        yield str(copy)
