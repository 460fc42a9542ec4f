"""Event lists, brace groups and modifiers, as people type them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnomon import _core
from gnomon.counters.event_grammar import modifiers, pmu_terms
from gnomon.counters.event_resolver import ParsedName, resolve, split
from gnomon.counters.name_suggestions import nearest
from gnomon.errors import EventNameError, UsageError
from gnomon.model.value import Domain

USER, KERNEL, HYPERVISOR = _core.EXCLUDE_USER, _core.EXCLUDE_KERNEL, _core.EXCLUDE_HYPERVISOR


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cycles", [("cycles", None)]),
        ("a,b", [("a", None), ("b", None)]),
        (" a , b ", [("a", None), ("b", None)]),
        ("{a,b},c,{d}", [("a", 0), ("b", 0), ("c", None), ("d", 1)]),
        ("cpu/event=1,umask=2/,b", [("cpu/event=1,umask=2/", None), ("b", None)]),
        ("cpu/a,b/u,cpu/c/", [("cpu/a,b/u", None), ("cpu/c/", None)]),
        ("{cpu/a,b/,c}", [("cpu/a,b/", 0), ("c", 0)]),
        ("sched:sched_switch,io:::read_bytes", [("sched:sched_switch", None),
                                                ("io:::read_bytes", None)]),
    ],
)  # fmt: skip
def test_lists(text: str, names: list[tuple[str, int | None]]) -> None:
    assert split(text) == tuple(ParsedName(*name) for name in names)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "empty name at column 1"), (",", "empty"), ("a,", "column 3"), ("a,,b", "column 3"),
     ("{a,b", "brace is not closed"), ("a}", "unexpected '}'"), ("{a,{b}}", "unexpected '{'"),
     ("x{a}", "unexpected '{'"), ("cpu/a", "slash is not closed"), ("{}", "empty"),
     ("  ", "empty")],
)  # fmt: skip
def test_malformed_lists_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("{", r"\{").replace("}", r"\}")):
        split(text)


@given(st.text("ab:/{},= ", max_size=12))
@example("{a}b")
@example("/,/")
def test_any_text_is_a_list_or_is_refused(text: str) -> None:
    try:
        names = split(text)
    except UsageError:
        return
    assert names
    assert all(name.text and name.text == name.text.strip() for name in names)
    groups = [name.group for name in names if name.group is not None]
    assert groups == sorted(groups)


WORDS = st.text("abcdefgh_-.:=0123456789", min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_names_joined_by_commas_come_back(words: list[str]) -> None:
    assert [name.text for name in split(",".join(words))] == words
    assert [name.group for name in split("{" + ",".join(words) + "}")] == [0] * len(words)


@pytest.mark.parametrize(
    ("name", "base", "exclude", "domain"),
    [
        ("cycles", "cycles", 0, Domain.ALL),
        ("cycles:u", "cycles", KERNEL | HYPERVISOR, Domain.USER),
        ("cycles:k", "cycles", USER | HYPERVISOR, Domain.KERNEL),
        ("cycles:h", "cycles", USER | KERNEL, Domain.HYPERVISOR),
        ("cycles:uk", "cycles", HYPERVISOR, Domain.USER_KERNEL),
        ("cycles:ku", "cycles", HYPERVISOR, Domain.USER_KERNEL),
        ("cycles:ukh", "cycles", 0, Domain.ALL),
        ("cycles:G", "cycles", _core.EXCLUDE_HOST, Domain.ALL),
        ("cycles:H", "cycles", _core.EXCLUDE_GUEST, Domain.ALL),
        ("cycles:GH", "cycles", 0, Domain.ALL),
        ("cycles:uI", "cycles", KERNEL | HYPERVISOR | _core.EXCLUDE_IDLE, Domain.USER),
        ("cpu/event=1/", "cpu/event=1/", 0, Domain.ALL),
        ("cpu/event=1/u", "cpu/event=1/", KERNEL | HYPERVISOR, Domain.USER),
        ("cpu/event=1/:u", "cpu/event=1/", KERNEL | HYPERVISOR, Domain.USER),
        ("sched:sched_switch", "sched:sched_switch", 0, Domain.ALL),
        ("sched:sched_switch:k", "sched:sched_switch", USER | HYPERVISOR, Domain.KERNEL),
        ("skl::L1D:REPLACEMENT:u", "skl::L1D:REPLACEMENT", KERNEL | HYPERVISOR, Domain.USER),
        ("io:::read_bytes", "io:::read_bytes", 0, Domain.ALL),
    ],
)
def test_modifiers(name: str, base: str, exclude: int, domain: Domain) -> None:
    found, meant = modifiers(name)
    assert (found, meant.exclude, meant.domain) == (base, exclude, domain)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cycles:uh", "no counter counts 'hu'"),
        ("cycles:kh", "no counter counts 'hk'"),
        ("cpu/event=1/pp", "precise modifier 'p'"),
        ("cpu/event=1/up", "precise modifier 'p'"),
    ],
)
def test_modifiers_that_count_nothing_are_refused(name: str, said: str) -> None:
    with pytest.raises(EventNameError, match=said) as caught:
        modifiers(name)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("base", "pmu", "terms"),
    [
        ("cpu/event=0x3c/", "cpu", (("event", "0x3c"),)),
        ("cpu/event=1,umask=2,edge/", "cpu", (("event", "1"), ("umask", "2"), ("edge", None))),
        ("armv8_pmuv3_0/cpu_cycles/", "armv8_pmuv3_0", (("cpu_cycles", None),)),
        ("cpu/ event = 1 /", "cpu", (("event ", " 1"),)),
        ("uncore_cha.3/x=/", "uncore_cha.3", (("x", ""),)),
    ],
)
def test_terms(base: str, pmu: str, terms: tuple[tuple[str, str | None], ...]) -> None:
    found = pmu_terms(base)
    assert found is not None
    assert found.pmu == pmu
    assert [(key.strip(), value) for key, value in found.terms] == [
        (key.strip(), value) for key, value in terms
    ]


@pytest.mark.parametrize("base", ["cycles", "cpu/a", "cpu/a/b", "a b/c/", "/a/", "cpu/a/b/c/"])
def test_other_names_have_no_terms(base: str) -> None:
    assert pmu_terms(base) is None


def test_empty_term_is_refused() -> None:
    with pytest.raises(EventNameError, match="empty term"):
        pmu_terms("cpu/event=1,,umask=2/")


def test_nearest_names() -> None:
    known = ["page-faults", "major-faults", "PAPI_TOT_INS", "context-switches", "L1D:REPLACEMENT"]
    assert nearest("page-fault", known)[0] == "page-faults"
    assert nearest("papi_tot_in", known) == ("PAPI_TOT_INS",)
    assert nearest("l1d:replacment", known) == ("L1D:REPLACEMENT",)
    assert nearest("something else entirely", known) == ()
    assert len(nearest("fault", [f"fault{n}" for n in range(9)])) == 3


def test_a_component_that_is_there_is_not_called_missing() -> None:
    with pytest.raises(EventNameError, match="component 'kernel' has no event of that name"):
        resolve("kernel:::page-faults")
    with pytest.raises(EventNameError, match="no component 'kernal'; did you mean kernel:::"):
        resolve("kernal:::page-faults")
