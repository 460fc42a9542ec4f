"""What mpi.h declares, of both MPIs and of headers that no MPI has."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import MpiError
from gnomon.mpi.header import MPICH, OPEN_MPI, Function, parse_header, read_header
from gnomon.mpi.routines import by_name

COMPILERS = (("mpicc.openmpi", OPEN_MPI), ("mpicc.mpich", MPICH))


def function(text: str) -> Function:
    header = parse_header(text, "mpicc")
    assert len(header.functions) == 1
    return next(iter(header.functions.values()))


@pytest.mark.parametrize(("compiler", "family"), COMPILERS)
def test_both_headers_are_understood(compiler: str, family: str) -> None:
    if shutil.which(compiler) is None:
        pytest.fail(f"{compiler} is not installed: run `make setup`")

    header = read_header(compiler)

    assert header.family == family
    assert len(header.functions) > 400
    send = header.functions["MPI_Send"]
    assert send.result == "int"
    assert send.parameter_list == (
        "const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm"
    )
    assert header.functions["MPI_Wtime"].result == "double"
    assert header.functions["MPI_Wtime"].parameter_list == "void"
    assert header.functions["MPI_Pcontrol"].is_variadic
    ranges = header.functions["MPI_Group_range_incl"].arguments[2]
    assert ranges == ("ranges", "int ranges[][3]")
    # The same again gives the same digest.
    assert read_header([compiler]).digest == header.digest


@pytest.mark.parametrize("compiler", [compiler for compiler, _ in COMPILERS])
def test_each_function_has_as_many_parameters_as_the_standard_says(compiler: str) -> None:
    different = [
        it.name
        for it in read_header(compiler).functions.values()
        if it.name in by_name()
        and by_name()[it.name].is_known
        and len(by_name()[it.name].parameters) != len(it.arguments) + it.is_variadic
    ]

    assert different == []


@pytest.mark.parametrize(
    ("declared", "parameters"),
    [
        ("int PMPI_X(void);", "void"),
        ("int PMPI_X();", "void"),
        ("int PMPI_X(int);", "int argument1"),
        ("int PMPI_X(const void *, unsigned long long int);",
         "const void *argument1, unsigned long long int argument2"),
        ("int PMPI_X(MPI_Comm, MPI_Comm *c);", "MPI_Comm argument1, MPI_Comm *c"),
        ("int PMPI_X(const MPI_Datatype[], int n[][3]);",
         "const MPI_Datatype argument1[], int n[][3]"),
        ("int PMPI_X(struct s, struct s *p, enum e const q);",
         "struct s argument1, struct s *p, enum e const q"),
        ("int PMPI_X(int (*f)(int, void *), int (*)(int), void g(int a));",
         "int (*f)(int, void *), int (*argument2)(int), void g (int a)"),
        ("int PMPI_X(char *const *restrict argv, ...);", "char *const *restrict argv, ..."),
        ("int PMPI_X(int a __attribute__((unused)), unsigned);", "int a, unsigned argument2"),
        ("extern __attribute__((visibility(\"default\"))) int PMPI_X(int a)"
         " __asm__(\"x\") __attribute__((deprecated(\"use )(\")));", "int a"),
        ("_Static_assert(sizeof(int) == 4, \"int\"); int PMPI_X(int a);", "int a"),
        ("static inline int f(int x) { if (x) { return PMPI_Y(x); } return 0; } int PMPI_X(int a);",
         "int a"),
        ("typedef struct { int (*PMPI_f)(int); } t; enum { A = ';' }; int PMPI_X(t a);", "t a"),
        ("# 1 \"mpi.h\"\n/* int PMPI_C(int); */ int PMPI_X(int a); // ; PMPI_D(", "int a"),
    ],
)  # fmt: skip
def test_prototypes_of_all_forms(declared: str, parameters: str) -> None:
    assert function(declared).parameter_list == parameters


@pytest.mark.parametrize(
    ("declared", "result"),
    [
        ("double PMPI_X(void);", "double"),
        ("const char *PMPI_X(void);", "const char *"),
        ("extern struct s *PMPI_X(int a);", "struct s *"),
        ("MPI_Comm PMPI_X(int a);", "MPI_Comm"),
    ],
)
def test_functions_keep_their_type(declared: str, result: str) -> None:
    assert function(declared).result == result


def test_functions_without_a_profiling_twin_are_named() -> None:
    header = parse_header(
        "int MPI_A(int); int PMPI_B(int); int MPI_B(int); int other(int);", "mpicc"
    )

    assert list(header.functions) == ["MPI_B"]
    assert header.unprofiled == ("MPI_A",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "mpi.h declares no function PMPI_..."),
        ("int main(void) { return 0; }", "mpi.h declares no function PMPI_..."),
        ("int PMPI_X(int a;", "it ends within a declaration"),
        ("int PMPI_X(int a));", "a ) too many after: int PMPI_X ( int a"),
        ("int PMPI_X(int a)", "it ends within a declaration (int PMPI_X ( int a ) ...)"),
        ("PMPI_X(int a);", "PMPI_X has no type"),
        ("int PMPI_X(int a,);", "PMPI_X: parameter 2 is empty"),
        ("int PMPI_X(3);", "PMPI_X: parameter '3'"),
        ("int PMPI_X(*);", "PMPI_X: parameter '*' has no type"),
    ],
)
def test_what_is_not_understood_is_said(text: str, problem: str) -> None:
    with pytest.raises(MpiError) as caught:
        parse_header(text, "mpicc")

    assert problem in str(caught.value)
    assert str(caught.value).startswith("mpicc: mpi.h ")


@given(st.text("PMPI_X int(){}[];,*.\"'/\n#a3", max_size=60))
def test_no_header_is_anything_but_understood_or_refused(text: str) -> None:
    with contextlib.suppress(MpiError):
        assert parse_header(text, "mpicc").functions


def test_a_compiler_that_there_is_not() -> None:
    with pytest.raises(MpiError, match=r"no-mpicc: cannot be started: .*; install the MPI's"):
        read_header("no-mpicc")


def test_a_compiler_that_knows_no_mpi(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'mpi.h: No such file or directory' >&2\nexit 1\n")
    compiler.chmod(0o755)

    with pytest.raises(MpiError, match=r"\(status 1\): mpi.h: No such file or directory; it has"):
        read_header(str(compiler))
