"""NVIDIA's management library: its GPUs, what each can tell, and what its errors mean.

Source: NVML API Reference Guide (nvmlDeviceGet..., nvmlReturn_t), through the module `pynvml` of
the package nvidia-ml-py. That module takes tens of milliseconds to import, so that it is imported
only where the driver's library is there.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from gnomon.counters.procfs import entries, read_line
from gnomon.counters.snapshot_component import Problem
from gnomon.named_tuple import NamedTuple

LIBRARY = "libnvidia-ml.so.1"

_NVIDIA = "0x10de"
_DISPLAY = "0x03"
_DEVICES = "/dev/nvidia"
_NOT_SUPPORTED = 3
_FUNCTION_NOT_FOUND = 13
_UNKNOWN = 999
# NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX, in KiB; scope -1 is all links of the GPU.
_NVLINK_TX, _NVLINK_RX, _ALL_LINKS = 138, 139, 0xFFFFFFFF
_VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")

# error: cause, remedy
_ERRORS = {
    4: (
        "the devices /dev/nvidia* may not be opened",
        "run as a user whom their group lets in (see `ls -l /dev/nvidia*`), or in a container "
        "that was given the GPUs",
    ),
    9: (
        "NVIDIA's kernel driver is not loaded",
        "as root: modprobe nvidia (then see dmesg); in a container: start it with `--gpus all`",
    ),
    12: (f"{LIBRARY} cannot be loaded", "install NVIDIA's driver for this kernel"),
    15: ("the GPU is lost: it has fallen off the bus", "see dmesg (Xid 79); restart the machine"),
    18: (
        "NVIDIA's library and kernel driver are of different versions",
        "restart the machine, or as root unload and load the driver again; in a container: "
        "start it anew, so that it gets the host's library",
    ),
    999: (
        "NVIDIA's driver failed and does not say why (unknown error)",
        "see dmesg (NVRM, Xid); restart the machine if nvidia-smi fails too",
    ),
}

Handle = Any
"""What pynvml stands for a GPU with: a ctypes structure."""

Ask = Callable[[Any, Handle], int]
"""Returns a number of a GPU, given the module pynvml and the GPU's handle."""


class GpuReading(NamedTuple):
    """Something that a GPU tells.

    Attributes:
        name: the field in `gpu:::field`.
        unit: unit of the event.
        factor: multiplies the number into the unit.
        description: for people.
        ask: reads the number.
        gauge: it is a present value, not a total.
        peak: of a gauge, the highest value is wanted rather than the mean.
        summed: a sum over GPUs means something.
    """

    name: str
    unit: str
    factor: float
    description: str
    ask: Ask
    gauge: bool = False
    peak: bool = False
    summed: bool = False


QUANTITIES = (
    GpuReading("energy", "J", 1e-3, "energy since the start (Volta and newer)",
               lambda m, gpu: m.nvmlDeviceGetTotalEnergyConsumption(gpu), summed=True),
    GpuReading("power", "W", 1e-3, "power of the board",
               lambda m, gpu: m.nvmlDeviceGetPowerUsage(gpu), gauge=True, summed=True),
    GpuReading("utilisation", "%", 1e-3, "share of time in which a kernel ran",
               lambda m, gpu: 1000 * m.nvmlDeviceGetUtilizationRates(gpu).gpu, gauge=True),
    GpuReading("memory_utilisation", "%", 1e-3, "share of time in which memory was read or written",
               lambda m, gpu: 1000 * m.nvmlDeviceGetUtilizationRates(gpu).memory, gauge=True),
    GpuReading("memory_used", "bytes", 1, "memory in use, the driver's own included",
               lambda m, gpu: m.nvmlDeviceGetMemoryInfo(gpu).used, gauge=True, peak=True,
               summed=True),
    GpuReading("sm_clock", "MHz", 1e-3, "clock of the multiprocessors",
               lambda m, gpu: 1000 * m.nvmlDeviceGetClockInfo(gpu, m.NVML_CLOCK_SM), gauge=True),
    GpuReading("memory_clock", "MHz", 1e-3, "clock of the memory",
               lambda m, gpu: 1000 * m.nvmlDeviceGetClockInfo(gpu, m.NVML_CLOCK_MEM), gauge=True),
    GpuReading("temperature", "°C", 1, "temperature of the GPU",
               lambda m, gpu: m.nvmlDeviceGetTemperature(gpu, m.NVML_TEMPERATURE_GPU),
               gauge=True, peak=True),
    GpuReading("pcie_tx", "KB/s", 1, "sent over PCIe, of 20 ms (which is how long asking takes)",
               lambda m, gpu: m.nvmlDeviceGetPcieThroughput(gpu, m.NVML_PCIE_UTIL_TX_BYTES),
               gauge=True, summed=True),
    GpuReading("pcie_rx", "KB/s", 1,
               "received over PCIe, of 20 ms (which is how long asking takes)",
               lambda m, gpu: m.nvmlDeviceGetPcieThroughput(gpu, m.NVML_PCIE_UTIL_RX_BYTES),
               gauge=True, summed=True),
    GpuReading("nvlink_tx_bytes", "bytes", 1, "bytes sent over all NVLinks, data only",
               lambda m, gpu: 1024 * _field_value(m, gpu, _NVLINK_TX, _ALL_LINKS), summed=True),
    GpuReading("nvlink_rx_bytes", "bytes", 1, "bytes received over all NVLinks, data only",
               lambda m, gpu: 1024 * _field_value(m, gpu, _NVLINK_RX, _ALL_LINKS), summed=True),
    GpuReading("ecc_corrected", "", 1, "memory errors that were corrected",
               lambda m, gpu: m.nvmlDeviceGetTotalEccErrors(
                 gpu, m.NVML_MEMORY_ERROR_TYPE_CORRECTED, m.NVML_VOLATILE_ECC), summed=True),
    GpuReading("ecc_uncorrected", "", 1, "memory errors that could not be corrected",
               lambda m, gpu: m.nvmlDeviceGetTotalEccErrors(
                 gpu, m.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, m.NVML_VOLATILE_ECC), summed=True),
    GpuReading("power_throttled_ns", "ns", 1, "time with clocks held down by the power limit",
               lambda m, gpu: m.nvmlDeviceGetViolationStatus(
                 gpu, m.NVML_PERF_POLICY_POWER).violationTime),
    GpuReading("thermal_throttled_ns", "ns", 1, "time with clocks held down by heat",
               lambda m, gpu: m.nvmlDeviceGetViolationStatus(
                 gpu, m.NVML_PERF_POLICY_THERMAL).violationTime),
)  # fmt: skip


class Gpu(NamedTuple):
    """A GPU of this machine; `number` is NVML's, by bus address, whatever CUDA is told to see."""

    number: int
    name: str
    uuid: str
    handle: Any


class NvmlError(Exception):
    """NVML cannot be used, or refused a question.

    Attributes:
        problem: reason and remedy; no error number, since NVML's are none of the kernel's.
        number: NVML's.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem[0])
        self.problem: Problem = (problem[0], problem[1], 0)
        self.number = problem[2]


class Session:
    """NVML in this process: the GPUs, and their answers."""

    def __init__(self, sysfs: Path) -> None:
        """Load and initialise NVML.

        Raises:
            NvmlError: there is no driver, no GPU, or one that does not work.
        """
        self.pid = os.getpid()
        self._module = _load(sysfs)
        try:
            self._module.nvmlInit()
            count = self._module.nvmlDeviceGetCount()
            self.gpus = tuple(self._gpu(index) for index in range(count))
        except Exception as error:  # pynvml's own class is not known before it is imported
            raise NvmlError(explain(_number(self._module, error))) from None
        keep_from_children(_DEVICES)
        if not self.gpus:
            raise NvmlError(
                (
                    "NVIDIA's driver is loaded and has no GPU that it may show",
                    "in a container: start it with `--gpus all`; else see nvidia-smi and dmesg",
                    0,
                )
            )

    def ask(self, gpu: Gpu, quantity: GpuReading) -> int:
        """Return a number of a GPU.

        Raises:
            NvmlError: it does not tell it.
        """
        try:
            return int(quantity.ask(self._module, gpu.handle))
        except Exception as error:
            number = _number(self._module, error)
            raise NvmlError(explain(number, f"GPU {gpu.number} ({gpu.name})")) from None

    def _gpu(self, index: int) -> Gpu:
        m = self._module
        handle = m.nvmlDeviceGetHandleByIndex(index)
        return Gpu(
            index, str(m.nvmlDeviceGetName(handle)), str(m.nvmlDeviceGetUUID(handle)), handle
        )


def explain(number: int, gpu: str = "") -> Problem:
    """Return an NVML error's meaning, remedy and number; `gpu` is the one that was asked."""
    who = gpu or "NVML"
    if number == _NOT_SUPPORTED:
        remedy = "`gnomon events --component gpu` lists what it does tell"
        return f"{who} does not provide it in this model or mode (MIG, vGPU)", remedy, number
    if number == _FUNCTION_NOT_FOUND:
        return f"the driver is too old to tell it of {who}", "install a newer NVIDIA driver", number
    cause, remedy = _ERRORS.get(
        number, (f"NVML's error {number}", "see nvmlReturn_t in NVIDIA's NVML reference, and dmesg")
    )
    return f"{gpu}: {cause}" if gpu else cause, remedy, number


def nvidia_devices(sysfs: Path) -> tuple[str, ...]:
    """Return the bus addresses of NVIDIA's GPUs, with or without a driver."""
    bus = sysfs / "bus/pci/devices"
    return tuple(
        address
        for address in entries(bus)
        if read_line(bus / address / "vendor") == _NVIDIA
        and read_line(bus / address / "class").startswith(_DISPLAY)
    )


def keep_from_children(prefix: str, folder: Path = Path("/proc/self/fd")) -> None:
    """Mark open files whose path begins so to be closed when a program is executed.

    What the library leaves open is not for the measured program to inherit.
    """
    for name in entries(folder):
        try:
            if str((folder / name).readlink()).startswith(prefix):
                os.set_inheritable(int(name), False)
        except (OSError, ValueError):
            continue


def _load(sysfs: Path) -> ModuleType:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise NvmlError(_no_library(str(error), nvidia_devices(sysfs))) from None
    try:
        import pynvml
    except ImportError:
        raise NvmlError(
            ("the Python package nvidia-ml-py is missing", "pip install nvidia-ml-py", 0)
        ) from None
    module: ModuleType = pynvml
    return module


def _no_library(text: str, devices: Sequence[str]) -> Problem:
    if "No such file" not in text:
        return f"{LIBRARY} cannot be loaded: {text}", "install NVIDIA's driver anew", 12
    if devices:
        return (
            f"NVIDIA GPU {devices[0]} is here, and the driver's library {LIBRARY} is not",
            "install NVIDIA's driver; in a container: start it with `--gpus all` (NVIDIA "
            "Container Toolkit)",
            12,
        )
    return (
        f"no NVIDIA GPU and no driver ({LIBRARY})",
        "run on a machine with an NVIDIA GPU; those of other makers are not counted yet",
        12,
    )


def _number(module: ModuleType, error: Exception) -> int:
    """Return NVML's number of an exception; that of a missing function for a missing name."""
    if isinstance(error, AttributeError):
        return _FUNCTION_NOT_FOUND
    number = getattr(error, "value", _UNKNOWN)
    is_nvml = isinstance(error, getattr(module, "NVMLError", ()))
    return number if is_nvml and isinstance(number, int) else _UNKNOWN


def _field_value(module: ModuleType, handle: object, field: int, scope: int) -> int:
    (answer,) = module.nvmlDeviceGetFieldValues(handle, [(field, scope)])
    if answer.nvmlReturn:
        raise module.NVMLError(answer.nvmlReturn)
    return int(getattr(answer.value, _VALUES[answer.valueType]))
