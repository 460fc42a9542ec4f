"""Variables and libraries of several observers: nobody's are overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import ObserverError
from gnomon.launch.preloads import EnvironmentAdditions, variables


@pytest.fixture
def libraries(tmp_path: Path) -> tuple[str, str]:
    """Return the paths of two files."""
    paths = (tmp_path / "one.so", tmp_path / "two.so")
    for path in paths:
        path.touch()
    return str(paths[0]), str(paths[1])


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([], "{one}:{two}"),
        ([b"LD_PRELOAD="], "{one}:{two}"),
        ([b"LD_PRELOAD=libm.so.6"], "libm.so.6:{one}:{two}"),
        # As it is, whatever its separators.
        ([b"X=1", b"LD_PRELOAD=a.so b.so:c.so "], "a.so b.so:c.so :{one}:{two}"),
        ([b"LD_PRELOAD=\xff.so"], "\udcff.so:{one}:{two}"),
        ([b"NO_LD_PRELOAD=x", b"LD_PRELOAD"], "{one}:{two}"),
    ],
)
def test_the_users_own_stay_first(
    own: list[bytes], expected: str, libraries: tuple[str, str]
) -> None:
    one, two = libraries
    found = variables(
        [EnvironmentAdditions("a", {}, [one]), EnvironmentAdditions("b", {}, [two, one])], own
    )
    assert found == {"LD_PRELOAD": expected.format(one=one, two=two)}


def test_what_is_to_come_first_comes_before_the_users(libraries: tuple[str, str]) -> None:
    one, two = libraries
    additions = [EnvironmentAdditions("a", {}, [one]), EnvironmentAdditions("b", {}, [two], True)]
    assert variables(additions, [b"LD_PRELOAD=x.so"]) == {"LD_PRELOAD": f"{two}:x.so:{one}"}
    assert variables(additions, []) == {"LD_PRELOAD": f"{two}:{one}"}


def test_what_the_user_preloads_already_is_not_loaded_again(libraries: tuple[str, str]) -> None:
    one, two = libraries
    found = variables(
        [EnvironmentAdditions("a", {}, [one, two])], [f"LD_PRELOAD=x.so {two}".encode()]
    )
    assert found == {"LD_PRELOAD": f"x.so {two}:{one}"}


def test_variables_of_all_are_set() -> None:
    same = {"SHARED": "1"}
    found = variables(
        [EnvironmentAdditions("a", {"A": "1", **same}, ()), EnvironmentAdditions("b", same, ())], []
    )
    assert found == {"A": "1", "SHARED": "1"}


@pytest.mark.parametrize(
    ("additions", "said"),
    [
        (
            [EnvironmentAdditions("a", {"X": "1"}, ()), EnvironmentAdditions("b", {"X": "2"}, ())],
            "a and b: both set X, to different values; use one of them: --without b",
        ),
        ([EnvironmentAdditions("a", {"LD_PRELOAD": "x.so"}, ())], "a: sets LD_PRELOAD"),
        ([EnvironmentAdditions("a", {}, ["/a b.so"])], "its path has a space or a colon"),
        ([EnvironmentAdditions("a", {}, ["/no/such.so"])], "is not there or cannot be read"),
    ],
)
def test_what_cannot_be_is_refused(additions: list[EnvironmentAdditions], said: str) -> None:
    with pytest.raises(ObserverError, match=said):
        variables(additions, [])
