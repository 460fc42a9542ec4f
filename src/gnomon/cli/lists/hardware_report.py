"""The sections of `gnomon hardware`: each turns what was found into lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gnomon import units

if TYPE_CHECKING:
    from gnomon.counters.hardware import Hardware

_UNKNOWN = "not known"
_MOST_CPUS = 16
_MOST_SHARES = 8
_NEARLY_ALL = 0.95


def _processor(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    processor = machine.processor
    if processor.platform:
        yield processor.platform
    yield processor.model or f"{_UNKNOWN}: the processor does not name itself"
    numbers = [
        ("", processor.vendor),
        ("family", processor.family),
        ("model", processor.model_number),
        ("stepping", processor.stepping),
        ("revision", processor.revision),
        ("microcode", processor.microcode),
    ]
    told = [f"{name} {value}".strip() for name, value in numbers if value not in (None, "")]
    if told:
        yield ", ".join(told)
    physical, virtual = processor.address_bits
    addresses = ""
    if physical and virtual:
        addresses = f"; addresses of {physical} bits (physical) and {virtual} bits (virtual)"
    architecture = processor.architecture or "architecture not known"
    yield f"{architecture}, {processor.byte_order} endian{addresses}"


def _frequency(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    for frequency in machine.frequencies:
        parts = []
        for title, value in (
            ("lowest", frequency.lowest_hz),
            ("base", frequency.base_hz),
            ("highest", frequency.highest_hz),
        ):
            if value:
                parts.append(f"{title} {hertz(value)}")
        if frequency.now_hz:
            low, high = map(hertz, frequency.now_hz)
            parts.append(f"now {low}" + (f" to {high}" if high != low else ""))
        if frequency.boost is not None:
            parts.append("boost on" if frequency.boost else "boost off")
        if frequency.driver or frequency.governor:
            driver = frequency.driver or "no driver told"
            parts.append(f"governor {frequency.governor or _UNKNOWN} ({driver})")
        kind = f"{frequency.cores}: " if frequency.cores else ""
        yield (
            kind
            + (", ".join(parts) or _UNKNOWN)
            + (f"  [{', '.join(frequency.sources)}]" if frequency.sources else "")
        )
        if not (frequency.lowest_hz or frequency.highest_hz):
            yield "the range is not known: no cpufreq here" + (
                ", as in most virtual machines" if machine.hypervisor else ""
            )
    from gnomon.counters.timers import cycles_per_second

    rate = cycles_per_second()
    if rate:
        yield f"time counter {hertz(rate)}, the same at every frequency  [measured]"


def _vectors(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    processor = machine.processor
    if not processor.vectors:
        yield f"{_UNKNOWN}: /proc/cpuinfo names none"
        return
    widest = f"{processor.vector_bits} bits wide" if processor.vector_bits else "width not known"
    yield widest + (f" ({processor.vector_note})" if processor.vector_note else "")
    yield " ".join(processor.vectors)


def _topology(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    topology = machine.topology
    if topology.unknown:
        yield f"{_UNKNOWN}: {topology.unknown}"
        return
    online = [cpu for cpu in topology.cpus if cpu.is_online]
    counts = [_counted(topology.sockets, "socket"), _counted(topology.cores, "core"),
              _counted(len(online), "CPU")]  # fmt: skip
    if (topology.dies or 0) > (topology.sockets or 0):
        counts.insert(1, _counted(topology.dies, "die"))
    if len(online) < len(topology.cpus):
        counts.append(f"{len(topology.cpus) - len(online)} offline")
    yield ", ".join(counts)
    yield _threads(topology.threads_per_core, topology.smt)
    for kind in topology.kinds:
        yield f"{kind.name}: CPUs {cpu_ranges(kind.cpus)}"
    if topology.isolated:
        yield f"isolated from the scheduler: CPUs {cpu_ranges(topology.isolated)}"
    barred = [cpu.number for cpu in online if not cpu.is_allowed]
    if barred:
        yield f"this process may not run on CPUs {cpu_ranges(barred)}"
    if everything or len(topology.cpus) <= _MOST_CPUS:
        rows = [[*map(_cell, (cpu.number, cpu.socket, cpu.die, cpu.core, cpu.node)),
                 cpu.kind or ("" if cpu.is_online else "offline")]
                for cpu in topology.cpus]  # fmt: skip
        yield from table(("CPU", "socket", "die", "core", "node", ""), rows, left=0)
        return
    places: dict[tuple[int | None, int | None, str], list[int]] = {}
    for cpu in online:
        places.setdefault((cpu.socket, cpu.node, cpu.kind), []).append(cpu.number)
    rows = [[_cell(socket), _cell(node), str(len(cpus)), f"{cpu_ranges(cpus)} {kind}".strip()]
            for (socket, node, kind), cpus in places.items()]  # fmt: skip
    yield from table(("socket", "node", "CPUs", "which"), rows, left=0)


def _threads(per_core: tuple[int, int] | None, smt: str) -> str:
    if per_core is None:
        threads = f"threads of a core {_UNKNOWN}"
    else:
        low, high = per_core
        threads = f"{low} to {high} threads" if high > low else _counted(low, "thread")
        threads += " a core"
    said = {"notsupported": "not supported", "notimplemented": "not implemented by the kernel",
            "forceoff": "switched off until the next boot"}.get(smt, smt)  # fmt: skip
    return threads + (f"; SMT {said}" if said else "")


def _caches(machine: Hardware, width: int, everything: bool) -> Iterable[str]:
    from gnomon.cli.terminal.two_column_text import shortened, table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    if not machine.caches:
        yield f"{_UNKNOWN}: {machine.caches_unknown}"
        return
    rows = []
    for cache in machine.caches:
        # Caches that each CPU has for itself need no list.
        shares = [cpu_ranges(group) for group in cache.groups]
        text = "its own" if cache.shared_by == 1 else " | ".join(shares[:_MOST_SHARES])
        if cache.shared_by != 1 and len(shares) > _MOST_SHARES:
            text = " | ".join(shares) if everything else f"{text} | ..."
        if not cache.groups:
            text = f"at most {_counted(cache.shared_by, 'CPU')} each"
        rows.append(
            [f"L{cache.level} {cache.kind}", units.size(cache.size_bytes, "?"),
             units.size(cache.line_bytes, "?"), _ways(cache.ways), _cell(cache.sets),
             _cell(len(cache.groups) or None), text]
        )  # fmt: skip
    lines = table(("", "each", "line", "ways", "sets", "number", "shared by CPUs"), rows)
    yield from lines if everything else (shortened(line, width - 11) for line in lines)
    if not everything and any(len(line) > width - 11 for line in lines):
        yield "(gnomon hardware -a caches shows all)"
    sources = ", ".join(dict.fromkeys(cache.source for cache in machine.caches))
    doubt = "; a hypervisor need not tell the truth" if machine.hypervisor else ""
    yield f"[{sources}{doubt}]"


def _picture(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.lists.topology_diagram import picture

    text = picture(machine, width - 12)
    if not text:
        yield "nothing is known of what CPUs share"
    for line in text.split("\n") if text else ():
        yield " " + line


def _tlbs(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table

    for kind in machine.tlbs:
        title = f"{kind.cores}: " if kind.cores else ""
        if not kind.tlbs:
            yield f"{title}{_UNKNOWN}: {kind.unknown}"
            continue
        if title:
            yield title.rstrip()
        rows = [
            [f"L{tlb.level} {tlb.kind}" if tlb.level else tlb.kind,
             ", ".join(units.size(page) for page in tlb.page_bytes) or "?",
             str(tlb.entries), _ways(tlb.ways), _cell(tlb.shared_by)]
            for tlb in kind.tlbs
        ]  # fmt: skip
        heads = ["", "pages", "entries", "ways", "threads at most"]
        n = len(heads) if any(tlb.shared_by is not None for tlb in kind.tlbs) else -1
        yield from table(heads[:n], [row[:n] for row in rows], left=2)
        yield f"[{', '.join(sorted({tlb.source for tlb in kind.tlbs}))}]"


def _numa(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    if not machine.nodes:
        yield f"{_UNKNOWN}: the kernel shows no nodes (/sys/devices/system/node)"
        return
    numbers = [str(node.number) for node in machine.nodes]
    has_far = all(len(node.distances) == len(numbers) for node in machine.nodes)
    rows = []
    for node in machine.nodes:
        far = list(map(str, node.distances)) if has_far else []
        extra = [f"read {node.read_mb_per_s} MB/s" if node.read_mb_per_s else "",
                 f"{node.read_latency_ns} ns" if node.read_latency_ns else "",
                 *(f"{units.size(one)} memory-side cache" for one in node.side_caches)]  # fmt: skip
        rows.append([str(node.number), units.size(node.total_bytes, "?"),
                     units.size(node.free_bytes, "?"), *far,
                     ", ".join([f"CPUs {cpu_ranges(node.cpus)}" if node.cpus else "no CPUs",
                                *filter(None, extra)])])  # fmt: skip
    far_heads = [f"to {number}" for number in numbers] if has_far else []
    yield from table(("node", "memory", "free", *far_heads, ""), rows, left=0)
    held = sum(node.total_bytes or 0 for node in machine.nodes)
    whole = machine.memory.total_bytes
    if whole is not None and held < _NEARLY_ALL * whole:
        yield (
            f"together {units.size(held)} of the machine's {units.size(whole)}: the kernel does "
            "not say which node has the rest"
        )


def _pages(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    pages = machine.pages
    yield f"{units.size(pages.base_bytes)} each" if pages.base_bytes else _UNKNOWN
    if pages.transparent:
        yield (
            f"transparent huge pages of {units.size(pages.transparent_bytes, 'unknown size')}: "
            + {
                "always": "wherever they fit (always)",
                "madvise": "where a program asks for them (madvise)",
            }.get(pages.transparent, pages.transparent)
        )
    else:
        yield "no transparent huge pages"
    for pool in pages.pools:
        total, free = (units.count(n, "?") for n in (pool.pages, pool.free))
        yield f"huge pages of {units.size(pool.page_bytes)}: {total} set aside, {free} free"


def _memory(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    memory = machine.memory
    if memory.total_bytes is None:
        yield f"{_UNKNOWN}: /proc/meminfo cannot be read"
        return
    yield (
        f"{units.size(memory.total_bytes)}, "
        f"{units.size(memory.available_bytes, _UNKNOWN)} available; "
        + (
            "no swap"
            if memory.swap_bytes == 0
            else f"swap {units.size(memory.swap_bytes, _UNKNOWN)}"
        )
    )
    if machine.limits.memory_bytes is not None:
        yield f"the control group allows {units.size(machine.limits.memory_bytes)}"
    if machine.limits.cpus is not None:
        yield f"the control group allows {units.number(machine.limits.cpus)} CPUs' time"


def _virtual(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    host = machine.hypervisor
    if host is None:
        yield "no hypervisor found"
    else:
        yield f"hypervisor {host.name}  [{host.evidence}]"
    if machine.hypervisor_signature:
        yield f"its signature in cpuid: {machine.hypervisor_signature}"
    inside = machine.container
    yield "no container" if inside is None else f"container {inside.kind}  [{inside.evidence}]"


def _pmus(machine: Hardware, width: int, everything: bool) -> Iterable[str]:
    from gnomon.cli.terminal.two_column_text import shortened, table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    if not any(pmu.is_core for pmu in machine.pmus):
        yield "no PMU of the cores: gnomon doctor says why"
    rows = []
    for pmu in machine.pmus:
        counters = ""
        if pmu.counters:
            general, fixed = pmu.counters
            counters = f"{general}" + (f" + {fixed} fixed" if fixed else "")
        interval = "" if pmu.mux_interval_ms is None else f"{pmu.mux_interval_ms} ms"
        where = f"CPUs {cpu_ranges(pmu.cpus)}" if pmu.cpus else ""
        rows.append([pmu.name, str(pmu.type), str(pmu.events), counters, interval, where])
    if rows:
        lines = table(("", "type", "named events", "counters", "interval", ""), rows)
        yield from lines if everything else (shortened(line, width - 11) for line in lines)
    sources = sorted({pmu.counters_source for pmu in machine.pmus} - {""})
    yield f"[sysfs{''.join(', counters by ' + source for source in sources)}; interval is how " + (
        "long a group of events stays when several take turns]"
    )


def _devices(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table

    if not machine.devices:
        yield "none with a place on a bus"
        return
    rows = [
        [one.kind, one.name, one.address, f"node {one.node}" if one.node is not None else "",
         one.detail] for one in machine.devices
    ]  # fmt: skip
    yield from table(("", "name", "bus address", "near", ""), rows, left=3)


def _hwloc(machine: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.counters.hardware.hwloc import hwloc

    seen = hwloc()
    if seen.unknown:
        yield f"no second opinion: {seen.unknown}"
        return
    have = dict(seen.counts)
    yield ", ".join(f"{n} {kind}" for kind, n in seen.counts) + f"  [hwloc {seen.version}]"
    ours = {
        "Package": machine.topology.sockets,
        "Core": machine.topology.cores,
        "PU": sum(cpu.is_online and cpu.is_allowed for cpu in machine.topology.cpus),
        "NUMANode": len(machine.nodes) or None,
    }
    for level in (1, 2, 3, 4):
        made = [c for c in machine.caches if c.level == level and c.kind != "instruction"]
        ours[f"L{level}Cache"] = sum(len(cache.groups) for cache in made) or None
    differing = [
        f"{kind}: hwloc {have.get(kind, 0)}, sysfs {n}"
        for kind, n in ours.items()
        if n is not None and have.get(kind, 0) != n
    ]
    yield (
        "differs from what is said above: " + "; ".join(differing)
        if differing
        else ("agrees with what is said above")
    )


def hertz(value: float) -> str:
    """Return a frequency: "2.6 GHz", "800 MHz"."""
    for limit, unit in ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz")):
        if value >= limit:
            return f"{units.number(round(value / limit, 3))} {unit}"
    return f"{units.number(value)} Hz"


def _counted(n: int | None, what: str) -> str:
    if n is None:
        return f"number of {what}s {_UNKNOWN}"
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _cell(value: int | None) -> str:
    return "?" if value is None else str(value)


def _ways(value: int | None) -> str:
    return "full" if value == 0 else _cell(value)


SECTIONS: dict[str, Callable[[Hardware, int, bool], Iterable[str]]] = {
    "processor": _processor,
    "frequency": _frequency,
    "vectors": _vectors,
    "topology": _topology,
    "caches": _caches,
    "picture": _picture,
    "tlbs": _tlbs,
    "numa": _numa,
    "pages": _pages,
    "memory": _memory,
    "virtual": _virtual,
    "pmus": _pmus,
    "devices": _devices,
    "hwloc": _hwloc,
}
