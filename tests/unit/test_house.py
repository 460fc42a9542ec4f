"""How the house writes: lengths, names, who prints, what the core never does.

Each rule is a function of a tree of files to a list of problems, so that it can be tried on a tree
made to break it. What the rules are for stands in docs/style.md.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "gnomon"
NATIVE = ROOT / "native"
LENGTH_LIMIT = {".py": 450, ".c": 800, ".h": 800}
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "misc", "common"}
PRINTS_OR_EXITS = {"print", "exit", "quit", "sys.exit", "sys.stdout.write", "sys.stderr.write"}
CORE_FORBIDS = re.compile(
    r"\b(malloc|calloc|realloc|free|strdup|asprintf|vasprintf|aligned_alloc|posix_memalign"
    r"|printf|fprintf|vfprintf|vprintf|dprintf|puts|fputs|putchar|perror"
    r"|fopen|fdopen|fclose|fread|fwrite|fflush|fgets|fscanf|getline|FILE|stdout|stderr"
    r"|pthread_mutex\w*|pthread_rwlock\w*|pthread_cond\w*|sem_wait)\b"
)
MACHINE_PATHS = re.compile(r"(?<![\w.}/~-])/(?:home|root|work|Users)/[\w.]")
REGISTRIES = re.compile(
    r"\b(?:pypi\.org|pythonhosted\.org|(?:deb|snapshot|archive|security)\.debian\.org"
    r"|(?:archive|security|ports)\.ubuntu\.com|registry\.npmjs\.org|nodesource\.com)\b"
)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    return iter(enumerate(path.read_text().splitlines(), start=1))


def python_files(root: Path) -> list[Path]:
    folders = ("src", "tests", "benchmarks", "examples", "docs", "packaging")
    found = [path for folder in folders for path in (root / folder).rglob("*.py")]
    return sorted([*found, *root.glob("*.py")])


def native_files(root: Path) -> list[Path]:
    folders = ("native", "tests", "benchmarks", "examples")
    return sorted(path for folder in folders for path in (root / folder).rglob("*.[ch]"))


def length_problems(root: Path) -> list[str]:
    problems = []
    for path in [*python_files(root), *native_files(root)]:
        lines = len(path.read_bytes().splitlines())
        limit = LENGTH_LIMIT[path.suffix]
        if lines > limit:
            problems.append(f"{path.relative_to(root)}: {lines} lines, {limit} are the limit")
    return problems


def name_problems(root: Path) -> list[str]:
    files = [*python_files(root), *native_files(root)]
    return [
        f"{path.relative_to(root)}: says nothing about what is in it"
        for path in files
        if VAGUE_NAMES & {part.removesuffix(path.suffix) for part in path.relative_to(root).parts}
    ]


def output_problems(package: Path) -> list[str]:
    """Only cli prints or exits."""
    problems = []
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] in ("cli", "__main__.py"):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.Call | ast.Raise):
                continue
            found = None
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in PRINTS_OR_EXITS:
                    found = called
            elif node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                found = "SystemExit" if ast.unparse(raised) == "SystemExit" else None
            if found:
                problems.append(f"{path.relative_to(package)}:{node.lineno}: {found}")
    return problems


def statement_problems(root: Path) -> list[str]:
    """No bare `except:`, and postponed annotations wherever there could be annotations."""
    problems = []
    for path in python_files(root):
        tree = ast.parse(path.read_bytes())
        postponed = False
        annotates = False
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                problems.append(f"{path.relative_to(root)}:{node.lineno}: bare except")
            elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
                postponed |= any(alias.name == "annotations" for alias in node.names)
            elif isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.AnnAssign
            ):
                annotates = True
        if annotates and not postponed:
            problems.append(f"{path.relative_to(root)}: no `from __future__ import annotations`")
    return problems


def without_comments(source: str) -> str:
    """Return C source with comments, strings and characters blanked, lines kept."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: "\n" * m[0].count("\n") or " ", source, flags=re.DOTALL)


def core_problems(root: Path) -> list[str]:
    """The core runs inside measured programs: it never allocates, locks or uses stdio."""
    return [
        f"{path.relative_to(root)}:{line}: {match[0]}"
        for path in sorted((root / "native" / "core").rglob("*.[ch]"))
        for line, text in enumerate(without_comments(path.read_text()).splitlines(), start=1)
        for match in CORE_FORBIDS.finditer(text)
    ]


def committed_files(root: Path) -> list[Path]:
    """Return what git tracks or would track; where there is no git, everything."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "-c", "-o", "--exclude-standard"]
    try:
        names = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        skipped = {".git", ".venv", "build", "site", "__pycache__"}
        return [p for p in root.rglob("*") if p.is_file() and not skipped & {*p.parts}]
    return [
        path for name in names.split(b"\0") if name and (path := root / os.fsdecode(name)).is_file()
    ]


def place_problems(root: Path, files: list[Path]) -> list[str]:
    """Nothing that is committed names a machine's own folders or a package registry."""
    problems = []
    for path in files:
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, start=1):
            for match in (MACHINE_PATHS.search(line), REGISTRIES.search(line)):
                if match:
                    problems.append(f"{path.relative_to(root)}:{number}: {match[0]}")
    return problems


def native_problems(native: Path) -> list[str]:
    """`native/` knows no Python, apart from the extension in native/python."""
    return [
        f"{path.relative_to(native)}:{line}: includes Python.h"
        for path in sorted(native.rglob("*.[ch]"))
        if path.relative_to(native).parts[0] != "python"
        for line, text in numbered_lines(path)
        if re.match(r"\s*#\s*include\s*[<\"]Python\.h", text)
    ]


RULES: dict[str, Callable[[], list[str]]] = {
    "native": lambda: native_problems(NATIVE),
    "length": lambda: length_problems(ROOT),
    "names": lambda: name_problems(ROOT),
    "output": lambda: output_problems(PACKAGE),
    "statements": lambda: statement_problems(ROOT),
    "core": lambda: core_problems(ROOT),
    "places": lambda: place_problems(ROOT, committed_files(ROOT)),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule_is_kept(rule: str) -> None:
    assert RULES[rule]() == []


# --- each rule finds what breaks it ---------------------------------------------------------------


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_broken_style_is_found(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "src/gnomon/long.py": "x = 1\n" * 451,
            "native/core/long.c": "\n" * 801,
            "src/gnomon/hpm/utils.py": "",
            "native/python/misc/x.c": "",
            "src/gnomon/loud.py": "print()\nraise SystemExit(1)\nsys.exit()\nraise SystemExit\n",
            "src/gnomon/cli/fine.py": "print()\nraise SystemExit(1)\n",
            "tests/bare.py": "try:\n    pass\nexcept:\n    pass\n",
            "src/gnomon/unpostponed.py": "def f() -> None: ...\n",
            "src/gnomon/postponed.py": "from __future__ import annotations\ndef f(): ...\n",
            "native/hpm/py.c": "#  include <Python.h>\n",
            "native/python/py.c": "#include <Python.h>\n",
            "native/core/bad.c": "/* malloc\n free */\nvoid *f(void)\n{\n\treturn malloc(8);\n}\n",
            "native/core/good.c": '// printf\nchar *s = "free";\nint freedom, my_malloc;\n',
            "native/python/free.c": "free(p);\n",
        },
    )
    assert [problem.split(":")[0] for problem in length_problems(root)] == [
        "src/gnomon/long.py",
        "native/core/long.c",
    ]
    assert [problem.split(":")[0] for problem in name_problems(root)] == [
        "src/gnomon/hpm/utils.py",
        "native/python/misc/x.c",
    ]
    assert sorted(output_problems(root / "src" / "gnomon")) == [
        "loud.py:1: print",
        "loud.py:2: SystemExit",
        "loud.py:3: sys.exit",
        "loud.py:4: SystemExit",
    ]
    assert statement_problems(root) == [
        "src/gnomon/unpostponed.py: no `from __future__ import annotations`",
        "tests/bare.py:3: bare except",
    ]
    assert native_problems(root / "native") == ["hpm/py.c:1: includes Python.h"]
    assert core_problems(root) == ["native/core/bad.c:5: malloc"]


@pytest.mark.parametrize(
    "line",
    [
        "see " + "/ho" + "me/ada/gnomon",
        "cd /wo" + "rk/main",
        "ls '/ro" + "ot/.cache'",
        "URL = 'https://py" + "pi.org/simple'",
        "deb http://deb.deb" + "ian.org/debian bookworm main",
    ],
)
def test_a_named_place_is_found(tmp_path: Path, line: str) -> None:
    assert len(place_problems(tmp_path, [*plant(tmp_path, {"a.md": line}).iterdir()])) == 1


@pytest.mark.parametrize(
    "line",
    [
        "$HOME/ho" + "me/x",
        "a/ho" + "me/x",
        "/ho" + "mework/x",
        "~/wo" + "rk/x",
        "the /ho" + "me folder",
        "/proc/1/ro" + "ot/x",
    ],
)
def test_other_paths_may_be_named(tmp_path: Path, line: str) -> None:
    assert place_problems(tmp_path, [*plant(tmp_path, {"a.md": line}).iterdir()]) == []
