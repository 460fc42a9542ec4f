"""What the hardware is, from sysfs, procfs, cpuid and, where installed, hwloc."""

from __future__ import annotations

from gnomon.counters.hardware.inventory import Hardware, hardware

__all__ = ["Hardware", "hardware"]
