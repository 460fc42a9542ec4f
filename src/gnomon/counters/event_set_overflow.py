"""Event sets: overflow and profiles, PAPI's sampling interface."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon import _core
from gnomon.counters.component import Event, Granularity, Sharing
from gnomon.counters.event_set_state import EventSetState
from gnomon.errors import FeatureError, OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gnomon.counters.component import Target
    from gnomon.counters.overflow_calls import Callback
    from gnomon.counters.overflow_data import Estimate, OverflowInfo, Region
    from gnomon.counters.overflow_events import OverflowEvents

SCALE_MAX = 0x20000


class EventSetOverflow(EventSetState):
    """An event set whose events overflow.

    Source of the semantics: PAPI_overflow(3), PAPI_profil(3) and PAPI_sprofil(3).
    """

    _overflows: OverflowEvents | None = None

    def overflow(
        self,
        event: str,
        threshold: int,
        callback: Callback | None = None,
        *,
        software: bool = False,
        data: bool = False,
        random: bool = False,
    ) -> None:
        """Call `callback(OverflowCall)` for each `threshold` counts, from the next start on.

        Callbacks run in the main thread, between two instructions of Python, after the overflow: as
        handlers of the module `signal` do. What they raise is raised there. While the main thread
        is in code of C, they wait; `OverflowInfo.dropped` says whether for too long.

        Args:
            event: an event of the set; `cycles:pp` asks for precise addresses.
            threshold: counts between two overflows; 0 ends them.
            callback: what is called.
            software: a timer looks at the count every 10 ms of CPU time of the thread: for events
                that cannot interrupt, and derived ones.
            data: the address of the data, too, where the event has one.
            random: each threshold is random, between half and 1.5 of it.

        Raises:
            NotInSetError: the set has no such event.
            OptionError: a threshold or flags that make no sense, or a derived event without
                `software`.
            MixedOverflowError: some overflow with `software`, others without.
            FeatureError: the event cannot overflow so, or the set counts more than its own thread.
            RunningError, ClosedError, ForkedError: not now.
            EventUnavailableError: no counter is left for it beside the one that is read.
        """
        member, precise = self._overflowing(event, threshold)
        if not threshold:
            self._end_overflow(member.name)
            return
        if callback is None:
            raise OptionError(f"event '{event}': no callback for its overflows; give one")
        flags = _flags(software, data, random, weighted=False)
        self._overflow_events().call(member, precise, threshold, flags, callback)

    def profil(
        self,
        event: str,
        buckets: Any,  # noqa: ANN401 - whatever has Python's buffer interface
        offset: int,
        scale: int = SCALE_MAX,
        *,
        threshold: int,
        software: bool = False,
        data: bool = False,
        random: bool = False,
        weighted: bool = False,
    ) -> None:
        """Count the addresses at which an event overflows in an array; complete after a stop.

        Args:
            event: as `overflow`.
            buckets: a writable array of uint16, uint32 or uint64, which must not be resized; an
                item stays at its largest number once it is there.
            offset: the address that the first bucket begins with.
            scale: of profil(3): bucket = (address - offset) * scale >> 17; a bucket for each
                address by default.
            threshold: as `overflow`.
            software: as `overflow`.
            data: addresses of data, not of instructions.
            random: as `overflow`.
            weighted: add what an overflow stands for, a threshold, and not 1.

        Raises:
            OptionError: also buckets, offset or scale.
            NotInSetError, MixedOverflowError, FeatureError, RunningError, ClosedError, ForkedError,
            EventUnavailableError: as `overflow`.
        """
        from gnomon.counters.overflow_data import Region

        self.sprofil(
            event, [Region(buckets, offset, scale)], threshold=threshold, software=software,
            data=data, random=random, weighted=weighted,
        )  # fmt: skip

    def sprofil(
        self,
        event: str,
        regions: Sequence[Region],
        *,
        threshold: int,
        software: bool = False,
        data: bool = False,
        random: bool = False,
        weighted: bool = False,
    ) -> None:
        """Do what `profil` does for several regions.

        Args:
            event: as `profil`.
            regions: buckets of one width each; an address counts in the one that begins last of
                those that have it. A region of offset 0 and scale 2 takes the rest.
            threshold: as `profil`.
            software: as `profil`.
            data: as `profil`.
            random: as `profil`.
            weighted: as `profil`.

        Raises:
            OptionError, NotInSetError, MixedOverflowError, FeatureError, RunningError, ClosedError,
            ForkedError, EventUnavailableError: as `profil`.
        """
        member, precise = self._overflowing(event, threshold)
        if not threshold:
            self._end_overflow(member.name)
            return
        flags = _flags(software, data, random, weighted)
        self._overflow_events().count(member, precise, regions, threshold, flags)

    def overflow_info(self, event: str) -> OverflowInfo:
        """Return what is known of the overflows of an event.

        Raises:
            NotInSetError: the set has no such event.
            OptionError: nothing waits for its overflow.
        """
        return self._overflow_events().info(self._events[self.index(_bare(event))].name)

    def estimate(self, event: str) -> Estimate:
        """Return the total of an event in the last run by its overflows alone, with its bound.

        Raises:
            NotInSetError: the set has no such event.
            RunningError, NotRunningError: not now.
            OptionError: nothing waits for its overflow, or thresholds are random or a timer's.
        """
        return self._overflow_events().estimate(self._events[self.index(_bare(event))].name)

    def remove(self, name: str) -> None:
        """Take an event out, with its overflow; as `EventSetState.remove`."""
        self._refuse_change(f"event '{name}' is removed")
        member = self._events[self._index(name, "PAPI_EINVAL")].name
        super().remove(name)
        self._end_overflow(member)

    def clear(self) -> None:
        """Take all events out, with their overflows; as `EventSetState.clear`."""
        super().clear()
        self._close_overflows()

    def _retarget(self, target: Target, slice_ms: float, limit: int | None) -> None:
        if self._overflows is not None and len(self._overflows):
            raise OptionError(
                f"{self}: events of it overflow, which takes the calling thread and no turns; end "
                "that first (a threshold of 0)"
            )
        super()._retarget(target, slice_ms, limit)

    def _overflowing(self, name: str, threshold: object) -> tuple[Event, str]:
        """Return an event of the set that is to overflow, and its name with the modifier p."""
        self._refuse_change("its overflows change")
        bare, precise = _core.precise_name(name)
        event = self._events[self.index(bare)]
        self._refuse_target()
        if not isinstance(threshold, int):
            raise OptionError(
                f"event '{name}': a threshold of {threshold!r}: it must be a whole number of counts"
            )
        if not precise or name == bare:
            return event, event.name
        return event, name

    def _refuse_target(self) -> None:
        target = self._target
        if target.sharing is not Sharing.NONE:
            raise OptionError(
                f"{self}: its events may take turns, so that some would not overflow; make a set "
                "without multiplexing"
            )
        is_wide = target.inherit or target.granularity is not Granularity.THREAD
        if self._is_attached or is_wide or target.command:
            raise FeatureError(
                f"{self}: it counts another thread than the calling one, or more, whose overflows "
                "do not come to this one; make a set there, or sample with `gnomon record`"
            )

    def _overflow_events(self) -> OverflowEvents:
        if self._overflows is None:
            from gnomon.counters.overflow_events import OverflowEvents

            self._overflows = OverflowEvents(self._domain)
        return self._overflows

    def _start_overflows(self) -> None:
        try:
            self._overflow_events().start()
        except BaseException:
            if self._counting is not None:
                self._counting.stop()
            raise

    def _end_overflow(self, event: str) -> None:
        if self._overflows is not None:
            self._overflows.end(event)

    def _close_overflows(self) -> None:
        if self._overflows is not None:
            self._overflows.close()
        self._overflows = None


def _bare(name: str) -> str:
    return _core.precise_name(name)[0]


def _flags(software: bool, data: bool, random: bool, weighted: bool) -> int:
    from gnomon.counters.overflow_events import DATA, RANDOM, SOFTWARE, WEIGHTED

    return software * SOFTWARE | data * DATA | random * RANDOM | weighted * WEIGHTED
