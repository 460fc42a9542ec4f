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


def _processor(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    one = found.processor
    if one.platform:
        yield one.platform
    yield one.model or f"{_UNKNOWN}: the processor does not name itself"
    numbers = [
        ("", one.vendor),
        ("family", one.family),
        ("model", one.model_number),
        ("stepping", one.stepping),
        ("revision", one.revision),
        ("microcode", one.microcode),
    ]
    told = [f"{name} {value}".strip() for name, value in numbers if value not in (None, "")]
    if told:
        yield ", ".join(told)
    physical, virtual = one.address_bits
    addresses = ""
    if physical and virtual:
        addresses = f"; addresses of {physical} bits (physical) and {virtual} bits (virtual)"
    yield f"{one.architecture or 'architecture not known'}, {one.byte_order} endian{addresses}"


def _frequency(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    for one in found.frequencies:
        parts = []
        for title, value in (
            ("lowest", one.lowest_hz),
            ("base", one.base_hz),
            ("highest", one.highest_hz),
        ):
            if value:
                parts.append(f"{title} {hertz(value)}")
        if one.now_hz:
            low, high = map(hertz, one.now_hz)
            parts.append(f"now {low}" + (f" to {high}" if high != low else ""))
        if one.boost is not None:
            parts.append("boost on" if one.boost else "boost off")
        if one.driver or one.governor:
            parts.append(f"governor {one.governor or _UNKNOWN} ({one.driver or 'no driver told'})")
        kind = f"{one.cores}: " if one.cores else ""
        yield (
            kind
            + (", ".join(parts) or _UNKNOWN)
            + (f"  [{', '.join(one.sources)}]" if one.sources else "")
        )
        if not (one.lowest_hz or one.highest_hz):
            yield "the range is not known: no cpufreq here" + (
                ", as in most virtual machines" if found.hypervisor else ""
            )
    from gnomon.counters.timers import cycles_per_second

    rate = cycles_per_second()
    if rate:
        yield f"time counter {hertz(rate)}, the same at every frequency  [measured]"


def _vectors(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    one = found.processor
    if not one.vectors:
        yield f"{_UNKNOWN}: /proc/cpuinfo names none"
        return
    widest = f"{one.vector_bits} bits wide" if one.vector_bits else "width not known"
    yield widest + (f" ({one.vector_note})" if one.vector_note else "")
    yield " ".join(one.vectors)


def _topology(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    one = found.topology
    if one.unknown:
        yield f"{_UNKNOWN}: {one.unknown}"
        return
    online = [cpu for cpu in one.cpus if cpu.is_online]
    counts = [_counted(one.sockets, "socket"), _counted(one.cores, "core"),
              _counted(len(online), "CPU")]  # fmt: skip
    if (one.dies or 0) > (one.sockets or 0):
        counts.insert(1, _counted(one.dies, "die"))
    if len(online) < len(one.cpus):
        counts.append(f"{len(one.cpus) - len(online)} offline")
    yield ", ".join(counts)
    yield _threads(one.threads_per_core, one.smt)
    for kind in one.kinds:
        yield f"{kind.name}: CPUs {cpu_ranges(kind.cpus)}"
    if one.isolated:
        yield f"isolated from the scheduler: CPUs {cpu_ranges(one.isolated)}"
    barred = [cpu.number for cpu in online if not cpu.is_allowed]
    if barred:
        yield f"this process may not run on CPUs {cpu_ranges(barred)}"
    if everything or len(one.cpus) <= _MOST_CPUS:
        rows = [[*map(_cell, (cpu.number, cpu.socket, cpu.die, cpu.core, cpu.node)),
                 cpu.kind or ("" if cpu.is_online else "offline")]
                for cpu in one.cpus]  # fmt: skip
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


def _caches(found: Hardware, width: int, everything: bool) -> Iterable[str]:
    from gnomon.cli.terminal.two_column_text import shortened, table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    if not found.caches:
        yield f"{_UNKNOWN}: {found.caches_unknown}"
        return
    rows = []
    for cache in found.caches:
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
    sources = ", ".join(dict.fromkeys(cache.source for cache in found.caches))
    doubt = "; a hypervisor need not tell the truth" if found.hypervisor else ""
    yield f"[{sources}{doubt}]"


def _picture(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.lists.topology_diagram import picture

    text = picture(found, width - 12)
    if not text:
        yield "nothing is known of what CPUs share"
    for line in text.split("\n") if text else ():
        yield " " + line


def _tlbs(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table

    for kind in found.tlbs:
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
        yield from table(("", "pages", "entries", "ways", "threads at most"), rows, left=2)
        yield f"[{', '.join(sorted({tlb.source for tlb in kind.tlbs}))}]"


def _numa(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    if not found.nodes:
        yield f"{_UNKNOWN}: the kernel shows no nodes (/sys/devices/system/node)"
        return
    numbers = [str(node.number) for node in found.nodes]
    has_far = all(len(node.distances) == len(numbers) for node in found.nodes)
    rows = []
    for node in found.nodes:
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
    held = sum(node.total_bytes or 0 for node in found.nodes)
    whole = found.memory.total_bytes
    if whole is not None and held < _NEARLY_ALL * whole:
        yield (
            f"together {units.size(held)} of the machine's {units.size(whole)}: the kernel does "
            "not say which node has the rest"
        )


def _pages(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    one = found.pages
    yield f"{units.size(one.base_bytes)} each" if one.base_bytes else _UNKNOWN
    if one.transparent:
        yield f"transparent huge pages of {units.size(one.transparent_bytes, 'unknown size')}: " + {
            "always": "wherever they fit (always)",
            "madvise": "where a program asks for them (madvise)",
        }.get(one.transparent, one.transparent)
    else:
        yield "no transparent huge pages"
    for pool in one.pools:
        total, free = (units.count(n, "?") for n in (pool.pages, pool.free))
        yield f"huge pages of {units.size(pool.page_bytes)}: {total} set aside, {free} free"


def _memory(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    one = found.memory
    if one.total_bytes is None:
        yield f"{_UNKNOWN}: /proc/meminfo cannot be read"
        return
    yield (
        f"{units.size(one.total_bytes)}, "
        f"{units.size(one.available_bytes, _UNKNOWN)} available; "
        + ("no swap" if one.swap_bytes == 0 else f"swap {units.size(one.swap_bytes, _UNKNOWN)}")
    )
    if found.limits.memory_bytes is not None:
        yield f"the control group allows {units.size(found.limits.memory_bytes)}"
    if found.limits.cpus is not None:
        yield f"the control group allows {units.number(found.limits.cpus)} CPUs' time"


def _virtual(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    host = found.hypervisor
    if host is None:
        yield "no hypervisor found"
    else:
        yield f"hypervisor {host.name}  [{host.evidence}]"
    if found.hypervisor_signature:
        yield f"its signature in cpuid: {found.hypervisor_signature}"
    inside = found.container
    yield "no container" if inside is None else f"container {inside.kind}  [{inside.evidence}]"


def _pmus(found: Hardware, width: int, everything: bool) -> Iterable[str]:
    from gnomon.cli.terminal.two_column_text import shortened, table
    from gnomon.counters.sysfs_pmu import cpu_ranges

    if not any(pmu.is_core for pmu in found.pmus):
        yield "no PMU of the cores: gnomon doctor says why"
    rows = []
    for pmu in found.pmus:
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
    sources = sorted({pmu.counters_source for pmu in found.pmus} - {""})
    yield f"[sysfs{''.join(', counters by ' + source for source in sources)}; interval is how " + (
        "long a group of events stays when several take turns]"
    )


def _devices(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.cli.terminal.two_column_text import table

    if not found.devices:
        yield "none with a place on a bus"
        return
    rows = [
        [one.kind, one.name, one.address, f"node {one.node}" if one.node is not None else "",
         one.detail] for one in found.devices
    ]  # fmt: skip
    yield from table(("", "name", "bus address", "near", ""), rows, left=3)


def _hwloc(found: Hardware, width: int, everything: bool) -> Iterable[str]:  # noqa: ARG001
    from gnomon.counters.hardware.hwloc import hwloc

    seen = hwloc()
    if seen.unknown:
        yield f"no second opinion: {seen.unknown}"
        return
    have = dict(seen.counts)
    yield ", ".join(f"{n} {kind}" for kind, n in seen.counts) + f"  [hwloc {seen.version}]"
    ours = {
        "Package": found.topology.sockets,
        "Core": found.topology.cores,
        "PU": sum(cpu.is_online and cpu.is_allowed for cpu in found.topology.cpus),
        "NUMANode": len(found.nodes) or None,
    }
    for level in (1, 2, 3, 4):
        made = [c for c in found.caches if c.level == level and c.kind != "instruction"]
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
