"""Tables of routines in generated wrappers: numbers and names, and what each wrapper calls."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The stub finds tools in the order in which libraries are loaded (native/wrapper_library.c).
CHAIN = """\
/* Has the wrapper of a routine call another tool's function, which calls the MPI. */
void gn_mpi_chain(const char *name, void *function);

void gn_mpi_chain(const char *name, void *function)
{
	for (int i = 1; i < GN_MPI_ROUTINES; i++) {
		if (gn_next_of[i] && !strcmp(gn_mpi_names[i], name))
			memcpy(gn_next_of[i], &function, sizeof(function));
	}
}
"""


def next_functions(wrapped: Iterable[tuple[str, str]]) -> list[str]:
    """Return pointers to what each wrapper calls: the MPI, until `CHAIN` has it otherwise.

    Args:
        wrapped: of each routine its name, and the constant of its number.
    """
    routines = tuple(wrapped)
    return [
        *(f"static __typeof__(&P{name}) gn_next_{name} = P{name};" for name, _ in routines),
        "",
        "static void *const gn_next_of[GN_MPI_ROUTINES] = {",
        *(f"\t[{number}] = &gn_next_{name}," for name, number in routines),
        "};",
        "",
    ]


def number_constants(names: Iterable[tuple[str, str]]) -> list[str]:
    """Return the constants of routines' numbers, and their names by these.

    Args:
        names: by number, each with its constant; the first, of number 0, is empty.
    """
    all_names = tuple(names)
    numbers = [
        f"\t{constant} = {number}," for number, (_, constant) in enumerate(all_names) if number
    ]
    texts = [f'\t"{name}",' for name, _ in all_names]
    return [
        "enum gn_mpi_id {",
        *numbers,
        f"\tGN_MPI_ROUTINES = {len(all_names)}, /* one more than the highest */",
        "};",
        "",
        "static const char *const gn_mpi_names[GN_MPI_ROUTINES] __attribute__((unused)) = {",
        *texts,
        "};",
        "",
    ]
