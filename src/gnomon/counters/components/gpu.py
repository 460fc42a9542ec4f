"""The `gpu` component: energy, load, memory and links of NVIDIA GPUs, through NVML.

`gpu:::energy` is the sum over all GPUs, `gpu:::energy:0` one GPU by NVML's number (bus order,
whatever CUDA_VISIBLE_DEVICES says), `gpu:::energy:GPU-5f6a...` one by its UUID. All of it is the
GPU's, whoever uses it. Not every GPU tells everything: an event that it has not is refused.

NVML is asked for nothing, and not even loaded, before an event of this component is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.counters.component import Availability, Event, EventInfo, OpenResult, Target
from gnomon.counters.name_suggestions import nearest
from gnomon.counters.sensor_component import SensorComponent, event_of
from gnomon.counters.sensors import Sensor
from gnomon.counters.snapshot_component import Problem
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Scope

if TYPE_CHECKING:
    from gnomon.counters.nvml import Gpu, GpuReading, Session

_PREFIX = "gpu:::"


class GpuComponent(SensorComponent):
    """NVIDIA's GPUs."""

    name = "gpu"
    description = "energy, load, memory and links of NVIDIA GPUs"
    how_measured = "told by NVIDIA's management library (NVML); of the GPU, whoever uses it"

    _session: Session | None = None

    def availability(self) -> Availability:
        """Return whether NVML shows a GPU."""
        from gnomon.counters.nvml import NvmlError

        try:
            self._nvml()
        except NvmlError as error:
            return Availability(False, *error.problem)
        return Availability(True)

    def events(self) -> Iterator[EventInfo]:
        """Yield the events of the GPUs: sums over all, then each; without NVML all that exist."""
        from gnomon.counters.nvml import QUANTITIES, NvmlError

        try:
            self._nvml()
        except NvmlError:
            yield from (_info(quantity, None) for quantity in QUANTITIES)
            return
        for sensor in self.sensors():
            if len(self.read(sensor.fields)) == len(sensor.fields):
                yield sensor.info

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of `gpu:::field` or `gpu:::field:gpu`.

        Raises:
            EventNameError: there is no such field or GPU.
            EventUnavailableError: there is no GPU, or NVML does not work.
        """
        if not name.startswith(_PREFIX):
            return ()
        from gnomon.counters.nvml import QUANTITIES, NvmlError

        field, _, which = name.removeprefix(_PREFIX).partition(":")
        quantity = next((q for q in QUANTITIES if q.name == field), None)
        if quantity is None:
            names = [_PREFIX + q.name for q in QUANTITIES]
            raise EventNameError(
                name, "component 'gpu' has no such event", nearest(_PREFIX + field, names)
            )
        try:
            gpus = self._nvml().gpus
        except NvmlError as error:
            raise EventUnavailableError(name, *error.problem) from None
        wanted = tuple(gpu for gpu in gpus if which in (str(gpu.number), gpu.uuid, ""))
        if not wanted or (not which and not quantity.summed):
            names = [f"{_PREFIX}{field}:{gpu.number}" for gpu in gpus]
            reason = "there is no such GPU" if which else "it has no sum over GPUs: name one"
            raise EventNameError(name, reason, tuple(names[:3]))
        sensor = _sensor(quantity, wanted, wanted[0] if which else None)
        return (event_of(name, sensor),)

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events of the GPUs, whatever the target is."""
        return self.open_sensors(events, target)

    def sensors(self) -> Iterator[Sensor]:
        """Yield sums over all GPUs where they mean something, then every field of each GPU.

        Raises:
            NvmlError: there is no GPU.
        """
        from gnomon.counters.nvml import QUANTITIES

        gpus = self._nvml().gpus
        for quantity in QUANTITIES:
            if quantity.summed:
                yield _sensor(quantity, gpus, None)
        for gpu in gpus:
            for quantity in QUANTITIES:
                yield _sensor(quantity, (gpu,), gpu)

    def read(self, fields: Sequence[str]) -> Mapping[str, int]:
        """Return the GPUs' present numbers of fields such as `energy:0`."""
        numbers = {}
        for field in fields:
            answer = self._ask(field)
            if isinstance(answer, int):
                numbers[field] = answer
        return numbers

    def problem(self, field: str) -> Problem:
        """Return why a GPU does not tell a field."""
        answer = self._ask(field)
        if isinstance(answer, int):
            return "NVML returned it only on a second request", "try again", 0
        return answer

    def _ask(self, field: str) -> int | Problem:
        from gnomon.counters.nvml import QUANTITIES, NvmlError

        name, _, index = field.partition(":")
        quantity = next(q for q in QUANTITIES if q.name == name)
        try:
            session = self._nvml()
            return session.ask(session.gpus[int(index)], quantity)
        except NvmlError as error:
            return error.problem
        except IndexError:
            return "the GPU is gone", "see nvidia-smi and dmesg", 0

    def _nvml(self) -> Session:
        """Return NVML as this process has it; a child made by fork begins anew.

        Raises:
            NvmlError: there is no driver, no GPU, or one that does not work.
        """
        import os

        from gnomon.counters.nvml import Session

        if self._session is None or self._session.pid != os.getpid():
            self._session = Session(self.sys)
        return self._session


COMPONENT = GpuComponent()


def _sensor(quantity: GpuReading, gpus: Sequence[Gpu], gpu: Gpu | None) -> Sensor:
    fields = tuple(f"{quantity.name}:{one.number}" for one in gpus)
    return Sensor(_info(quantity, gpu), fields, quantity.factor, quantity.peak)


def _info(quantity: GpuReading, gpu: Gpu | None) -> EventInfo:
    name = quantity.name if gpu is None else f"{quantity.name}:{gpu.number}"
    of = "all GPUs" if gpu is None else f"GPU {gpu.number} ({gpu.name}, {gpu.uuid})"
    if gpu is None and not quantity.summed:
        of = "of one GPU, by its number"
        name += ":0"
    return EventInfo(
        _PREFIX + name,
        "gpu",
        f"{quantity.description}: {of}",
        quantity.unit,
        Scope.NODE,
        gauge=quantity.gauge,
    )
