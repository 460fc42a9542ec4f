"""Whether libpfm4 knows every native event of the presets' files; on a host and in a guest.

libpfm4 reads its variables once in a process, so that it is asked in a process of its own. A
package of it has the tables of one architecture. Told to take a PMU of another
(LIBPFM_FORCE_PMU), it succeeds and knows no PMU at all: so what is asked here is asked beside a
name that is known to exist and one that is known not to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from gnomon.counters import presets
from gnomon.counters.presets import PresetFamily

_ASK = """
import json, sys
from gnomon import _core
codes = {}
for name in json.load(sys.stdin):
    try:
        codes[name] = _core.pfm_encode(name)
    except _core.PfmError as error:
        codes[name] = error.args[1]
json.dump(codes, sys.stdout)
"""

TABLES = {
    "x86_64": ("intel_", "amd_"),
    "aarch64": ("arm_",),
    "ppc64le": ("power",),
}
"""What the files of an architecture's families begin with, by uname's name of it."""

KNOWN_CODES = {
    # Of vendors' lists of events; no table of ours repeats them. Low byte: event; next: unit mask.
    "x86_64": {
        "skl::L1D:REPLACEMENT": 0x0151,
        "skx::FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE": 0x10C7,
        "skl::BR_INST_RETIRED:CONDITIONAL": 0x01C4,
        "icx::BR_INST_RETIRED:COND": 0x11C4,
        "spr::MEM_INST_RETIRED:ALL_STORES": 0x82D0,
        # LAST_LEVEL_CACHE_REFERENCES, the same event by its table, has another code there.
        "snb::LLC_REFERENCES": 0x4F2E,
        # CPU_CLK_UNHALTED:CORE_P, the same event by Intel's list, has code 0 there.
        "glm::UNHALTED_CORE_CYCLES": 0x003C,
        "amd64_fam19h_zen3::RETIRED_INSTRUCTIONS": 0x00C0,
        "amd64_fam19h_zen4::L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS": 0x1045,
    },
    "aarch64": {
        "arm_n1::INST_RETIRED": 0x08,
        "arm_n2::L1D_CACHE_REFILL": 0x03,
        "arm_v1::STALL_BACKEND": 0x24,
        "arm_a64fx::FP_DP_SCALE_OPS_SPEC": 0x80C6,
    },
    "ppc64le": {"power9::PM_INST_CMPL": 0x10002, "power10::PM_INST_CMPL": 0x100FE},
}
"""Codes that are right for certain, which libpfm4 must give."""

NO_NAMES = {
    "x86_64": ("skl::NO_SUCH_EVENT", "skl::L1D:NO_SUCH_MASK", "no_pmu::INST_RETIRED"),
    "aarch64": ("arm_n1::NO_SUCH_EVENT", "no_pmu::INST_RETIRED"),
    "ppc64le": ("power9::PM_NO_SUCH_EVENT", "no_pmu::PM_INST_CMPL"),
}
"""Names that no libpfm4 knows."""


class Code(NamedTuple):
    """What libpfm4 makes of a name: perf's type and configuration, and the name written out."""

    type: int
    config: int
    config1: int
    config2: int
    full_name: str


class Encoded(NamedTuple):
    """What libpfm4 makes of the native events of an architecture's families.

    Attributes:
        natives: by family and PMU, its native events with their codes, or why there is none.
        known: codes, or refusals, of KNOWN_CODES.
        bogus: codes, or refusals, of NO_NAMES.
    """

    natives: Mapping[tuple[str, str], Mapping[str, Code | str]]
    known: Mapping[str, Code | str]
    bogus: Mapping[str, Code | str]

    @property
    def missing_pmus(self) -> set[str]:
        """The PMUs of which libpfm4 knows no event."""
        return {
            pmu
            for (_, pmu), natives in self.natives.items()
            if all(isinstance(code, str) for code in natives.values())
        }

    @property
    def refused(self) -> dict[str, set[str]]:
        """The events that libpfm4 refuses, by PMU, of the PMUs that it knows."""
        found = {
            pmu: {event for event, code in natives.items() if isinstance(code, str)}
            for (_, pmu), natives in self.natives.items()
            if pmu not in self.missing_pmus
        }
        return {pmu: events for pmu, events in found.items() if events}


def natives_of(family: PresetFamily) -> list[str]:
    """Return the native events of a family's presets, each once, the kernel's generic ones too."""
    return list(dict.fromkeys(event for preset in family.presets for event in preset.events))


def encoded(machine: str) -> Encoded:
    """Return what the libpfm4 that is found here makes of one architecture's families.

    Args:
        machine: the architecture as uname says it, a key of TABLES.
    """
    families = [one for one in presets.families() if one.name.startswith(TABLES[machine])]
    pairs = [(one, pmu) for one in families for pmu in one.pmus]
    names = [f"{pmu}::{event}" for one, pmu in pairs for event in natives_of(one)]
    known, bogus = KNOWN_CODES[machine], NO_NAMES[machine]
    done = subprocess.run(
        [sys.executable, "-c", _ASK], input=json.dumps([*names, *known, *bogus]),
        capture_output=True, text=True, check=True,
        env=os.environ | {"LIBPFM_ENCODE_INACTIVE": "1"},
    )  # fmt: skip
    codes = {name: _code(answer) for name, answer in json.loads(done.stdout).items()}
    natives = {
        (one.name, pmu): {event: codes[f"{pmu}::{event}"] for event in natives_of(one)}
        for one, pmu in pairs
    }
    return Encoded(
        natives,
        {name: codes[name] for name in known},
        {name: codes[name] for name in bogus},
    )


def problems(found: Encoded, machine: str, unknown: dict[str, dict[str, Any]]) -> list[str]:
    """Return what is wrong with an architecture's families, and with the list of what is unknown.

    Args:
        found: what libpfm4 makes of them.
        machine: the architecture, a key of TABLES.
        unknown: the content of packaging/libpfm4_unknown.toml.
    """
    wrong = []
    for name, code in KNOWN_CODES[machine].items():
        given = found.known[name]
        if isinstance(given, str) or given.config & 0xFFFFF != code:
            wrong.append(f"{name}: {given}, not {code:#x}: does this libpfm4 have the tables?")
    wrong += [f"{name} has a code" for name, code in found.bogus.items() if isinstance(code, Code)]
    here = {pmu for _, pmu in found.natives}
    pmus = unknown["pmu"].keys() & here
    events = {pmu: unknown["event"][pmu].keys() for pmu in unknown["event"].keys() & here}
    wrong += [f"libpfm4 does not know the PMU {pmu}" for pmu in found.missing_pmus - pmus]
    for pmu, names in found.refused.items():
        wrong += [f"libpfm4 refuses {pmu}::{name}" for name in names - events.get(pmu, set())]
    # libpfm4 does not tell its version (it says 4.0 in every 4.x). A release that knows some of
    # the list knows all of it; 4.13 knows none.
    listed = {(pmu, "") for pmu in pmus} | {(pmu, one) for pmu in events for one in events[pmu]}
    lacking = {(pmu, "") for pmu in found.missing_pmus}
    lacking |= {(pmu, one) for pmu, names in found.refused.items() for one in names}
    if listed & lacking:
        wrong += [f"listed as unknown, and known: {pmu} {one}" for pmu, one in listed - lacking]
    for (family, pmu), natives in found.natives.items():
        seen: dict[tuple[int, ...], str] = {}
        for event, given in natives.items():
            if isinstance(given, str):
                continue
            if not given.full_name.startswith(f"{pmu}::"):
                wrong.append(f"{family}: {event} is taken for {given.full_name}")
            twin = seen.setdefault(given[:4], event)
            if twin != event:
                wrong.append(f"{family}: {event} and {twin} are one event of {pmu}")
    return sorted(wrong)


def _code(answer: object) -> Code | str:
    if isinstance(answer, str):
        return answer
    assert isinstance(answer, list)
    kind, config, config1, config2, _, full_name = answer
    return Code(kind, config, config1, config2, full_name)
