"""Which modules files get, as a text or in TOML: what makes no sense is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import UsageError
from gnomon.io._mio import problem, rule_of
from gnomon.io.module_files import ModuleFiles, named, of_environment


def written(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "files.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_toml_has_what_the_variables_have(tmp_path: Path) -> None:
    word = written(tmp_path, """
        defaults = ["pf/cache_size=64m", { name = "trace", stats = "a/b" }]
        [[files]]
        names = ["*.dat", "result/*"]
        modules = ["trace", { name = "pf", page_size = "1m", prefetch = 2, retain = true, release = false }]
        [[files]]
        names = ["**"]
        modules = []
    """)  # fmt: skip # noqa: E501
    assert named(word) == ModuleFiles(
        "*.dat:result/* [ trace | pf/page_size={1m}/prefetch=2/retain ] ** [  ]",
        "pf/cache_size=64m , trace/stats={a/b}",
    )


def test_a_text_has_the_defaults_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIO_DEFAULTS", "pf/cache_size=1m")
    assert named("*.dat [ pf ]") == ModuleFiles("*.dat [ pf ]", "pf/cache_size=1m")
    monkeypatch.setenv("MIO_FILES", "*.log [ wb ]")
    assert of_environment() == ModuleFiles("*.log [ wb ]", "pf/cache_size=1m")


def test_libraries_that_cannot_be_loaded_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_MIO_MODULES", "/there/libmine.so")
    with pytest.raises(UsageError, match=r"GNOMON_MIO_MODULES: cannot load: /there/libmine\.so"):
        named("*.dat [ mine ]")


def test_defaults_of_the_environment_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIO_DEFAULTS", "pf/nosuch")
    with pytest.raises(UsageError, match="MIO_DEFAULTS: pf has no option 'nosuch'"):
        of_environment()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"files\.toml: it has no \[\[files\]\]"),
        ("defaults = ['pf/retain']", r"files\.toml: it has no \[\[files\]\]"),
        ("a = 1", "the file has no a, only files and defaults"),
        ("files = 1", r"files is no array of tables: \[\[files\]\]"),
        ("files = [1]", r"files is no array of tables"),
        ("defaults = 1", "defaults is no list"),
        ("[[files]]\nname = ['a']", r"\[\[files\]\] 1 has no name, only names and modules"),
        ("[[files]]\nmodules = []", r"\[\[files\]\] 1: names is no list"),
        ("[[files]]\nnames = [1]\nmodules = []", "names is no list of texts"),
        ("[[files]]\nnames = ['*.[ab]']\nmodules = []", "a name has no brackets or colons"),
        ("[[files]]\nnames = ['a']", r"\[\[files\]\] 1: modules is no list"),
        ("[[files]]\nnames = ['a']\nmodules = [1]", "1 is no module"),
        ("[[files]]\nnames = ['a']\nmodules = [{}]", "is no module"),
        ("[[files]]\nnames = ['a']\nmodules = [{name='pf', x=1.5}]", "x = 1.5 is no number"),
        (
            "[[files]]\nnames = ['a']\nmodules = ['pg']",
            r"files\.toml: as MIO_FILES: there is no module 'pg'",
        ),
        ("defaults = ['pf/x']\n[[files]]\nnames = ['a']\nmodules = []", "MIO_DEFAULTS: pf has no"),
        ('[[files]]\nnames = ["a\\u0000"]\nmodules = []', "a NUL character"),
        ("[", "no TOML"),
        (b"\xff", "no TOML"),
        ("#" * (1 << 20) + "\n", "larger than 1048576 bytes"),
        ("a = " + "[" * 100_000, "no TOML"),
    ],
)
def test_toml_that_makes_no_sense_is_refused(
    text: str | bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        named(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--files .*none\.toml: No such file or directory"):
        named(str(tmp_path / "none.toml"))


def test_the_place_is_shown() -> None:
    assert problem("*.d [ pf/cache_size=1 ]", "", "").splitlines()[1:] == [
        "  *.d [ pf/cache_size=1 ]",
        "                      ^",
    ]
    assert problem("*.d [ pf ]", "", "") == ""


def test_a_path_gets_its_first_rule() -> None:
    assert rule_of("*.d [ pf ] ** [ wb ]", "x/a.d") == ("*.d", "[ pf ]")
    assert rule_of("*.d [ pf ] x/** [ wb ]", "x/a.e") == ("x/**", "[ wb ]")
    assert rule_of("*.d [ pf ]", "x/a.e") is None
    with pytest.raises(ValueError, match="MIO_FILES: "):
        rule_of("*.d [ pf", "a")
