"""The sampler of native/sampling: a thread that reads perf events into a record file."""

OPEN: int
MAP: int
FILE: int
THREAD: int

UNWINDS: bool
"""Whether the stacks of this processor can be unwound."""

class StartError(Exception):
    """Sampling could not begin; its args are errno, what failed (`OPEN` ...), event and CPU."""

class Sampler:
    """Samples until it is stopped.

    Each event is (type, config, config1, config2, config3, exclude, period, is_frequency,
    counts_more, leader, sample_type, precise, switches, text). `counts_more`: a clock that also
    counts modes in which it is not sampled; `leader`: the number of the event at whose samples it
    is read, its own if it is sampled itself; `sample_type`: PERF_SAMPLE_* beyond what every sample
    has; `switches`: bits of `sampled_events.TELLS_SWITCHES` and so on. `waking` is the number of
    the tracepoint sched:sched_waking, 0 to do without; with `switches_most` waits are no longer
    recorded once there are more switches a second; `waits` is the text of waits, b"" for none.
    """

    def __new__(
        cls,
        events: list[
            tuple[int, int, int, int, int, int, int, bool, bool, int, int, int, int, bytes]
        ],
        cpus: list[int],
        targets: list[int],
        starts_at_exec: bool,
        stack_bytes: int,
        signalled_stack_bytes: int,
        ring_bytes: int,
        path: bytes,
        rank: int,
        signal_socket: int,
        kept: bytes,
        kept_bytes: int,
        waking: int,
        switches_most: int,
        waits: bytes,
    ) -> Sampler:
        """Begin to sample; stacks are kept in the file `kept` if it is not b"".

        Raises:
            StartError: it cannot begin.
        """

    def stop(self) -> tuple[int, int, int, int, int, int]:
        """Return samples, lost ones, kept stacks, bytes of a ring, CPU nanoseconds and errno."""
