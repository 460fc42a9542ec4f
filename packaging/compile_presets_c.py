"""Write the shipped presets as a table in C; the build of libgnomon calls it.

    compile_presets_c.py OUT.c DATA.toml...

The files are those of src/gnomon/counters/presets/data, which Python reads as they are; the reader
there (`counters/presets/toml.py`) is the one that checks them with care. The table holds no
pointers, so that loading the library relocates nothing: texts are offsets into one long string.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

_MEANINGS, _GENERIC = "meanings", "generic"
_UNKNOWN = "no event of this PMU is known to have this meaning"
_OPERATORS = {"+": "GN_OP_ADD", "-": "GN_OP_SUBTRACT", "*": "GN_OP_MULTIPLY", "/": "GN_OP_DIVIDE"}
_SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

# PAPI's numbers of its presets (enum in papiStdEventDefs.h); those that came later follow.
_NUMBERED = """
L1_DCM L1_ICM L2_DCM L2_ICM L3_DCM L3_ICM L1_TCM L2_TCM L3_TCM CA_SNP CA_SHR CA_CLN CA_INV CA_ITV
L3_LDM L3_STM BRU_IDL FXU_IDL FPU_IDL LSU_IDL TLB_DM TLB_IM TLB_TL L1_LDM L1_STM L2_LDM L2_STM
BTAC_M PRF_DM L3_DCH TLB_SD CSR_FAL CSR_SUC CSR_TOT MEM_SCY MEM_RCY MEM_WCY STL_ICY FUL_ICY STL_CCY
FUL_CCY HW_INT BR_UCN BR_CN BR_TKN BR_NTK BR_MSP BR_PRC FMA_INS TOT_IIS TOT_INS INT_INS FP_INS
LD_INS SR_INS BR_INS VEC_INS RES_STL FP_STAL TOT_CYC LST_INS SYC_INS L1_DCH L2_DCH L1_DCA L2_DCA
L3_DCA L1_DCR L2_DCR L3_DCR L1_DCW L2_DCW L3_DCW L1_ICH L2_ICH L3_ICH L1_ICA L2_ICA L3_ICA L1_ICR
L2_ICR L3_ICR L1_ICW L2_ICW L3_ICW L1_TCH L2_TCH L3_TCH L1_TCA L2_TCA L3_TCA L1_TCR L2_TCR L3_TCR
L1_TCW L2_TCW L3_TCW FML_INS FAD_INS FDV_INS FSQ_INS FNV_INS FP_OPS SP_OPS DP_OPS VEC_SP VEC_DP
REF_CYC
"""


class Row(NamedTuple):
    """One preset of one family: the members of struct gn_preset_row that are not texts."""

    events: tuple[str, ...]
    formula: str
    differs: str
    reason: str
    unit: str
    description: str


class Texts:
    """Strings of the table, each once; `at` gives the offset of one or of several in a row."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[str, ...], int] = {("",): 0}
        self._pieces = [""]
        self._length = 1

    def at(self, *texts: str) -> int:
        """Return where the texts begin, each ended by a zero byte."""
        if texts not in self._offsets:
            self._offsets[texts] = self._length
            self._pieces.extend(texts)
            self._length += sum(len(text.encode()) + 1 for text in texts)
        return self._offsets[texts]

    def literal(self) -> str:
        """Return the C literals that hold all of them."""
        return "\n".join(f'\t"{_escaped(piece)}\\000"' for piece in self._pieces)


class Programs:
    """Steps of the formulas' programs, each program once."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], int] = {}
        self.steps: list[str] = []

    def at(self, program: tuple[str, ...]) -> int:
        """Return the number of a program's first step."""
        if program not in self._first:
            self._first[program] = len(self.steps)
            self.steps.extend(program)
        return self._first[program]


def program(formula: str, events: int) -> tuple[str, ...]:
    """Return the steps of a formula, as initialisers of struct gn_op; the sum if it is "".

    Raises:
        ValueError: it is not a formula.
    """
    if not formula:
        first, *others = (_native(at) for at in range(events))
        return (first, *(step for other in others for step in (other, _operator("+"))))
    if "|" in formula:
        words = [word.strip() for word in formula.strip().removesuffix("|").split("|")]
        return tuple(_operator(w) if w in _OPERATORS else _operand(w) for w in words)
    return tuple(_infix(ast.parse(formula.strip(), mode="eval").body))


def main(out: str, *files: str) -> None:
    """Write the table `out` from the presets' files."""
    data = {Path(file).stem: tomllib.loads(Path(file).read_text("utf-8")) for file in files}
    meanings = data.pop(_MEANINGS)
    order = [f"PAPI_{name}" for name in _NUMBERED.split()]
    order = [name for name in order if name in meanings]
    order += sorted(set(meanings) - set(order))
    texts, programs = Texts(), Programs()
    names = [*sorted(set(data) - {_GENERIC}), *({_GENERIC} & set(data))]
    families, rows = [], []
    for name in names:
        own = data[name]
        base = data[own["extends"]] if "extends" in own else {}
        pmus = own.get("pmus", [])
        head = (texts.at(name), texts.at(own.get("title", name)), texts.at(*pmus, ""), len(pmus))
        families.append(f"\t{{{head[0]}, {head[1]}, {head[2]}, {head[3]}}},")
        strangers = {*own.get("preset", {}), *own.get("absent", {})} - set(meanings)
        if strangers:
            raise ValueError(f"{name}.toml: no standard presets: {', '.join(sorted(strangers))}")
        rows.extend(_row(_find(preset, own, base, meanings), texts, programs) for preset in order)
    known = [
        f"\t{{{texts.at(name)}, {texts.at(meanings[name]['description'])}, "
        f"{texts.at(meanings[name].get('unit', ''))}}},"
        for name in order
    ]
    steps = [f"\t{{{step}}}," for step in programs.steps]
    tables = {
        f"gn_preset_meanings[{len(known)}]": ("struct gn_preset_meaning", known),
        f"gn_preset_families[{len(families)}]": ("struct gn_preset_family", families),
        f"gn_preset_rows[{len(rows)}]": ("struct gn_preset_row", rows),
        f"gn_preset_ops[{len(steps)}]": ("struct gn_op", steps),
    }
    lines = [
        "/* Made from src/gnomon/counters/presets/data by packaging/compile_presets_c.py. */",
        '#include "presets.h"',
        f"const int gn_preset_meaning_count = {len(known)};",
        f"const int gn_preset_family_count = {len(families)};",
    ]
    for declarator, (kind, entries) in tables.items():
        lines += [f"const {kind} {declarator} = {{", *entries, "};"]
    lines += ["const char gn_preset_texts[] =", f"{texts.literal()};", ""]
    Path(out).write_text("\n".join(lines), "utf-8")


def _find(preset: str, own: dict[str, Any], base: dict[str, Any], meanings: dict[str, Any]) -> Row:
    meaning = meanings[preset]
    for table in (own, base):
        given = table.get("preset", {}).get(preset)
        if given is not None:
            return Row(
                tuple(given["events"]),
                given.get("formula", ""),
                given.get("differs", ""),
                "",
                given.get("unit") or meaning.get("unit") or _timed(given.get("formula", "")),
                given.get("description") or meaning["description"],
            )
        reason = table.get("absent", {}).get(preset)
        if reason is not None:
            break
    else:
        reason = _UNKNOWN
    return Row((), "", "", reason, meaning.get("unit", ""), meaning["description"])


def _timed(formula: str) -> str:
    return "/s" if "seconds" in formula else ""


def _row(row: Row, texts: Texts, programs: Programs) -> str:
    steps = program(row.formula, len(row.events)) if row.events else ()
    fields = (
        texts.at(*row.events) if row.events else 0,
        texts.at(row.formula),
        texts.at(row.differs),
        texts.at(row.reason),
        texts.at(row.unit),
        texts.at(row.description),
        programs.at(steps) if steps else 0,
        len(steps),
        len(row.events),
    )
    return f"\t{{{', '.join(map(str, fields))}}},"


def _infix(node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS:
        return [*_infix(node.left), *_infix(node.right), _operator(_SYMBOLS[type(node.op)])]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [_operand("0"), *_infix(node.operand), _operator("-")]
    if isinstance(node, ast.Name):
        return [_operand(node.id)]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return [_operand(repr(node.value))]
    raise ValueError(f"not part of a formula: {ast.unparse(node)}")


def _operand(word: str) -> str:
    if word == "seconds":
        return "GN_OP_SECONDS, 0, 0"
    if word[:1] == "N":
        return _native(int(word[1:]))
    return f"GN_OP_CONSTANT, 0, {float(word)!r}"


def _native(number: int) -> str:
    return f"GN_OP_NATIVE, {number}, 0"


def _operator(symbol: str) -> str:
    return f"{_OPERATORS[symbol]}, 0, 0"


def _escaped(text: str) -> str:
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
