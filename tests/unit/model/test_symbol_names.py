"""Long names of functions are shortened where they say least; parts become functions by a rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.model.inlining import FunctionFragment, defining_files
from gnomon.model.symbol_names import is_template, namespace, short_name

SORT = (
    "void std::__introsort_loop<__gnu_cxx::__normal_iterator<long*, std::vector<long> >, "
    "__gnu_cxx::__ops::_Iter_comp_iter<main::{lambda(long, long)#1}> >(long*, long)"
)
SYSTEM = "/usr/include/c++/12/bits/stl_algo.h"


@pytest.mark.parametrize(
    ("name", "width", "short"),
    [
        (SORT, 200, SORT),
        (SORT, 110, "void std::__introsort_loop<__gnu_cxx::__normal_iterator<…>, "
                    "__gnu_cxx::__ops::_Iter_comp_iter<…> >(…)"),
        (SORT, 40, "void std::__introsort_loop<…>(…)"),
        (SORT, 30, "std::__introsort_loop<…>(…)"),
        (SORT, 21, "std::__introsort_loop"),
        (SORT, 19, "…::__introsort_loop"),
        ("other(long, long)", 12, "other(…)"),
        ("main::{lambda(long, long)#1}::operator()(long) const", 45,
         "main::{lambda(…)#1}::operator()(…) const"),
        ("std::ostream& operator<< <char>(std::basic_ostream<char>&)", 25,
         "operator<< <char>(…)"),
        ("std::_Tree<int>::_M_copy(int) [clone .isra.0]", 36, "std::_Tree<int>::_M_copy(int)"),
        ("a_name_in_c_of_many_words", 11, "a_nam…words"),
        ("a<b_that_is_not_closed", 11, "a<b_t…losed"),
    ],
)  # fmt: skip
def test_names_are_shortened_from_the_inside(name: str, width: int, short: str) -> None:
    assert short_name(name, width) == short


@given(st.text(alphabet="ab<>(){}[]:, *&~operator", max_size=80), st.integers(1, 60))
@examples(500)
def test_no_name_is_too_long_or_breaks(name: str, width: int) -> None:
    assert len(short_name(name, width)) <= width
    assert isinstance(is_template(name), bool)
    assert isinstance(namespace(name), str)


def test_a_name_of_brackets_alone_does_no_harm() -> None:
    for name in ("<" * 50_000, "(" * 50_000 + ")" * 50_000, "<(" * 99 + ")>" * 99):
        assert len(short_name(name, 40)) <= 40


def home(*parts: tuple[str, str, float], program: str = "app") -> dict[tuple[str, str], str]:
    found = defining_files(
        {FunctionFragment(program, function, file): much for function, file, much in parts}
    )
    return {(part.function, part.file): file for part, file in found.items()}


def test_code_from_headers_is_part_of_its_function() -> None:
    found = home(("main", "m.cpp", 1), ("main", SYSTEM, 90), ("main", "a.h", 5), ("main", "", 2))
    assert set(found.values()) == {"m.cpp"}


def test_python_functions_of_one_name_stay_apart() -> None:
    files = ("app.py", "<frozen site>", "<string>", "/usr/bin/tool")
    found = home(*(("main", file, 1) for file in files), program="python")
    assert found == {("main", file): file for file in files}
    # An interpreter whose own file has that name, with inlined code.
    found = home(("main", "python.c", 1), ("main", "x.h", 9), program="python")
    assert set(found.values()) == {"python.c"}


def test_hidden_functions_of_one_name_stay_apart() -> None:
    found = home(("helper", "a.c", 5), ("helper", "b.c", 1), ("helper", "x.h", 9))
    assert found == {
        ("helper", "a.c"): "a.c", ("helper", "b.c"): "b.c", ("helper", "x.h"): "x.h",
    }  # fmt: skip


def test_main_is_one_function_whatever_the_optimiser_put_into_it() -> None:
    assert set(home(("main", "m.c", 5), ("main", "other.c", 9)).values()) == {"other.c"}


def test_functions_of_languages_with_whole_names_are_one() -> None:
    found = home(("app::run", "/src/run.rs", 5), ("app::run", "/rustc/1a/library/core/x.rs", 9))
    assert set(found.values()) == {"/src/run.rs"}
    found = home(("__m_MOD_f", "m.f90", 5), ("__m_MOD_f", "n.F90", 1))
    assert set(found.values()) == {"m.f90"}


def test_templates_stand_where_most_of_them_is() -> None:
    found = home(("std::sort<int>(int)", SYSTEM, 1), ("std::sort<int>(int)", "m.cpp", 9))
    assert set(found.values()) == {SYSTEM}
    name = "long Table<int>::sum<main::{lambda(int)#1}>(int) const"
    found = home((name, "table.h", 9), (name, "m.cpp", 1), (name, SYSTEM, 50))
    assert set(found.values()) == {"table.h"}


def test_unknown_functions_and_programs_stay_apart() -> None:
    assert home(("", "a.c", 1), ("", "b.h", 2)) == {("", "a.c"): "a.c", ("", "b.h"): "b.h"}
    parts = {
        FunctionFragment("ls", "main", "ls.c"): 1.0,
        FunctionFragment("cat", "main", "x.h"): 2.0,
    }
    assert defining_files(parts) == {part: part.file for part in parts}
