"""The code of the functions that most samples of a run are in, read where it was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple
from gnomon.store.function_code import Function, ModuleCode

if TYPE_CHECKING:
    from gnomon.store.run import Run
    from gnomon.symbols import CodeAnswer, Module

BYTES_MOST = 4 << 20
"""Of all code of a run."""
_LEAST = 0.001
_FUNCTIONS_MOST = 10_000
_ADDRESS_END = 1 << 64
# Samples in Python functions have no module of these: their code is not the function's.
_SAMPLES = """
SELECT r.module, s.address, COUNT(*)
FROM samples s JOIN paths USING (path) JOIN regions r USING (region)
WHERE s.address IS NOT NULL AND r.module IN (SELECT name FROM modules)
GROUP BY r.module, s.address ORDER BY r.module, s.address
"""


class PackedCode(NamedTuple):
    """Code of hot functions, and why that of some modules is not there."""

    modules: tuple[ModuleCode, ...]
    missing: tuple[str, ...]


class _HotFunction(NamedTuple):
    samples: int
    module: Module
    start: int
    code: bytes


def hot_code(run: Run) -> PackedCode:
    """Return the code of functions that have at least a thousandth of all samples themselves.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    from gnomon.symbols import Module, code_of

    ended = float(run.head["started"]) + float(run.head["wall_seconds"])
    modules: dict[str, set[Module]] = {}
    for name, path, build_id in run.query("SELECT name, path, build_id FROM modules"):
        modules.setdefault(str(name), set()).add(Module(str(path), str(build_id), ended))
    counts: dict[Module, dict[int, int]] = {}
    names: dict[Module, str] = {}
    ambiguous: dict[str, str] = {}
    for name, address, n in run.query(_SAMPLES):
        if len(modules[str(name)]) > 1:
            ambiguous[str(name)] = f"{name}: several modules have this name"
            continue
        (module,) = modules[str(name)]
        names[module] = str(name)
        # Addresses are kept as numbers with a sign.
        counts.setdefault(module, {})[int(address) % _ADDRESS_END] = int(n)
    ((total,),) = run.query("SELECT COUNT(*) FROM samples")
    answers, failed = code_of({module: list(by_address) for module, by_address in counts.items()})
    hot = [
        function
        for module, answer in answers.items()
        for function in _functions(module, answer, counts[module])
        if function.samples >= _LEAST * total
    ]
    kept = _kept(sorted(hot, key=lambda function: (-function.samples, *function[1:3])))
    packed = tuple(
        ModuleCode(names[module], module.path, module.build_id, answers[module].machine, functions)
        for module, functions in _named(kept).items()
    )
    return PackedCode(packed, (*failed.values(), *ambiguous.values()))


def _functions(
    module: Module, answer: CodeAnswer, counts: dict[int, int]
) -> Iterator[_HotFunction]:
    samples = [0] * len(answer.functions)
    for address, number in zip(sorted(counts), answer.function_of, strict=True):
        if number >= 0:
            samples[number] += counts[address]
    for n, function in zip(samples, answer.functions, strict=True):
        yield _HotFunction(n, module, function.start, function.code)


def _kept(hot: Sequence[_HotFunction]) -> list[_HotFunction]:
    """Return those that there is room for."""
    kept, room = [], BYTES_MOST
    for function in hot[:_FUNCTIONS_MOST]:
        if len(function.code) <= room:
            room -= len(function.code)
            kept.append(function)
    return kept


def _named(hot: Sequence[_HotFunction]) -> dict[Module, tuple[Function, ...]]:
    """Return functions by module, with the names that their first bytes have."""
    from gnomon.symbols import resolve

    by_module: dict[Module, list[_HotFunction]] = {}
    for function in hot:
        by_module.setdefault(function.module, []).append(function)
    starts = {module: [one.start for one in some] for module, some in by_module.items()}
    frames = resolve(starts).frames
    return {
        module: tuple(
            Function(
                frames[module].at(function.start)[-1].function if module in frames else "",
                function.start, function.samples, function.code,
            )
            for function in some
        )
        for module, some in by_module.items()
    }  # fmt: skip
