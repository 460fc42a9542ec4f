"""Names of events given to `gnomon._core`: whatever is typed, whatever a machine's files say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from planted import plant

from gnomon import _core
from gnomon.counters import presets
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.components.kernel import KernelComponent
from gnomon.counters.event_grammar import modifiers, pmu_terms
from gnomon.counters.event_resolver import resolve
from gnomon.counters.name_suggestions import nearest
from gnomon.counters.sysfs_pmu import Pmu, core_pmus, find
from gnomon.errors import EventNameError, EventUnavailableError, UsageError

DEVICES = "bus/event_source/devices"
HYBRID = Path(__file__).parents[2] / "golden" / "sysfs-hybrid"
COMPONENTS = (_core.COMPONENT_CPU, _core.COMPONENT_KERNEL, _core.COMPONENT_TSC)

WORDS = ("cycles", "sched:", "msr/", "cpu_core/", "event=", "0x", "::", "PAPI_", "page-faults")
ANYTHING = st.one_of(
    st.text(st.characters(), max_size=40),  # with surrogates, of bytes that are no UTF-8 and others
    st.lists(st.sampled_from([*WORDS, *"ukhGHIp:/,=@*?[]\0\udc80\ud800\u00e9"]), max_size=12).map(
        "".join
    ),
    st.text("x/:,=", min_size=250, max_size=600),
)


@given(ANYTHING)
@example("page-faults\0")
@example("page-faults:u\0")
@example("\udcff:u")
@example("cpu_core/\ud800/")
@example("x" * 100_000 + ":u")
def test_whatever_is_typed_is_an_event_or_refused(name: str) -> None:
    for component in COMPONENTS:
        refusal = None
        try:
            rows = _core.resolve_event(component, name, HYBRID, None, None)
        except (EventNameError, EventUnavailableError) as error:
            rows, refusal = (), error
        assert all(row[0] for row in rows)
        if refusal:
            assert refusal.name == name
            assert str(refusal).startswith(f"event '{name}': ")


@given(ANYTHING)
@example("a\0b:u")
@example("\udcff\udcfe/a=\udc80/u")
def test_parts_of_whatever_is_typed(name: str) -> None:
    try:
        base, _ = modifiers(name)
        terms = pmu_terms(base)
    except EventNameError:
        return
    assert name.startswith(base)
    assert terms is None or base.startswith(f"{terms.pmu}/")


@given(ANYTHING, st.lists(ANYTHING, max_size=8))
@example("\udcff1", ["\udcff2", "\ud8001", "a\0b", "x" * 1000])
@example("x" * 1000, ["x" * 999])
def test_suggestions_are_known_names(name: str, known: list[str]) -> None:
    close = nearest(name, known)
    assert len(close) <= 3
    assert set(close) <= set(known)


def test_a_name_with_a_nul_is_no_other_name() -> None:
    for name in ("page-faults\0", "page-faults\0:u", "cycles\0", "sched:sched_switch\0"):
        with pytest.raises(EventNameError, match="no event, preset or tracepoint"):
            resolve(name)


def test_bytes_that_are_no_utf8_come_back() -> None:
    name = os.fsdecode(b"cpu_core/\xff\xfe/")
    with pytest.raises(EventNameError) as caught:
        CpuComponent(HYBRID).resolve(name)
    assert caught.value.name == name
    assert os.fsdecode(b"parameter '\xff\xfe'") in str(caught.value)


def test_a_long_name_is_told_to_be_one() -> None:
    with pytest.raises(EventNameError, match="more than 255 letters; use a shorter one"):
        resolve("x" * 256)
    with pytest.raises(UsageError):
        resolve("x" * 1_000_000)


def test_wrong_arguments() -> None:
    for name in (None, b"cycles", 7):
        with pytest.raises(TypeError):
            _core.modifiers(name)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            _core.terms(name)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            _core.nearest("x", [name])  # type: ignore[list-item]
        with pytest.raises(TypeError):
            _core.resolve_event(0, name, None, None, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _core.nearest("x", None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _core.resolve_event(0, "x", 1.5, None, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="null"):
        _core.resolve_event(0, "cycles", "/sys\0", None, None)
    assert _core.resolve_event(99, "cycles", None, None, None) == ()
    assert _core.list_events(99, None, None) == []


@given(ANYTHING)
@example("PAPI_TOT_INS\0")
@example("PAPI_TOT_INS@\udcff")
@example("PAPI_\ud800")
@example("PAPI_" + "X" * 100_000)
def test_whatever_is_typed_is_a_preset_or_none(name: str) -> None:
    refusal = None
    try:
        rows, _ = _core.resolve_preset(name, HYBRID, "cpu_core=skx,=,,x,cpu_atom")
    except (EventNameError, EventUnavailableError) as error:
        rows, refusal = (), error
    assert all(row[0].startswith(name) for row in rows)
    if refusal:
        assert refusal.name == name


ROW = ("MINE", "text", "", ("page-faults",), "", (("N", 0.0),), "", "mine.toml", (), 1)


def row(at: int, value: object) -> tuple[object, ...]:
    """Return files with one preset that has another value at a place of its row."""
    return (("x", ((*ROW[:at], value, *ROW[at + 1 :]),)),)


@pytest.mark.parametrize(
    "files",
    [None, (1,), (("x",),), (("x", None),), (("x", (1,)),), (("x\0", ()),), (("x", (ROW[:-1],)),),
     row(3, None), row(3, ("a\0b",)), row(3, ("a",) * 65), row(3, (7,)), row(5, ((1, 2, 3),)),
     row(5, (("N", 7.0),)), row(5, (("N", -1.0),)), row(5, (("%", 0.0),)), row(5, (7,)),
     row(0, "M\ud800"), row(8, ("a\0",)), row(9, "x")],
)  # fmt: skip
def test_presets_that_are_none_leave_those_there_are(files: object) -> None:
    _core.use_presets((("mine.toml", (ROW,)),))
    try:
        with pytest.raises((TypeError, ValueError)):
            _core.use_presets(files)  # type: ignore[arg-type]
        ((name, preset, *_),), _ = _core.resolve_preset("MINE:u", None, None)
        assert (name, preset) == ("MINE:u", "MINE")
    finally:
        _core.use_presets(())
    assert _core.resolve_preset("MINE", None, None) == ((), [])


def test_presets_whose_formula_is_none() -> None:
    for steps in ((), (("+", 0.0),), (("N", 0.0), ("N", 0.0)), (("N", 0.0),) * 70):
        _core.use_presets((("mine.toml", ((*ROW[:5], steps, *ROW[6:]),)),))
        with pytest.raises(EventUnavailableError, match="formula"):
            _core.resolve_preset("MINE", None, None)
    _core.use_presets(())


def test_a_file_of_presets_whose_name_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.toml")
    path.write_text('title = "odd"\npmus = ["knl"]\n[preset.MINE_TOO]\nevents = ["page-faults"]\n')
    presets.load(path)
    try:
        with pytest.raises(EventUnavailableError) as caught:
            presets.resolve("MINE_TOO", CpuComponent(HYBRID, {}))
        assert str(path) in caught.value.reason
    finally:
        presets.forget()


def test_an_exception_has_its_parts(tmp_path: Path) -> None:
    with pytest.raises(EventNameError) as unknown:
        CpuComponent(HYBRID).resolve("cpu_core/instruction/")
    assert unknown.value.suggestions[0] == "instructions"
    assert str(unknown.value) == (
        "event 'cpu_core/instruction/': PMU 'cpu_core' has no event or parameter 'instruction'; "
        f"did you mean {' or '.join(unknown.value.suggestions)}?"
    )
    with pytest.raises(EventUnavailableError) as missing:
        KernelComponent(tmp_path).resolve("sched:sched_switch")
    assert missing.value.reason == "tracefs is not mounted"
    assert missing.value.remedy == f"as root: mount -t tracefs tracefs {tmp_path}"
    assert missing.value.errno == 0


# --- files that are odd ---------------------------------------------------------------------------


def test_no_sysfs_and_one_that_cannot_be_read(tmp_path: Path) -> None:
    closed = plant(tmp_path / "closed", {f"{DEVICES}/cpu/type": "4", f"{DEVICES}/cpu/cpus": "0"})
    (closed / DEVICES).chmod(0)
    for tree in (tmp_path / "none", tmp_path, Path("/dev/null"), closed, Path("x" * 5000)):
        if os.geteuid() or tree != closed:  # root reads it all the same
            assert find(tree) == ()
        (event,) = CpuComponent(tree).resolve("cycles")
        assert event.spec.terms[0].encoding == (0, 0, 0, 0, 0, 0)
    (closed / DEVICES).chmod(0o700)
    assert [pmu.name for pmu in core_pmus(closed)] == ["cpu"]


def test_files_of_sysfs_with_any_bytes(tmp_path: Path) -> None:
    files = {
        "type": b"4\n", "cpus": b"0", "format/event": b"config:0-7", "format/long": b"0-1," * 9999,
        "events/noise": bytes(range(256)), "events/nul": b"event=1\0", "events/ok": b"event=3\n",
        "events/odd": b"event=7", "events/odd.unit": b"\xff\xfe", "events/odd.scale": b"\xff",
    }  # fmt: skip
    for name, content in files.items():
        path = tmp_path / DEVICES / "cpu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / DEVICES / "cpu" / "events" / os.fsdecode(b"\xff")).write_text("event=9")
    os.mkfifo(tmp_path / DEVICES / "cpu" / "events" / "pipe")
    cpu = CpuComponent(tmp_path)
    (pmu,) = core_pmus(tmp_path)
    assert set(pmu.event_names()) == {"noise", "nul", "ok", "odd", "pipe", os.fsdecode(b"\xff")}
    assert (pmu.unit("odd"), pmu.scale("odd")) == ("\ufffd\ufffd", 1)
    assert cpu.resolve("cpu/ok/")[0].spec.terms[0].encoding.config == 3
    assert cpu.resolve(os.fsdecode(b"cpu/\xff/"))[0].spec.terms[0].encoding.config == 9
    for key in ("noise", "nul", "pipe", "long", "long=1", "ok=1"):
        with pytest.raises(EventNameError, match=f"event 'cpu/{key}/': "):
            cpu.resolve(f"cpu/{key}/")
    assert {f"cpu/{name}/" for name in pmu.event_names()} <= {info.name for info in cpu.events()}


def test_a_pmu_whose_folder_went_away(tmp_path: Path) -> None:
    terms = pmu_terms("gone/event=1/")
    assert terms is not None
    gone = Pmu("gone", 9, tmp_path / DEVICES / "gone")
    assert gone.event_names() == ()
    assert (gone.unit("x"), gone.scale("x")) == ("", 1)
    with pytest.raises(EventNameError, match="no event or parameter 'event'"):
        gone.encode(terms, "gone/event=1/")
