"""Which modules of Modular I/O the files of a program get: MIO_FILES, or a file in TOML.

A file in TOML has the same as the two variables of the environment:

    defaults = ["pf/cache_size=64m"]

    [[files]]
    names = ["*.dat", "result/*"]
    modules = ["trace", { name = "pf", page_size = "1m", retain = true }]
"""

from __future__ import annotations

import os
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILES, DEFAULTS = "MIO_FILES", "MIO_DEFAULTS"
"""The variables, as native/mio reads them."""
FILES_HELP = (
    "which modules of Modular I/O files get, as MIO_FILES has it, '*.dat [ pf ]'; or a file in "
    "TOML, NAME.toml, with the same"
)
_KIND = "modules"
_OTHER_MODULES = "GNOMON_MIO_MODULES"
_TOML_MOST_BYTES = 1 << 20
_NAMES, _MODULES = "names", "modules"


class ModuleFiles(NamedTuple):
    """What the two variables say.

    Attributes:
        files: which modules which files get.
        defaults: settings of modules where that says nothing.
    """

    files: str = ""
    defaults: str = ""


def named(word: str) -> ModuleFiles:
    """Return what `--files` says: the text of MIO_FILES, or the path of a file in TOML.

    Raises:
        UsageError: it makes no sense; a malformed text is shown with a caret below the place.
    """
    if word.endswith(".toml") and "[" not in word:
        return _named_in(Path(word))
    own = ModuleFiles(word, os.environ.get(DEFAULTS, ""))
    if not own.files.strip():
        raise UsageError("--files: it names no file; for example --files '*.dat [ pf ]'")
    check(own)
    return own


def _named_in(path: Path) -> ModuleFiles:
    own = _read(path)
    if not own.files:
        raise UsageError(f"--files {path}: it has no [[files]], which has names and modules")
    try:
        check(own)
    except UsageError as error:
        raise UsageError(f"--files {path}: as {error}") from error
    return own


def of_environment() -> ModuleFiles:
    """Return what the environment says, empty texts where it says nothing.

    Raises:
        UsageError: it makes no sense.
    """
    own = ModuleFiles(os.environ.get(FILES, ""), os.environ.get(DEFAULTS, ""))
    if own.files or own.defaults:
        check(own)
    return own


def check(own: ModuleFiles) -> None:
    """Check the two texts.

    Raises:
        UsageError: one makes no sense.
    """
    from gnomon.io._mio import problem

    libraries = os.environ.get(_OTHER_MODULES, "")
    said = "a NUL character" if "\0" in own.files + own.defaults else problem(*own, libraries)
    if said:
        raise UsageError(said.rstrip("\n"))


def note(folder: Path, own: ModuleFiles) -> None:
    """Leave in the staging folder that files were to have modules, for `unmatched`."""
    from gnomon.io import observer_files

    if own.files:
        observer_files.write(folder, _KIND, own._asdict())


def unmatched(folder: Path) -> str:
    """Return what to say where no file had modules that was to have some; "" for nothing."""
    from gnomon.io import observer_files

    if not any(observer_files.read(folder, _KIND)):
        return ""
    return (
        "io: no file had modules: names of files are compared as the program writes them, those "
        "that begin with / also with where the file is, and files opened as streams, or "
        "relative to another folder (openat), get none"
    )


def _read(path: Path) -> ModuleFiles:
    import tomllib

    try:
        with path.open("rb") as file:
            content = file.read(_TOML_MOST_BYTES + 1)
        if len(content) > _TOML_MOST_BYTES:
            raise UsageError(f"--files {path}: larger than {_TOML_MOST_BYTES} bytes")
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise UsageError(f"--files {path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"--files {path}: no TOML: {error}") from error
    try:
        return _of_document(document)
    except ValueError as error:
        raise UsageError(f"--files {path}: {error}") from error


def _of_document(document: Mapping[str, Any]) -> ModuleFiles:
    """Return the texts of a document.

    Raises:
        ValueError: it has something else.
    """
    _check_keys("the file", document, ("files", "defaults"))
    entries = document.get("files", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("files is no array of tables: [[files]]")
    rules = [_rule(number, entry) for number, entry in enumerate(entries, 1)]
    defaults = _list(document.get("defaults", []), "defaults")
    return ModuleFiles(" ".join(rules), " , ".join(map(_module, defaults)))


def _rule(number: int, entry: Mapping[str, Any]) -> str:
    where = f"[[files]] {number}"
    _check_keys(where, entry, (_NAMES, _MODULES))
    names = _list(entry.get(_NAMES), f"{where}: {_NAMES}")
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{where}: names is no list of texts")
    strange = next((name for name in names if set(name) & set("[]:")), None)
    if strange is not None:
        raise ValueError(f"{where}: {strange!r}: a name has no brackets or colons; * and ? match")
    modules = _list(entry.get(_MODULES), f"{where}: {_MODULES}")
    return f"{':'.join(names)} [ {' | '.join(map(_module, modules))} ]"


def _module(entry: object) -> str:
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError(f'{entry!r} is no module: "pf/retain" or {{ name = "pf", retain = true }}')
    options = [_option(name, value) for name, value in entry.items() if name != "name"]
    return "/".join([entry["name"], *filter(None, options)])


def _option(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else ""
    if isinstance(value, int):
        return f"{name}={value}"
    if isinstance(value, str):
        return f"{name}={{{value}}}"
    raise ValueError(f"{name} = {value!r} is no number, text or switch")


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no list")
    return value


def _check_keys(where: str, table: Mapping[str, Any], names: tuple[str, ...]) -> None:
    other = next((name for name in table if name not in names), None)
    if other is not None:
        raise ValueError(f"{where} has no {other}, only {' and '.join(names)}")
