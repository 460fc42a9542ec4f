"""Call graphs, made and printed by native/callgraph."""

from gnomon.callgraph.call_profile import Buffer

WITHOUT_ENTRY: int
WITH_ENTRY: int
WITHOUT_TIME: int
WITH_TIME: int
IS_SHOWN: int
IS_COUNTED: int
IS_DECIDED: int
"""What options say of a function: native/callgraph/call_graph.h."""

class CallGraph:
    """What follows from a profile of n functions and m arcs; nodes are functions, then cycles.

    Columns are as of `CallProfile`, None where that has none.
    """

    def __new__(
        cls, names: tuple[str, ...], titles: tuple[str, ...], own: Buffer, caller: Buffer,
        callee: Buffer, calls: Buffer, arc_total: Buffer | None, arc_own: Buffer | None,
        calls_of: Buffer | None, choice: Buffer,
    ) -> CallGraph:  # fmt: skip
        """Make it.

        `choice` has of each function a byte of what options say of it.

        Raises:
            ValueError: columns do not fit together, or an arc is of no function.
        """

    def column(self, name: str) -> bytes:
        """Return a column: the attributes of gnomon.callgraph.call_graph.CallGraph have types."""

    def n_nodes(self) -> int:
        """Return how many functions and cycles there are."""

    def counted(self) -> float:
        """Return what all functions have themselves that the choice lets through."""

    def most_per_call(self) -> float:
        """Return the most that a function has for each call, with its callees; -1: no calls."""

    def flat_rows(self, with_unused: bool, /) -> list[int]:
        """Return functions, those first that have most themselves."""

    def entries(self, with_unused: bool, /) -> list[int]:
        """Return the nodes that have an entry, by their index."""

    def index_nodes(self, with_unused: bool, has_paths: bool, /) -> list[int]:
        """Return functions by name, then cycles.

        Args:
            with_unused: functions too that have no value and were never called.
            has_paths: functions too of which only callees have a value.
        """

    def callers(self, function: int, /) -> list[int]:
        """Return the arcs to a function, those with least first."""

    def callees(self, function: int, /) -> list[int]:
        """Return the arcs from a function, those with most first."""

    def node_name(self, node: int, /) -> str:
        """Return the name of a node with its cycle and index."""

    def flat_text(
        self, whole: float, divisor: float, per_unit: float, per_call: float, with_unused: bool, /
    ) -> str:
        """Return the rows of the flat profile.

        Args:
            whole: what 100 % are.
            divisor: of values, to be what is shown.
            per_unit: of values, to be in the metric's unit.
            per_call: what a unit per call is multiplied with.
            with_unused: functions too that have no value and were never called.
        """

    def graph_text(
        self, begin: int, counted: float, divisor: float, with_unused: bool, /
    ) -> tuple[str, int]:
        """Return some entries of the call graph profile, and where to go on.

        Args:
            begin: the number of nodes by their index that come before.
            counted: what 100 % are.
            divisor: of values, to be what is shown.
            with_unused: nodes too that have no value and were never called.
        """

    def index_text(self, files: tuple[str, ...], with_unused: bool, has_paths: bool, /) -> str:
        """Return the rows of the function index; files are behind names, but for ""."""

def of_profiling(names: tuple[str, ...], /) -> list[int]:
    """Return the positions of functions of profiling itself, which no report has."""
