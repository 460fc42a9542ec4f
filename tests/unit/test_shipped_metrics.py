"""The metrics that are shipped: each by hand, from events that exist."""

from __future__ import annotations

import pytest

from gnomon.metrics.definitions import VARIABLES, Metrics, load_metrics
from gnomon.metrics.derived import Quantity, computable
from gnomon.metrics.formula import identifier
from gnomon.metrics.groups import load_groups

# --- the shipped data -----------------------------------------------------------------------------

LISTED = """
    PAPI_TOT_CYC PAPI_TOT_INS PAPI_REF_CYC PAPI_RES_STL PAPI_STL_ICY PAPI_BR_INS PAPI_BR_MSP
    PAPI_BR_CN PAPI_L1_DCA PAPI_L1_DCM PAPI_L1_ICM PAPI_L2_TCM PAPI_L2_TCA PAPI_L3_TCM PAPI_L3_TCA
    PAPI_TLB_DM PAPI_TLB_IM PAPI_LD_INS PAPI_SR_INS PAPI_DP_OPS
    cycles cpu-cycles instructions branches branch-instructions branch-misses cache-misses
    cache-references ref-cycles stalled-cycles-frontend idle-cycles-frontend
    stalled-cycles-backend idle-cycles-backend
    L1-dcache-loads L1-dcache-load-misses LLC-loads LLC-load-misses dTLB-loads dTLB-load-misses
    task-clock cpu-clock page-faults faults context-switches cs cpu-migrations migrations
    minor-faults major-faults
    sched:sched_switch sched:sched_migrate_task sched:sched_wakeup sched:sched_process_fork
    sched:sched_process_exec raw_syscalls:sys_enter
    io:::read_bytes io:::write_bytes io:::rchar io:::wchar io:::syscr io:::syscw
    io:::cancelled_write_bytes io:::disk_read_bytes io:::disk_write_bytes
    network:::rx_bytes network:::tx_bytes network:::rx_packets network:::tx_packets
    memory:::peak_rss memory:::minor_faults memory:::major_faults memory:::rss memory:::swap
    memory:::numa_hit memory:::numa_miss memory:::numa_foreign tsc:::cycles
"""
EVENTS = LISTED.split()

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
}

# What these come to, by hand: one value for each definition of a name, in their order.
BY_HAND: dict[str, list[float]] = {
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
    "branch_misprediction_ratio": [1],
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
    "flop_rate": [2250],
    "flops_per_cycle": [0.5],
    "flops_per_access": [0.6],
    "context_switch_rate": [200, 200],
    "migration_rate": [4, 4],
    "creation_rate": [5],
    "page_fault_rate": [1000, 1000, 1000, 2000],
    "major_fault_share": [3, 3, 1.5],
    "system_call_rate": [20_000, 20_000],
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
}

SHIPPED = load_metrics()


def test_every_shipped_metric_has_its_value_by_hand() -> None:
    computed: dict[str, list[float]] = {}
    for metric in SHIPPED.definitions:
        inputs = {name: Quantity(COUNTS[name]) for name in metric.names}
        (result,) = computable(Metrics((metric,)), inputs)
        assert (result.name, result.unit) == (metric.name, metric.unit)
        computed.setdefault(metric.name, []).append(result.value)
    assert computed.keys() == BY_HAND.keys()
    for name, values in computed.items():
        assert values == pytest.approx(BY_HAND[name], rel=1e-9), name


def test_shipped_metrics_use_known_events_and_variables() -> None:
    known = {identifier(event) for event in EVENTS} | VARIABLES.keys()
    for metric in SHIPPED.definitions:
        assert metric.names <= known, metric.name
        assert metric.description
    for name, others in SHIPPED.aliases.items():
        assert {name, *others} <= known
        assert name not in others


def test_shipped_groups_use_known_events() -> None:
    for group in load_groups():
        assert set(group.events) <= set(EVENTS), group.name


def test_every_shipped_metric_is_obtainable_from_some_events() -> None:
    assert {metric.name for metric in SHIPPED.obtainable(EVENTS)} == BY_HAND.keys()
