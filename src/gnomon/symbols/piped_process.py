"""A program that is asked through one pipe and answers through another.

`subprocess` takes 3 ms to import, a tenth of what the reports of a small program take.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_SIGKILL = 9  # the module `signal` is imported by whoever tells of one


class PipedProcess:
    """A process; what it says of errors is nobody's.

    Attributes:
        stdin, stdout: its ends of the pipes.

    Args:
        program: path of its file.
        arguments: of it.

    Raises:
        OSError: it cannot be run.
    """

    def __init__(self, program: Path, *arguments: str) -> None:
        asked, ours_to_ask = os.pipe2(os.O_CLOEXEC)
        ours_to_read, answered = os.pipe2(os.O_CLOEXEC)
        # Pipes first: what they are of is closed whatever comes of the process.
        self.stdin, self.stdout = os.fdopen(ours_to_ask, "wb"), os.fdopen(ours_to_read, "rb")
        self._pid = 0
        try:
            self._pid = os.posix_spawn(
                program, [os.fspath(program), *arguments], os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, asked, 0), (os.POSIX_SPAWN_DUP2, answered, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
            )  # fmt: skip
        except OSError:
            self.stdin.close()
            self.stdout.close()
            raise
        finally:
            os.close(asked)
            os.close(answered)

    def kill(self) -> None:
        """End it now."""
        os.kill(self._pid, _SIGKILL)

    def wait(self) -> int:
        """Close the pipes and return how it ended: a status, or a signal below 0."""
        for pipe in (self.stdin, self.stdout):
            with suppress(OSError):  # what it did not read is lost
                pipe.close()
        _, status = os.waitpid(self._pid, 0)
        return os.waitstatus_to_exitcode(status)
