"""What an MPI's own `mpi.h` declares: its profiling interface, as its compiler sees it.

The header goes through the user's compiler (`mpicc -E -P`), so that what counts is what a program
would get. Of the result only declarations at file level are looked at: everything within braces,
attributes and assembler names is skipped, and a declaration that is no function is none of ours.
"""

from __future__ import annotations

import re
from itertools import pairwise

from gnomon.errors import MpiError
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# Which MPI it is, only macros say.
SOURCE = """#include <mpi.h>
#if defined(OPEN_MPI)
extern int gnomon_mpi_is_open_mpi;
#elif defined(MPICH_VERSION)
extern int gnomon_mpi_is_mpich;
#endif
"""
OPEN_MPI = "Open MPI"
MPICH = "MPICH"
_FAMILIES = {"gnomon_mpi_is_open_mpi": OPEN_MPI, "gnomon_mpi_is_mpich": MPICH}

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|//[^\n]*|/\*.*?\*/
    |(?P<token>[A-Za-z_$][\w$]*|\.\.\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\.?\d[\w.]*|\S)""",
    re.VERBOSE | re.DOTALL,
)
_OPEN = {"(": ")", "[": "]", "{": "}"}
_FUNCTION = re.compile(r"P?MPIX?_[A-Z]\w*")
_WITH_PARENTHESES = {
    "__attribute__", "__attribute", "__declspec", "__asm__", "__asm", "asm", "_Alignas",
    "_Static_assert", "static_assert",
}  # fmt: skip
_DROPPED = {"extern", "__extension__", "static", "inline", "__inline", "__inline__", "_Noreturn"}
_QUALIFIERS = {"const", "volatile", "restrict", "__restrict", "__restrict__", "__const", "register"}
_TYPE_WORDS = {
    "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool",
    "_Complex", "__int128", "__signed__",
}  # fmt: skip
_TAGS = {"struct", "union", "enum"}
_LONGEST_EXCERPT = 200


class Argument(NamedTuple):
    """A parameter of a function.

    Attributes:
        name: its name, made up where the header has none.
        declaration: the whole of it with that name.
    """

    name: str
    declaration: str


class Function(NamedTuple):
    """A function of the profiling interface.

    Attributes:
        name: without the leading P, as programs call it.
        result: the type that it returns.
        arguments: its parameters, () for none.
        is_variadic: others may follow.
    """

    name: str
    result: str
    arguments: tuple[Argument, ...]
    is_variadic: bool

    @property
    def parameter_list(self) -> str:
        """The text between the parentheses of its definition."""
        texts = [argument.declaration for argument in self.arguments]
        return ", ".join([*texts, "..."] if self.is_variadic else texts) or "void"


class Header(NamedTuple):
    """What a header declares.

    Attributes:
        compiler: the command that read it.
        functions: those with a PMPI_ name, by their names without the P, in alphabetical order.
        unprofiled: names of functions MPI_... without a PMPI_ of the same name.
        digest: SHA-256 of the preprocessed header, in hexadecimal digits.
        family: `Open MPI` or `MPICH`, whose kin say so, too; "" for any other.
    """

    compiler: str
    functions: Mapping[str, Function]
    unprofiled: tuple[str, ...]
    digest: str
    family: str


def read_header(compiler: str | Sequence[str] = "mpicc") -> Header:
    """Return what `mpi.h` declares for a compiler.

    Args:
        compiler: the command, with options if it is a sequence.

    Raises:
        MpiError: there is no such compiler, it finds no usable `mpi.h`, or what comes of that makes
            no sense.
    """
    import subprocess
    import tempfile
    from pathlib import Path

    command = [compiler] if isinstance(compiler, str) else list(compiler)
    name = " ".join(command)
    with tempfile.TemporaryDirectory(prefix="gnomon-mpi-") as folder:
        # Not from the standard input: Open MPI's wrapper takes "-" for no source at all.
        source = Path(folder) / "header.c"
        source.write_text(SOURCE)
        try:
            done = subprocess.run(
                [*command, "-E", "-P", str(source)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise MpiError(
                f"{name}: cannot be started: {error.strerror}; install the MPI's compiler wrapper "
                "(mpicc), or put it on PATH"
            ) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[:_LONGEST_EXCERPT]
        raise MpiError(
            f"{name}: cannot preprocess <mpi.h> (status {done.returncode}): {said}; "
            "it has to be the compiler wrapper of the MPI that the program uses"
        )
    return parse_header(done.stdout.decode(errors="replace"), name)


def parse_header(text: str, compiler: str) -> Header:
    """Return what a preprocessed header declares.

    Raises:
        MpiError: brackets that do not match, a prototype that cannot be understood, or nothing of
            the profiling interface in it.
    """
    import hashlib

    functions: dict[str, Function] = {}
    names: set[str] = set()
    try:
        for declaration in _declarations(_tokens(text)):
            function = _function(declaration)
            if function and function.name.startswith("P"):
                functions.setdefault(function.name[1:], function._replace(name=function.name[1:]))
            elif function:
                names.add(function.name)
    except _SyntaxError as problem:
        raise MpiError(f"{compiler}: mpi.h is not understood: {problem}") from None
    if not functions:
        raise MpiError(
            f"{compiler}: mpi.h declares no function PMPI_...; "
            "it has to be the header of an MPI that has the profiling interface"
        )
    return Header(
        compiler,
        dict(sorted(functions.items())),
        tuple(sorted(names - set(functions))),
        hashlib.sha256(text.encode()).hexdigest(),
        next((family for marker, family in _FAMILIES.items() if marker in text), ""),
    )


class _SyntaxError(Exception):
    """Something that C does not allow."""


def _excerpt(tokens: Iterable[str]) -> str:
    return " ".join(tokens)[:_LONGEST_EXCERPT]


def _tokens(text: str) -> list[str]:
    return [match["token"] for match in _TOKEN.finditer(text) if match["token"]]


def _declarations(tokens: list[str]) -> Iterator[list[str]]:
    """Yield what stands between semicolons or bodies at file level, without what is in braces."""
    declaration: list[str] = []
    closing: list[str] = []
    for token in tokens:
        if token in _OPEN:
            closing.append(_OPEN[token])
        elif token in _OPEN.values():
            if not closing or closing.pop() != token:
                raise _SyntaxError(f"a {token} too many after: {_excerpt(declaration[-8:])}")
            if token == "}":
                if not closing and _has_parameters(declaration):
                    declaration = []  # a function's body
                continue
        if "}" in closing:
            continue
        if token == ";" and not closing:
            yield declaration
            declaration = []
        else:
            declaration.append(token)
    if closing or declaration:
        rest = _excerpt(declaration[:8])
        raise _SyntaxError(f"it ends within a declaration ({rest} ...)")


def _has_parameters(declaration: Sequence[str]) -> bool:
    plain = _plain(declaration)
    return bool(plain) and plain[-1] == ")" and plain[0] != "typedef"


def _plain(tokens: Sequence[str]) -> list[str]:
    """Return tokens without attributes, assembler names and what does not concern a wrapper."""
    kept: list[str] = []
    position = 0
    while position < len(tokens):
        if tokens[position] in _WITH_PARENTHESES:
            position += 1
            if position < len(tokens) and tokens[position] == "(":
                position = _end_of_group(tokens, position)
            continue
        if tokens[position] not in _DROPPED:
            kept.append(tokens[position])
        position += 1
    return kept


def _end_of_group(tokens: Sequence[str], start: int) -> int:
    """Return the position behind the bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(tokens)):
        depth += (tokens[position] in _OPEN) - (tokens[position] in _OPEN.values())
        if not depth:
            return position + 1
    raise _SyntaxError(f"a bracket is not closed: {_excerpt(tokens[start:])}")


def _function(declaration: Sequence[str]) -> Function | None:
    """Return the function of MPI that is declared; None for anything else."""
    tokens = _plain(declaration)
    if not tokens or tokens[0] == "typedef":
        return None
    for position, (token, following) in enumerate(pairwise(tokens)):
        if following == "(":
            # No header writes `int (MPI_Send)(...)`; a pointer to a function is a variable.
            if not _FUNCTION.fullmatch(token):
                return None
            if _end_of_group(tokens, position + 1) != len(tokens):
                return None
            inner = tokens[position + 2 : -1]
            result = _joined(tokens[:position])
            if not result:
                raise _SyntaxError(f"{token} has no type: {_excerpt(tokens)}")
            return Function(token, result, *_arguments(token, inner))
    return None


def _arguments(function: str, tokens: Sequence[str]) -> tuple[tuple[Argument, ...], bool]:
    parts = list(_split(tokens))
    if parts in ([], [["void"]]):
        return (), False
    is_variadic = parts[-1] == ["..."]
    parts = parts[:-1] if is_variadic else parts
    arguments = []
    for number, part in enumerate(parts, start=1):
        if not part:
            raise _SyntaxError(f"{function}: parameter {number} is empty")
        arguments.append(_argument(function, number, part))
    return tuple(arguments), is_variadic


def _split(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield what commas separate that are in no brackets."""
    part: list[str] = []
    depth = 0
    for token in tokens:
        depth += (token in _OPEN) - (token in _OPEN.values())
        if token == "," and not depth:
            yield part
            part = []
        else:
            part.append(token)
    if tokens:
        yield part


def _argument(function: str, number: int, tokens: list[str]) -> Argument:
    """Return a parameter, with a name of its own where the header gives none."""
    position, is_name = _declarator(function, tokens)
    if is_name:
        return Argument(tokens[position], _joined(tokens))
    name = f"argument{number}"
    return Argument(name, _joined([*tokens[:position], name, *tokens[position:]]))


def _declarator(function: str, tokens: Sequence[str]) -> tuple[int, bool]:
    """Return where a parameter's name is, or would have to be (False)."""
    has_type = False
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in _TAGS:
            position += 1  # the tag is no name
            has_type = True
        elif token in _TYPE_WORDS:
            has_type = True
        elif token == "(" and has_type:
            inner = position + 1
            while inner < len(tokens) and tokens[inner] in {"*", *_QUALIFIERS}:
                inner += 1
            if inner < len(tokens) and tokens[inner].isidentifier():
                return inner, True
            return inner, False
        elif token == "[":
            return position, False
        elif token.isidentifier() and token not in _QUALIFIERS:
            if has_type:
                return position, True
            has_type = True
        elif token not in _QUALIFIERS and token != "*":
            raise _SyntaxError(f"{function}: parameter '{_excerpt(tokens)}'")
        position += 1
    if not has_type:
        raise _SyntaxError(f"{function}: parameter '{_excerpt(tokens)}' has no type")
    return len(tokens), False


def _joined(tokens: Sequence[str]) -> str:
    """Return tokens as text, with blanks as people write them."""
    text = ""
    for before, token in pairwise(["", *tokens]):
        tight = before in ("", "(", "[", "*") or token in (")", "]", "[", ",", "(")
        text += token if tight and not (token == "(" and before.isidentifier()) else f" {token}"
    return text.strip()
