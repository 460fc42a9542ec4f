"""The metrics that are not the HPM guide's: each by hand, from events that exist.

Those of the guide: test_guide_metrics.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from stated import StatedMachine

import gnomon.metrics.definitions as shipped_definitions
from gnomon.counters import presets
from gnomon.metrics import toml_document
from gnomon.metrics.definitions import CONSTANTS, GIVEN, VARIABLES, Metric, Metrics, load_metrics
from gnomon.metrics.derived import FormulaInput, computable
from gnomon.metrics.formula import identifier, parse
from gnomon.metrics.groups import load_groups

# A run of two seconds on a machine of four CPUs.
COUNTS: dict[str, float] = {
    "wall_seconds": 2,
    "user_seconds": 2.5,
    "system_seconds": 0.5,
    "cpus": 4,
    "task_clock": 3_000_000_000,
    "PAPI_TOT_CYC": 9_000_000_000,
    "PAPI_TOT_INS": 18_000_000_000,
    "PAPI_REF_CYC": 6_000_000_000,
    "PAPI_RES_STL": 2_250_000_000,
    "PAPI_STL_ICY": 900_000_000,
    "PAPI_BR_INS": 3_600_000_000,
    "PAPI_BR_CN": 2_700_000_000,
    "PAPI_BR_MSP": 36_000_000,
    "indirect_branches": 180_000_000,
    "PAPI_L1_DCA": 6_000_000_000,
    "PAPI_L1_DCM": 90_000_000,
    "PAPI_L1_ICM": 18_000_000,
    "PAPI_L2_TCA": 120_000_000,
    "PAPI_L2_TCM": 36_000_000,
    "PAPI_L3_TCA": 40_000_000,
    "PAPI_L3_TCM": 9_000_000,
    "PAPI_TLB_DM": 7_500_000,
    "PAPI_TLB_IM": 900_000,
    "PAPI_LD_INS": 4_500_000_000,
    "PAPI_SR_INS": 3_000_000_000,
    "PAPI_DP_OPS": 4_500_000_000,
    "tsc___cycles": 5_200_000_000,
    "cache_misses": 4_500_000,
    "cache_references": 36_000_000,
    "L1_dcache_load_misses": 2_000_000,
    "L1_dcache_loads": 50_000_000,
    "LLC_load_misses": 3_000_000,
    "LLC_loads": 12_000_000,
    "dTLB_load_misses": 1_000_000,
    "dTLB_loads": 200_000_000,
    "context_switches": 600,
    "cpu_migrations": 12,
    "sched_sched_process_fork": 10,
    "page_faults": 3000,
    "minor_faults": 2910,
    "major_faults": 90,
    "memory___minor_faults": 5910,
    "memory___major_faults": 90,
    "raw_syscalls_sys_enter": 60_000,
    "io___rchar": 8_000_000,
    "io___syscr": 2000,
    "io___wchar": 6_000_000,
    "io___syscw": 1200,
    "io___read_bytes": 4_096_000,
    "io___write_bytes": 2_000_000,
    "io___cancelled_write_bytes": 500_000,
    "io___disk_read_bytes": 10_000_000,
    "io___disk_write_bytes": 30_000_000,
    "network___rx_bytes": 3_000_000,
    "network___rx_packets": 2500,
    "network___tx_bytes": 1_000_000,
    "network___tx_packets": 4000,
    "memory___numa_hit": 9900,
    "memory___numa_miss": 100,
    # Quantities, which have tests of their own.
    "flops": 4_500_000_000,
    "loads_and_stores": 7_500_000_000,
    "data_tlb_misses": 7_500_000,
    "issue_slots": 1000,
    "told_slots": 100,
    # POWER
    "PM_BR_MPRED_CR": 6_000_000,
    "PM_BR_MPRED_TA": 2_000_000,
    "PM_BR_ISSUED": 400_000_000,
    # Intel from Ice Lake on
    "topdown_retiring": 40,
    "topdown_bad_spec": 10,
    "topdown_fe_bound": 20,
    "topdown_be_bound": 30,
    "topdown_heavy_ops": 8,
    "topdown_br_mispredict": 6,
    "topdown_fetch_lat": 12,
    "topdown_mem_bound": 18,
    # Intel before
    "UOPS_RETIRED_RETIRE_SLOTS": 400,
    "UOPS_ISSUED_ANY": 450,
    "INT_MISC_RECOVERY_CYCLES": 10,
    "IDQ_UOPS_NOT_DELIVERED_CORE": 200,
    # AMD
    "cpu_event_0xc1_": 400,
    "cpu_event_0xaa_umask_0x7_": 480,
    "cpu_event_0x1a0_umask_0x1_": 150,
    "cpu_event_0x1a0_umask_0x1e_": 300,
    "cpu_event_0x1a0_umask_0x60_": 70,
    "cpu_event_0x1a0_umask_0x1_cmask_0x6_": 15,
    "cpu_event_0x1a0_umask_0x1_cmask_0x8_": 10,
    "cpu_event_0xd6_umask_0xa2_": 30,
    "cpu_event_0xd6_umask_0x2_": 40,
    # Arm
    "OP_RETIRED": 90,
    "OP_SPEC": 100,
    "STALL_SLOT": 500,
    "STALL_SLOT_FRONTEND": 200,
    "STALL_SLOT_BACKEND": 300,
    "BUS_READ_TOTAL_MEM": 1_000_000,
    "BUS_WRITE_TOTAL_MEM": 500_000,
    "power___energy_pkg": 30,
    "power___energy_cores": 20,
    "power___energy_gpu": 2,
    "power___energy_ram": 6,
    "power___energy_psys": 50,
}

# What these come to, by hand: one value for each definition of a name, in their order.
BY_HAND: dict[str, list[float]] = {
    "user_utilisation": [125],
    "cpus_utilised": [1.5, 1.5],
    "machine_utilisation": [37.5, 37.5],
    "user_share": [83.3333333333],
    "system_share": [16.6666666667],
    "ipc": [2],
    "mips": [9000],
    "clock_rate": [3, 3, 3.6],
    "reference_clock_ratio": [1.5],
    "time_counter_rate": [2.6],
    "stalled_cycles": [25],
    "idle_issue_cycles": [10],
    "branch_share": [20],
    "conditional_branch_share": [75],
    "branch_misprediction_ratio": [1, 2],
    "predicted_branch_miss_ratio": [1.25],
    "branch_mispredictions_per_1000": [2],
    "l1_data_miss_ratio": [1.5, 1.2],
    "l1_data_misses_per_1000": [5],
    "l1_instruction_misses_per_1000": [1],
    "l2_miss_ratio": [30],
    "l2_misses_per_1000": [2],
    "l3_miss_ratio": [22.5],
    "l3_misses_per_1000": [0.5],
    "cache_miss_ratio": [12.5],
    "cache_misses_per_1000": [0.25],
    "l1_load_miss_ratio": [4],
    "llc_load_miss_ratio": [25],
    "data_tlb_misses_per_1000": [0.4166666667],
    "instruction_tlb_misses_per_1000": [0.05],
    "accesses_per_data_tlb_miss": [1000],
    "data_tlb_load_miss_ratio": [0.5],
    "loads_per_instruction": [0.25],
    "stores_per_instruction": [0.1666666667],
    "flops_per_cycle": [0.5],
    "flops_per_access": [0.6],
    "context_switch_rate": [300],
    "context_switches_per_cpu_second": [200, 200],
    "migration_rate": [6],
    "migrations_per_cpu_second": [4, 4],
    "creation_rate": [5],
    "page_fault_rate": [1500, 1500, 3000],
    "page_faults_per_cpu_second": [1000, 1000, 1000, 2000],
    "major_fault_share": [3, 3, 1.5],
    "system_call_rate": [30_000],
    "system_calls_per_cpu_second": [20_000, 20_000],
    "bytes_per_read": [4000],
    "bytes_per_write": [5000],
    "read_bandwidth": [4_000_000],
    "write_bandwidth": [3_000_000],
    "storage_read_bandwidth": [2_048_000],
    "storage_write_bandwidth": [1_000_000],
    "cancelled_write_share": [25],
    "disk_read_bandwidth": [5_000_000],
    "disk_write_bandwidth": [15_000_000],
    "receive_bandwidth": [1_500_000],
    "transmit_bandwidth": [500_000],
    "bytes_per_packet_received": [1200],
    "bytes_per_packet_sent": [250],
    "numa_miss_share": [1],
    "topdown_retiring": [40, 40, 40, 45],
    "topdown_bad_speculation": [10, 9, 8, 5],
    "topdown_frontend_bound": [20, 20, 15, 20],
    "topdown_backend_bound": [30, 31, 30, 30],
    "topdown_heavy_operations": [8],
    "topdown_light_operations": [32],
    "topdown_branch_mispredicts": [6],
    "topdown_machine_clears": [4],
    "topdown_other_thread": [7],
    "topdown_fetch_latency": [9, 8, 12],
    "topdown_fetch_bandwidth": [6, 7, 8],
    "topdown_memory_bound": [22.5, 18],
    "topdown_core_bound": [7.5, 12],
    "package_power": [15],
    "core_power": [10],
    "gpu_power": [1],
    "memory_power": [3],
    "platform_power": [25],
    "energy_per_instruction": [1.6666666667],
    "energy_per_operation": [6.6666666667],
    "a64fx_read_bandwidth": [128],
    "a64fx_write_bandwidth": [64],
}

SHIPPED = load_metrics()
DATA = Path(toml_document.SHIPPED)
FILES = {name: load_metrics(DATA / name) for name in shipped_definitions.FILES}
OURS = [one for name, file in FILES.items() if name != "hpm.toml" for one in file.definitions]
EVERY = (*SHIPPED.definitions, *SHIPPED.quantities)


def test_every_metric_of_ours_has_its_value_by_hand() -> None:
    computed: dict[str, list[float]] = {}
    for metric in OURS:
        inputs = {name: FormulaInput(COUNTS[name]) for name in metric.names}
        (result,) = computable(Metrics((metric,)), inputs, StatedMachine(*metric.cpus))
        assert (result.name, result.unit) == (metric.name, metric.unit)
        computed.setdefault(metric.name, []).append(result.value)
    assert computed.keys() == BY_HAND.keys()
    for name, values in computed.items():
        assert values == pytest.approx(BY_HAND[name], rel=1e-9), name


def test_top_down_shares_add_up_where_they_are_all_of_the_slots() -> None:
    level_1 = [BY_HAND[f"topdown_{part}"] for part in
               ("retiring", "bad_speculation", "frontend_bound", "backend_bound")]  # fmt: skip
    told, classic, dispatch, arm = map(sum, zip(*level_1, strict=True))
    assert (told, classic, arm) == (100, 100, 100)
    assert dispatch + BY_HAND["topdown_other_thread"][0] == 100


def test_slots_by_the_width_of_the_cpu() -> None:
    widths = {"skx": 4, "amd64_fam19h_zen4": 6, "amd64_fam1ah_zen5": 8, "arm_n2": 5, "arm_v1": 8}
    asked = Metrics((Metric("slots", "", parse("issue_slots")),), SHIPPED.aliases,
                    SHIPPED.quantities)  # fmt: skip
    for cpu, width in widths.items():
        (slots,) = computable(asked, {"cycles": FormulaInput(7)}, StatedMachine(cpu))
        assert (slots.value, slots.formula) == (7 * width, f"({width} * cycles)")
    assert computable(asked, {"cycles": FormulaInput(7)}, StatedMachine("power9")) == ()


# --- the shipped data -----------------------------------------------------------------------------

# What is not a preset, not POWER's and not bound to a CPU: events of the
# kernel, the components and the emulated PMU.
LISTED = """
    cycles cpu-cycles instructions branches branch-instructions branch-misses cache-misses
    indirect-branches
    cache-references ref-cycles stalled-cycles-frontend idle-cycles-frontend
    stalled-cycles-backend idle-cycles-backend
    L1-dcache-loads L1-dcache-load-misses LLC-loads LLC-load-misses dTLB-loads dTLB-load-misses
    task-clock cpu-clock page-faults faults context-switches cs cpu-migrations migrations
    minor-faults major-faults perf::TASK-CLOCK perf::CPU-CLOCK perf::CONTEXT-SWITCHES
    perf::CPU-MIGRATIONS perf::PAGE-FAULTS perf::MINOR-FAULTS perf::MAJOR-FAULTS
    sched:sched_switch sched:sched_migrate_task sched:sched_wakeup sched:sched_process_fork
    sched:sched_process_exec raw_syscalls:sys_enter
    io:::read_bytes io:::write_bytes io:::rchar io:::wchar io:::syscr io:::syscw
    io:::cancelled_write_bytes io:::disk_read_bytes io:::disk_write_bytes
    network:::rx_bytes network:::tx_bytes network:::rx_packets network:::tx_packets
    memory:::peak_rss memory:::minor_faults memory:::major_faults memory:::rss memory:::swap
    memory:::numa_hit memory:::numa_miss memory:::numa_foreign tsc:::cycles
    power:::energy-pkg power:::energy-cores power:::energy-gpu power:::energy-ram
    power:::energy-psys
"""
GENERAL = LISTED.split()
PRESETS = tuple(presets.meanings())
POWER = re.compile(r"PM_[A-Z0-9_]+")


def unknown(names: Iterable[str], *, is_bound: bool) -> set[str]:
    """Return the identifiers that nothing explains; bound to CPUs also libpfm4's and raw events."""
    known = {identifier(event) for event in (*GENERAL, *PRESETS)}
    known |= VARIABLES.keys() | CONSTANTS.keys() | GIVEN.keys()
    known |= {quantity.name for quantity in SHIPPED.quantities} | SHIPPED.aliases.keys()
    own = re.compile(
        r"[A-Z0-9_]+|cpu_event_0x[0-9a-f]+_(umask_0x[0-9a-f]+_)?(cmask_0x[0-9a-f]+_)?|topdown_[a-z_]+"
    )
    return {
        name
        for name in names
        if name not in known
        and not POWER.fullmatch(name)
        and not name.startswith("topdown_")
        and not (is_bound and own.fullmatch(name))
    }


def test_definitions_use_known_events_and_variables() -> None:
    for metric in EVERY:
        assert not unknown(metric.names, is_bound=bool(metric.cpus)), metric.name
        assert metric.description
        assert bool(metric.guide or not metric.differs), metric.name
    for name, others in SHIPPED.aliases.items():
        assert not unknown(others, is_bound=False)
        assert name not in others


def test_quantities_use_what_is_in_front_of_them() -> None:
    every = {quantity.name for quantity in SHIPPED.quantities}
    seen: set[str] = set()
    for quantity in SHIPPED.quantities:
        seen.add(quantity.name)
        assert quantity.names & every <= seen, quantity.name
    used = {name for metric in EVERY for name in metric.names}
    assert every <= used


def test_cpus_are_names_of_libpfm4() -> None:
    known = {pmu for family in presets.families() for pmu in family.pmus}
    known |= {"ppc970", "ppc970mp", "power4", "power5", "power5p", "power6", "power7", "power8"}
    known |= {"core", "arm_thunderx2"}
    named = {cpu for metric in EVERY for cpu in metric.cpus}
    named |= {cpu for group in load_groups() for cpu in group.cpus}
    assert named | shipped_definitions.peaks().keys() <= known


def test_what_the_build_compiled_is_what_the_files_say(tmp_path: Path) -> None:
    def plain(metrics: Metrics) -> list[tuple[object, ...]]:
        texts: list[tuple[object, ...]] = []
        for metric in (*metrics.quantities, *metrics.definitions):
            formulas = [one for one in (metric.formula, metric.condition) if one is not None]
            parsed = [(one.text, one.names, one.program()) for one in formulas]
            texts.append((*metric._replace(formula=parse("0"), condition=None), *parsed))
        return texts

    for name, compiled in FILES.items():
        copy = tmp_path / name
        copy.write_text((DATA / name).read_text())
        read = load_metrics(copy)
        assert plain(read) == plain(compiled)
        assert read.aliases == compiled.aliases
    copy = tmp_path / "groups.toml"
    copy.write_text((DATA / "groups.toml").read_text())
    assert load_groups(copy) == load_groups()


def test_groups_use_known_events_and_metrics() -> None:
    names = {metric.name for metric in SHIPPED.definitions}
    for group in load_groups():
        plain = [
            identifier(event.removeprefix("cpu/").removesuffix("/"))
            if event.startswith("cpu/topdown") else identifier(event)
            for event in group.events
        ]  # fmt: skip
        plain = [event for event in plain if event != "cpu_slots_"]
        assert not unknown(plain, is_bound=bool(group.cpus)), group.name
        assert set(group.metrics) <= names


def test_a_groups_own_metrics_follow_from_its_events() -> None:
    for group in load_groups():
        for cpu in group.cpus or ("",):
            cpus = (cpu,) if cpu else None
            found = {metric.name for metric in SHIPPED.obtainable(group.events, cpus)}
            assert set(group.metrics) <= found, (group.name, cpu)


def test_every_metric_is_obtainable_from_some_events() -> None:
    events = {
        name
        for metric in EVERY
        for name in metric.names
        if name not in VARIABLES and name not in CONSTANTS and name not in GIVEN
    }
    stated = Metrics(SHIPPED.definitions, SHIPPED.aliases, SHIPPED.quantities,
                     dict.fromkeys(GIVEN, 1.0))  # fmt: skip
    assert {metric.name for metric in stated.obtainable(events)} == {
        metric.name for metric in SHIPPED.definitions
    }
