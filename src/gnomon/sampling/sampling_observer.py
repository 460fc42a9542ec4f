"""Samples one execution of a program: begins at its gate, ends with it."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.counters import per_cpu
from gnomon.counters.perf_errors import explain
from gnomon.counters.perf_targets import threads
from gnomon.counters.sysfs_pmu import online_cpus
from gnomon.errors import ObserverError, UsageError
from gnomon.launch import preloads
from gnomon.launch.job import job
from gnomon.launch.observer import Observer
from gnomon.launch.process import raise_nofile
from gnomon.launch.process_result import ProcessResult
from gnomon.model.capability_result import Collected
from gnomon.named_tuple import NamedTuple
from gnomon.sampling import no_samples, rights, switch_events
from gnomon.sampling._sampler import FILE, MAP, OPEN, Sampler, StartError
from gnomon.sampling.kept_files import kept_file
from gnomon.sampling.sampled_events import (
    IS_OF_WAITS,
    UNSEEN_KERNEL,
    SampledEvent,
    SampledEvents,
    choose,
)
from gnomon.sampling.stack_size import STACK_KB, STACK_KB_MOST
from gnomon.store.record_kinds import SUFFIX

# A second of the fastest rate that is usual lies in 64 MB; of many CPUs each has less.
_RING_BYTES, _RINGS_BYTES, _RING_LEAST = 1 << 22, 1 << 26, 1 << 19
_MACHINE = -1
_DESCRIPTORS_ELSEWHERE = 64
# Each has events of its own on every CPU.
_PYTHON_PROCESSES_AT_ONCE = 1024
# In which Python programs read their own frames, and where they ask for the signals to do so.
_LIBRARY = Path(__file__).with_name("libgnomon_sampling.so")
_SOCKET_VARIABLE = "GNOMON_PYTHON_SOCKET"
_TRAMPOLINES_VARIABLE = "GNOMON_PYTHON_TRAMPOLINES"
_ASKING_AT_ONCE = 4096


class SamplingOptions(NamedTuple):
    """How to sample.

    Attributes:
        events: what, and how often.
        stack_kb: of each thread's stack that is copied.
        python_stack_kb: the same of Python processes, which have events of their own.
        has_trampolines: Python functions are told by perf trampolines of their interpreters.
        keep_mb: of registers and stacks that are kept in the run, 0 for none.
        off_cpu: whether waits are recorded, too: `switch_events.YES`, `NO` or `AUTO`.
    """

    events: SampledEvents
    stack_kb: int
    python_stack_kb: int
    has_trampolines: bool = False
    keep_mb: int = 0
    off_cpu: str = switch_events.NO

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> SamplingOptions:
        """Return them from the values of the capability's options.

        Raises:
            GnomonError: an event cannot be sampled.
        """
        events = choose(
            options["event"],
            options["rate"],
            options["period"],
            has_branches=options["branches"],
        )
        given = options["stack"]
        has_trampolines, keep_mb = options["python"], options["keep-stacks"] or 0
        return cls(
            events,
            given or STACK_KB,
            given or STACK_KB_MOST,
            has_trampolines,
            keep_mb,
            options["off-cpu"],
        )


class SamplingObserver(Observer):
    """Samples the processes of an execution into a record file of the staging folder.

    Args:
        folder: the staging folder.
        options: how.
        is_running: the process runs already; its number 0 stands for the machine.
        is_needed: without samples the program is not to be executed.
    """

    def __init__(
        self,
        folder: Path,
        options: SamplingOptions,
        *,
        is_running: bool = False,
        is_needed: bool = True,
    ) -> None:
        self._folder = folder
        self._events = list(options.events.events)
        self._notes = list(options.events.notes)
        self._off_cpu = options.off_cpu
        self._waits = b""
        if any(switch_events.is_of_switches(event) for event in self._events):
            self._leave_out_waits()
        if self._off_cpu != switch_events.NO:
            switches = switch_events.switches()
            self._waits = _described_waits(
                switches[0], has_spans=self._off_cpu == switch_events.YES
            )
            self._events += [
                event._replace(leader=len(self._events) + number)
                for number, event in enumerate(switches)
            ]
        self._stack_bytes = options.stack_kb << 10
        self._python_stack_bytes = options.python_stack_kb << 10
        self._has_trampolines = options.has_trampolines
        self._keep_mb = options.keep_mb
        self._is_running, self._is_machine = is_running, False
        self._is_needed = is_needed
        self._pid, self._used_before_ns = 0, 0
        self._sampler: Sampler | None = None
        self._signals: socket.socket | None = None
        self._socket_name = f"python.{os.getpid()}.socket"

    def environment(self) -> Mapping[str, str]:
        """Return how the library finds the sampler: of the tasks of a job each has its own."""
        if not self.preloads():
            return {}
        variables = {_SOCKET_VARIABLE: self._socket_name}
        if self._has_trampolines:
            from gnomon.sampling import python_trampolines

            variables |= {_TRAMPOLINES_VARIABLE: "1", python_trampolines.VARIABLE: "1"}
        return variables

    def preloads(self) -> Sequence[str]:
        """Return the library in which a Python program reads its own frames."""
        path = str(_LIBRARY)
        is_there = not self._is_running and _LIBRARY.exists()
        return [path] if is_there and preloads.can_be_named(path) else []

    def attach(self, pid: int) -> None:
        """Begin to sample a process, which waits at its gate.

        Raises:
            ObserverError: the kernel does not let it be sampled.
        """
        if self._is_running and pid:
            self._pid, self._used_before_ns = pid, no_samples.cpu_time_ns(pid) or 0
        try:
            self._sampler = self._begin(pid)
        except ObserverError as error:
            if self._is_needed:
                raise
            # Who asks for signals would wait for an answer.
            self._stop()
            self.failure = error

    def finish(self) -> None:
        """Take the last samples, and away what interpreters wrote of their trampolines."""
        self._stop()
        if self._has_trampolines:
            from gnomon.sampling import python_trampolines

            python_trampolines.take_maps(self._folder, "python")

    def result(self, process: ProcessResult) -> Collected:
        """Return what there is to say; the samples are read from the folder."""
        del process
        return Collected(warnings=self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of how it was sampled."""
        return tuple(self._notes)

    def close(self) -> None:
        """Give all back."""
        self._stop()

    @property
    def _has_groups(self) -> bool:
        return any(event.leader != number for number, event in enumerate(self._events))

    def _stop(self) -> None:
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            samples, lost, kept, *_ = sampler.stop()
            # Of a job's tasks some may well have none.
            if not samples + lost and self._is_needed and job() is None:
                self._notes.append(self._why_no_samples())
            if self._keep_mb:
                self._notes.append(
                    f"samples: registers and stacks of {kept:,} of {samples:,} are kept in the "
                    f"run's files/samples (limit {self._keep_mb} MB; kernel-only samples have none)"
                )
        signals, self._signals = self._signals, None
        if signals is not None:
            signals.close()
            (self._folder / self._socket_name).unlink(missing_ok=True)

    def _why_no_samples(self) -> str:
        used_ns = no_samples.cpu_time_ns(self._pid) if self._pid else None
        if used_ns is not None:
            used_ns -= self._used_before_ns
        sampled = [event for event in self._events if not event.switches & IS_OF_WAITS]
        has_waits = self._off_cpu != switch_events.NO
        return no_samples.note(sampled, self._pid, used_ns, has_waits=has_waits)

    def _begin(self, pid: int) -> Sampler:
        """Begin, with user code alone if the kernel must not be sampled."""
        try:
            return self._start(pid)
        except StartError as error:
            if error.args[:2] != (errno.EACCES, OPEN):
                raise self._refused(error) from None
            self._leave_out_kernel(error)
        try:
            return self._start(pid)
        except StartError as error:
            raise self._refused(error) from None

    def _start(self, pid: int) -> Sampler:
        cpus = list(online_cpus())
        if not self._is_running and self._signals is None:
            self._signals = _listening(self._folder, self._socket_name)
        targets = [pid]
        if self._is_running:
            targets = threads(pid) if pid else [_MACHINE]
            self._is_machine = not pid
        tasks = len(targets) + (0 if self._signals is None else _PYTHON_PROCESSES_AT_ONCE)
        raise_nofile(len(cpus) * tasks * len(self._events) + _DESCRIPTORS_ELSEWHERE)
        own = job()
        name = f"{os.uname().nodename}.{pid}.{time.time_ns()}"
        kept = os.fsencode(kept_file(self._folder, name)) if self._keep_mb else b""
        share = _RINGS_BYTES // (1 << (len(cpus) - 1).bit_length())
        return Sampler(
            events=[_arguments(event, self._events) for event in self._events],
            cpus=cpus,
            targets=targets,
            starts_at_exec=not self._is_running,
            stack_bytes=self._stack_bytes,
            signalled_stack_bytes=self._python_stack_bytes,
            ring_bytes=min(max(share, _RING_LEAST), _RING_BYTES),
            path=os.fsencode(self._folder / f"{name}.samples{SUFFIX}"),
            rank=-1 if own is None else own.task,
            signal_socket=-1 if self._signals is None else self._signals.fileno(),
            kept=kept,
            kept_bytes=self._keep_mb << 20,
            waking=switch_events.waking() if self._has_wait_stacks else 0,
            switches_most=switch_events.SWITCHES_MOST if self._off_cpu == switch_events.AUTO else 0,
            waits=self._waits if any(event.switches for event in self._events) else b"",
        )

    def _leave_out_waits(self) -> None:
        """Record none beside samples of switches, which the kernel would confuse with theirs."""
        if self._off_cpu == switch_events.YES:
            raise UsageError(
                "context-switches: waits have a stack of each switch anyway; leave out either the "
                "event or the waits (--off-cpu)"
            )
        self._off_cpu = switch_events.NO

    @property
    def _has_wait_stacks(self) -> bool:
        return any(event.switches & IS_OF_WAITS for event in self._events)

    def _leave_out_kernel(self, error: StartError) -> None:
        """Sample user mode alone; where that is not the event, say that it is refused."""
        # The kernel takes no samples of waits: these are in itself.
        events = [event for event in self._events if not event.switches & IS_OF_WAITS]
        if self._off_cpu == switch_events.YES:
            events[0] = switch_events.telling(events[0])
        narrower = [event.narrowed() for event in events]
        for number, event in enumerate(narrower):
            if event is None:
                raise self._refused(StartError(error.args[0], OPEN, number, error.args[3]))
        self._events = [event for event in narrower if event is not None]
        rest = "time in the kernel is not in them"
        if any(event.counts_more for event in self._events):
            rest = f"what CPU time has beyond them is {UNSEEN_KERNEL}"
        self._notes.append(
            f"samples: of user code alone, {rest}; to sample the kernel, too: "
            "sudo sysctl kernel.perf_event_paranoid=1"
        )
        if any(event.switches for event in self._events):
            self._notes.append(
                "waits: of long ones alone is known where they were, of all how long they took; to "
                "know all of them: sudo sysctl kernel.perf_event_paranoid=1"
            )

    def _refused(self, error: StartError) -> ObserverError:
        number, step, event, cpu = error.args
        if step == OPEN:
            refused = self._events[event]
            name, spec = refused.event.name, refused.event.spec
            if number == errno.EINVAL and self._has_groups and not rights.reads_groups():
                return ObserverError(
                    f"samples: {name}: Linux {os.uname().release} gives samples of threads "
                    "that are created later no counts of a group: 6.13 and newer do; leave out the "
                    "braces"
                )
            refusal = rights.branch_refusal(number) if refused.has_branches else None
            of_machine = per_cpu.refusal(number) if self._is_machine else None
            if of_machine is not None:
                reason, remedy = of_machine
                refusal = reason, f"{remedy}; or sample a program: gnomon record -- program"
            reason, remedy = refusal or explain(
                number, hardware=spec.hardware, tracepoint=spec.tracepoint, cpu=cpu
            )
            if refused.has_branches:
                name = f"{name} with branches"
            return ObserverError(f"samples: {name}: {reason}; {remedy}")
        if step == MAP and number in (errno.EPERM, errno.ENOMEM):
            reason, remedy = rights.ring_refusal(len(online_cpus()))
            return ObserverError(f"samples: {reason}; {remedy}")
        what = "the record file cannot be made" if step == FILE else "the sampler cannot begin"
        return ObserverError(
            f"samples: {what}: {os.strerror(number)}; choose another folder by --name, or do "
            "without: --without samples"
        )


def _listening(folder: Path, name: str) -> socket.socket | None:
    """Return a socket in a folder, None if the file system has none."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    # The folder's path may be longer than an address.
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listening.bind(f"/proc/self/fd/{descriptor}/{name}")
        listening.listen(_ASKING_AT_ONCE)
    except OSError:
        listening.close()
        return None
    finally:
        os.close(descriptor)
    return listening


def _arguments(
    sampled: SampledEvent, events: Sequence[SampledEvent]
) -> tuple[int, int, int, int, int, int, int, bool, bool, int, int, int, int, bytes]:
    encoding = sampled.event.spec.terms[0].encoding
    return (
        encoding.type,
        encoding.config,
        encoding.config1,
        encoding.config2,
        encoding.config3,
        encoding.exclude,
        sampled.period,
        sampled.is_frequency,
        sampled.counts_more,
        sampled.leader,
        sampled.sample_type,
        sampled.precise,
        sampled.switches,
        json.dumps(describe(sampled, events)).encode(),
    )


def _described_waits(switches: SampledEvent, *, has_spans: bool) -> bytes:
    """Return what the record file says of waits."""
    told = {**describe(switches, [switches]), "is_wait": True, "has_spans": has_spans}
    return json.dumps(told).encode()


def describe(sampled: SampledEvent, events: Sequence[SampledEvent]) -> dict[str, object]:
    """Return what the record file says of one of the events."""
    event, leader = sampled.event, events[sampled.leader]
    described: dict[str, object] = {
        "name": event.name,
        "unit": event.info.unit,
        "factor": event.unit_factor,
        "is_clock": sampled.is_clock,
        "is_frequency": leader.is_frequency,
        "period": leader.period,
        "counts_more": sampled.counts_more,
        "domain": str(event.domain),
        "scope": str(event.info.scope),
        "component": event.info.component,
    }
    if leader is not sampled:
        described["read_with"] = leader.event.name
    return described
