"""What hurts a run's I/O, what would help, and whether it does: `gnomon io --advise`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.io import file_events, file_uses, findings, mio_proposal
from gnomon.io.calls import POSIX, group_of
from gnomon.io.file_uses import FileUses
from gnomon.io.io_metrics import COMPONENT
from gnomon.io.io_summary import events_of
from gnomon.io.io_sums import IoSums
from gnomon.io.io_values import or_zero
from gnomon.io.replay import Comparison, compare
from gnomon.io.replay_operations import OperationList, operations_of
from gnomon.named_tuple import NamedTuple
from gnomon.store.site_places import described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gnomon.io.file_events import FileEvents
    from gnomon.io.file_uses import FileUse
    from gnomon.io.findings import Finding
    from gnomon.io.io_values import File, Site
    from gnomon.store.run import Run
    from gnomon.store.site_places import SitePlace

FILES_MOST = 50
"""Files that are looked at: those with most time."""
PROOFS_MOST = 10
_COLD_SHARE = 0.1


class Options(NamedTuple):
    """How a proposal is proved.

    Attributes:
        scratch: the folder of scratch files, "" for that of each file.
        has_pauses: the time between calls passes, too.
        is_cold: files are read from storage; None: as they were in the run.
        tell: called with what is being done.
    """

    scratch: str = ""
    has_pauses: bool = False
    is_cold: bool | None = None
    tell: Callable[[str], None] = lambda _text: None


class Proof(NamedTuple):
    """Modules for a file, and what replays say of them.

    Attributes:
        path: the file.
        modules: as in the brackets of MIO_FILES.
        comparison: the replays, None where it could not be replayed.
        operations: what was replayed, None likewise.
        process: of which process, of how many.
        problem: why it could not be replayed, "" where it was.
    """

    path: str
    modules: str
    comparison: Comparison | None
    operations: OperationList | None
    process: tuple[int, int]
    problem: str = ""

    @property
    def helps(self) -> bool:
        """Whether replays say that it does."""
        return self.comparison is not None and self.comparison.helps


class Advice(NamedTuple):
    """All of it.

    Attributes:
        run: path of the run.
        seconds: in all calls on files.
        findings: those with most time first.
        places: where their sites are, by path.
        proposed: modules of each file, by its path: what was to be proved.
        proofs: one for each that could be.
        mio_files: the text for the variable, of what is proved; without events of what is proposed.
        is_traced: the run has events.
        is_cold: files were read from storage in replays.
        had_modules: files of the run had modules, so that its times are with them.
        events_missing: calls that the trace had no room for.
    """

    run: str
    seconds: float
    findings: tuple[Finding, ...]
    places: dict[int, SitePlace]
    proposed: dict[str, str]
    proofs: tuple[Proof, ...]
    mio_files: str
    is_traced: bool
    is_cold: bool
    had_modules: bool
    events_missing: int

    @property
    def saved(self) -> float:
        """Seconds that replays saved."""
        return sum(own.comparison.saved for own in self.proofs if own.comparison and own.helps)


def advise(run: Run, options: Options) -> Advice:
    """Return what would help a run.

    Raises:
        GnomonError: it has no calls on files, or a helper program cannot be run.
    """
    sums = IoSums(run)
    if not sums.has_sites:
        raise GnomonError(
            f"{run.path}: it was imported, and what is advised is tried on what a program did in "
            "full; gnomon io --trace -- PROGRAM records that"
        )
    if not sums.is_there:
        raise GnomonError(
            f"{run.path}: no calls on files were recorded; gnomon io --trace -- PROGRAM records "
            "them"
        )
    looker = _Looker(run, sums, options)
    hurting = looker.findings()
    proposed = _proposed(hurting)
    proofs = looker.proofs(proposed) if looker.is_traced else ()
    useful = {own.path: own.modules for own in proofs if own.helps}
    if not looker.is_traced:
        useful = proposed
    others = [file.path for file in looker.files]
    return Advice(
        run=str(run.path),
        seconds=looker.whole,
        findings=tuple(hurting),
        places=looker.places(hurting),
        proposed=proposed,
        proofs=tuple(proofs),
        mio_files=mio_proposal.mio_files(useful, others) if useful else "",
        is_traced=looker.is_traced,
        is_cold=looker.is_cold,
        had_modules=looker.had_modules,
        events_missing=events_of(run)[1],
    )


def _proposed(hurting: Iterable[Finding]) -> dict[str, str]:
    by_file: dict[str, list[Finding]] = {}
    for finding in hurting:
        if finding.rule and not finding.refused:
            by_file.setdefault(finding.path, []).append(finding)
    return {path: mio_proposal.modules_of(own) for path, own in by_file.items()}


def _calls_of_posix(file: File) -> float:
    return sum(or_zero(own.calls) for own in file.operations if own.layer == POSIX)


class _Looker:
    """What is looked up of a run once.

    Attributes:
        files: those with most time first.
        whole: seconds in all calls.
        is_traced: the run has events.
        is_cold: reads are to come from storage.
        had_modules: files had modules of MIO.
    """

    def __init__(self, run: Run, sums: IoSums, options: Options) -> None:
        self._run, self._sums, self._options = run, sums, options
        self.files = sums.files()
        self._sites = sums.sites()
        self._uses = FileUses(run, COMPONENT).of_all()
        self.whole = sum(or_zero(file.seconds) for file in self.files)
        self.is_traced = file_events.has_events(run)
        coverage = sums.coverage()
        self.had_modules = coverage.with_modules > 0
        came_from_storage = coverage.device_read >= _COLD_SHARE * max(coverage.read, 1.0)
        self.is_cold = came_from_storage if options.is_cold is None else options.is_cold

    def findings(self) -> list[Finding]:
        """Return all of them, with sites, and with why a module is not proposed."""
        hurting = findings.folder_findings(self.files, self.whole)
        hurting += findings.rank_findings(self._sums.processes())
        for file in self.files[:FILES_MOST]:
            hurting += self._of_file(file)
        return sorted(hurting, key=lambda own: (-own.seconds, own.kind, own.path))

    def _of_file(self, file: File) -> list[Finding]:
        use = self._uses.get(file.path)
        if use is None or or_zero(file.seconds) < findings.SHARE_LEAST * self.whole:
            return []
        requests = findings.requests_of(file, "read")
        reads = findings.pattern_of_sums(requests, file.reads)
        hurting = findings.direct_findings(file, use, self.whole)
        of_requests = findings.file_findings(file, reads, self.whole, is_from_storage=self.is_cold)
        if not self.is_traced:
            return [self._told(file, use, finding) for finding in (*hurting, *of_requests)]
        if not (of_requests or hurting or requests.calls):
            return []
        self._options.tell(f"looking at {file.path}")
        events = file_events.events_of(self._run, file.path)
        traced = file_events.pattern_of(events.of_access("read"))
        if traced.requests:
            # Sums are of all executions and of calls without a place, too.
            traced = traced._replace(seconds=requests.seconds)
            of_requests = findings.file_findings(
                file, traced, self.whole, is_from_storage=self.is_cold
            )
        return [self._told(file, use, finding, events) for finding in (*hurting, *of_requests)]

    def _told(
        self, file: File, use: FileUse, finding: Finding, events: FileEvents | None = None
    ) -> Finding:
        module = finding.rule.partition("/")[0]
        refused = ""
        if module:
            # Of calls that were not recorded nobody knows when they were.
            at_once = not (
                events is not None
                and len(events.path) >= _calls_of_posix(file)
                and not file_events.are_open_at_once(events, use.writers)
            )
            refused = file_uses.refusal(file, use, module, is_shared_at_once=at_once)
        return finding._replace(refused=refused, site=self._site(file, finding, events))

    def _site(self, file: File, finding: Finding, events: FileEvents | None) -> int:
        if events is not None and len(events.path):
            import numpy as np

            if finding.access in ("open", "sync"):
                of_group = [group_of(name) == finding.access for name in events.name.tolist()]
                return file_events.busiest_site(events.where(np.array(of_group)))
            mask = events.access == finding.access if finding.access else events.access != ""
            return file_events.busiest_site(events.where(mask))
        return self._site_of_sums(file, finding)

    def _site_of_sums(self, file: File, finding: Finding) -> int:
        """Return the site of the call that is used on this file alone, -1 if there is none."""
        groups = (finding.access,) if finding.access else ("read", "write")
        own = {
            one.name: or_zero(one.calls) for one in file.operations if group_of(one.name) in groups
        }
        sites: list[Site] = [site for site in self._sites if site.place.routine in own]
        for name, calls in sorted(own.items(), key=lambda item: -item[1]):
            of_name = [site for site in sites if site.place.routine == name]
            if of_name and sum(or_zero(site.calls) for site in of_name) <= calls:
                return of_name[0].place.path
            break
        return -1

    def places(self, hurting: Iterable[Finding]) -> dict[int, SitePlace]:
        """Return where the sites of findings are."""
        paths = {own.site for own in hurting if own.site >= 0}
        return {place.path: place for place in described(self._run, paths)}

    # --- proof --------------------------------------------------------------------------------

    def proofs(self, proposed: dict[str, str]) -> list[Proof]:
        """Return what replays say of the files with most time."""
        listed = list(proposed.items())[:PROOFS_MOST]
        return [
            self._proof(path, modules, f"file {number} of {len(listed)}")
            for number, (path, modules) in enumerate(listed, 1)
        ]

    def _proof(self, path: str, modules: str, which: str) -> Proof:
        use = self._uses[path]
        (file,) = [own for own in self.files if own.path == path]
        events = file_events.events_of(self._run, path)
        # Of those that are not even looked at.
        later = max(int(_calls_of_posix(file)) - len(events.path), 0)
        is_limited = len(events.path) == file_events.ROWS_MOST
        events = events.where(events.location == use.busiest)
        begin = int(
            max((or_zero(own.file_bytes) for own in (file.reads, file.writes) if own), default=0)
        )
        operations = operations_of(
            events, begin, is_cold=self.is_cold, has_pauses=self._options.has_pauses
        )
        proof = Proof(path, modules, None, operations, (use.busiest, len(use.seconds)))
        if operations is None:
            return proof._replace(problem="the trace does not say where its requests were")
        if is_limited:
            proof = proof._replace(operations=operations._replace(later=operations.later + later))
        folder = self._options.scratch or str(Path(path).parent)

        def tell(number: int, of: int) -> None:
            self._options.tell(f"{which}, replay {number} of {of}: {Path(path).name}")

        try:
            comparison = compare(operations, path, folder, modules, tell)
        except GnomonError as error:
            return proof._replace(problem=str(error))
        return proof._replace(comparison=comparison)
