"""`gnomon events --fit`: assignment, reasons, groups, the chooser, and the kernel's own verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import gnomon, run
from libpfm_tables import needs_tables

from gnomon.counters.allocation.kernel_probe import verdict
from gnomon.counters.components import component
from gnomon.counters.event_resolver import resolve

HAS_PMU = component("cpu").availability().available
FIVE = "branches,branch-misses,cache-references,cache-misses,bus-cycles"
needs_libpfm = needs_tables("skx")


def document(*arguments: str, status: int) -> dict[str, Any]:
    done = gnomon("events", *arguments, "--json")
    assert (done.returncode, done.stderr) == (status, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_software_events_always_fit_and_the_kernel_agrees() -> None:
    found = document("--fit", "page-faults,{task-clock,context-switches}", status=0)
    assert found["fits"] is True
    assert [one["takes_counters"] for one in found["events"]] == [False] * 3
    assert found["groups"] == [["page-faults", "task-clock", "context-switches"]]
    assert (found["kernel"]["fits"], found["kernel"]["agrees"]) == (True, True)
    said = gnomon("events", "--fit", "page-faults,task-clock").stdout
    assert "they fit" in said
    assert "the kernel agrees" in said


def test_the_kernels_verdict_is_found_by_counting() -> None:
    events = resolve("page-faults,task-clock,cpu-clock").events
    assert verdict(events).fits
    assert verdict(()).fits
    refused = verdict((events[0]._replace(spec=events[0].spec.of(
        events[0].spec.terms[0].encoding._replace(config=9999))),))  # fmt: skip
    assert refused.fits is None
    assert refused.errno
    assert "page-faults" in refused.why


@pytest.mark.skipif(HAS_PMU, reason="this machine has a PMU")
def test_without_a_pmu_hardware_events_are_refused_with_the_remedy() -> None:
    done = gnomon("events", "--fit", "page-faults,cycles")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gnomon: event 'cycles': ")
    assert "--pmu NAME" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not HAS_PMU, reason="needs a core PMU: run on bare metal, or see test_fit.py "
                    "of the guest tests")  # fmt: skip
def test_with_a_pmu_the_kernel_is_asked() -> None:
    found = document("--fit", "cycles,instructions", status=0)
    assert found["kernel"]["agrees"] is True


def test_another_cpu_answers_by_its_name() -> None:
    found = document("--fit", f"{FIVE},cycles,page-faults", "--pmu", "skx", status=1)
    assert found["pmus"][0]["name"] == "skx"
    assert found["pmus"][0]["counters"][:4] == ["PMC0", "PMC1", "PMC2", "PMC3"]
    assert found["fits"] is False
    assert found["conflict"] == FIVE.split(",")
    assert "5 events for 4 counters" in found["why"]
    assert found["remedy"]
    assert [len(group) for group in found["groups"]] == [6, 1]
    assert found["kernel"] is None
    alone = document("--fit", FIVE, "--pmu", "skx", "--one-thread", status=0)
    assert alone["events"][4] == {
        "event": "bus-cycles", "takes_counters": True, "counters": [["PMC4"]],
    }  # fmt: skip


def test_the_text_says_the_same() -> None:
    done = gnomon("events", "--fit", "r3,r3:u,r76", "--pmu", "amd64_fam19h_zen4")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "amd64_fam19h_zen4: AMD Zen to Zen 5"
    assert "r3    PMC0+PMC1" in lines
    assert "they fit: all count at once" in lines
    done = gnomon("events", "--fit", "r3,{r3:u,r3:k},r76", "--pmu", "amd64_fam19h_zen4")
    assert done.returncode == 1
    assert "they do not fit: r3, r3:u, r3:k and r76 can only use PMC0 to PMC5" in done.stdout
    assert "in turns, in 2 groups:" in done.stdout
    assert "  1  r3, r3:u, r3:k" in done.stdout.splitlines()


@needs_libpfm
def test_presets_and_libpfm4s_names_are_those_of_the_pmu_asked_for() -> None:
    found = document("--fit", "PAPI_DP_OPS,PAPI_TOT_CYC,L1D:REPLACEMENT", "--pmu", "skx", status=1)
    assert [one["event"] for one in found["events"]][2] == "L1D:REPLACEMENT"
    assert found["conflict"] == ["PAPI_DP_OPS", "L1D:REPLACEMENT"]
    assert "native events for 4 counters" in found["why"]


@needs_libpfm
def test_the_chooser_lists_what_still_fits() -> None:
    full = "INST_RETIRED:PREC_DIST,cycles,instructions"
    found = document("--fit", full, "--pmu", "skx", "--chooser", "inst_retired", status=0)
    names = [one["event"] for one in found["addable"]]
    assert "skx::INST_RETIRED:ANY_P" in names
    assert "skx::INST_RETIRED:PREC_DIST" not in names  # its only counter is taken
    assert found["tried"] > len(names)
    said = gnomon("events", "--fit", full, "--pmu", "skx", "--chooser", "inst_retired").stdout
    assert f"{len(names)} of {found['tried']} events that match can be added to" in said
    assert "not here" not in said
    here = gnomon("events", "--fit", "page-faults", "--chooser", "no such words")
    assert ("not here: no core PMU" in here.stdout) == (not HAS_PMU)
    nothing = gnomon("events", "--fit", full, "--pmu", "skx", "--chooser", "no such words")
    assert nothing.returncode == 1
    refused = gnomon("events", "--fit", FIVE, "--pmu", "skx", "--chooser")
    assert refused.returncode == 2
    assert "nothing can be added" in refused.stderr


def test_pmus_are_completed(tmp_path: Path) -> None:
    """bash itself, asked what may follow `--pmu power`."""
    (tmp_path / "script").write_text(gnomon("completion", "bash").stdout)
    line = "gnomon events --pmu power"
    done = run(
        "bash", "-c",
        f". {tmp_path}/script; COMP_WORDS=({line}); COMP_CWORD=3; COMP_LINE='{line}'; "
        f"COMP_POINT={len(line)}; $(complete -p gnomon | sed 's/.*-F \\([^ ]*\\).*/\\1/') "
        'gnomon power --pmu; echo "${COMPREPLY[@]}"',
    )  # fmt: skip
    assert done.stdout.split() == ["power10", "power8", "power9"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--chooser",), "--chooser needs --fit"),
        (("--pmu", "skx"), "--pmu needs --fit"),
        (("--one-thread",), "--one-thread needs --fit"),
        (("--fit", "cycles", "--one-thread"), "--one-thread needs --pmu"),
        (("--fit", "cycles", "cache"), "--chooser"),
        (("--fit", "cycles", "--check"), "--fit can be combined with"),
        (("--fit", "cycles", "--pmu", "nonsense"), "there is no PMU 'nonsense'"),
        pytest.param(("--fit", "nonsense", "--pmu", "skx"), "event 'nonsense'", marks=needs_libpfm),
        (("--fit", "{cycles", "--pmu", "skx"), "brace"),
        (("--fit", "", "--pmu", "skx"), "empty name"),
        (("--fit", "cpu/event=1/", "--pmu", "skx"), "only the kernel"),
    ],
)
@pytest.mark.cpu
def test_what_cannot_be_meant_is_one_line_and_status_2(
    arguments: tuple[str, ...], said: str
) -> None:
    done = gnomon("events", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
