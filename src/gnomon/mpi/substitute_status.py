"""Statuses of ours for calls of a program that wants none, in wrappers of an MPI's routines."""

from __future__ import annotations

from gnomon.mpi.byte_rules import rule_of
from gnomon.mpi.routines import BLOCKING
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.mpi.wrapper import Wrapper


class SubstituteStatus(NamedTuple):
    """Statuses of ours in the place of MPI_STATUS_IGNORE, and what is completed with them.

    Attributes:
        declarations: of variables.
        before: lines before the call of MPI.
        replaced: the argument in whose place `gn_status` is passed, "" for none.
        after: lines after it.
        status: the status of a call that receives, "" for any other.
    """

    declarations: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    replaced: str = ""
    after: tuple[str, ...] = ()
    status: str = ""

    @classmethod
    def of(cls, wrapper: Wrapper) -> SubstituteStatus:
        """Return those of a wrapper, empty where it needs none."""
        routine = wrapper.routine
        if not wrapper.arguments:
            return cls()
        stem = routine.name.removeprefix("MPI_")
        if stem.startswith(("Wait", "Test")) and stem != "Test_cancelled":
            return cls._completion(wrapper, stem)
        rule = rule_of(routine)
        if rule is None or not rule.by_status or routine.mode != BLOCKING:
            return cls()
        name = wrapper.argument(routine.statuses)
        return cls(*_one_status(name), name, (), "gn_status")

    @classmethod
    def _completion(cls, wrapper: Wrapper, stem: str) -> SubstituteStatus:
        """Return the same for the families of MPI_Wait and MPI_Test."""
        routine = wrapper.routine
        arguments = wrapper.arguments
        requests = wrapper.argument(routine.requests)
        name = wrapper.argument(routine.statuses)
        told = "gn_told(gn_result)" + (f" && *{arguments['flag']}" if "flag" in arguments else "")
        index = "NULL"
        after: tuple[str, ...] = ()
        if stem in ("Wait", "Test", "Waitany", "Testany"):
            declarations, before = _one_status(name)
            n = arguments.get("count", "1")
            done = f"{told} ? 1 : 0"
            if stem == "Wait":
                done = "1"  # one that failed is over, too; what came is not known then
            elif stem != "Test":
                index = wrapper.argument(routine.position("INDEX"))
                done = f"{told} && *{index} != MPI_UNDEFINED ? 1 : 0"
        else:
            n = arguments.get("count") or arguments["incount"]
            declarations = ("MPI_Status gn_few[GN_FEW], *gn_status;",)
            before = (f"gn_status = gn_statuses_for({name}, gn_few, {n});",)
            after = (f"gn_free_statuses(gn_status, {name}, gn_few);",)
            done = f"{told} ? {n} : 0"
            if "outcount" in arguments:
                index = wrapper.argument(routine.position("INDEX"))
                done = f"{told} && *{(out := arguments['outcount'])} != MPI_UNDEFINED ? *{out} : 0"
        told_of = f"gn_known(gn_result, gn_status), {index}, {done}, gn_result"
        return cls(
            declarations,
            (*before, f"gn_mpi_before_completion(&gn_call, {n}, {requests});"),
            name,
            (f"gn_mpi_completed(&gn_call, {n}, {requests}, {told_of});", *after),
        )


def _one_status(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (
        ("MPI_Status gn_own = {0}, *gn_status;",),
        (f"gn_status = {name} == MPI_STATUS_IGNORE ? &gn_own : {name};",),
    )
