"""The events of a set that overflow: opened in C beside those that are counted."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon import _core
from gnomon.counters.component import Event
from gnomon.counters.component import Overflow as OverflowKind
from gnomon.counters.overflow_calls import Callback, OverflowCalls, is_main_thread, watch
from gnomon.counters.overflow_data import Estimate, OverflowInfo, Region
from gnomon.errors import FeatureError, OptionError
from gnomon.model.value import Domain

# enum gn_domain and enum gn_overflow_flags of gnomon/gnomon.h.
_DOMAINS = {
    Domain.ALL: 0,
    Domain.USER: 1,
    Domain.KERNEL: 2,
    Domain.HYPERVISOR: 4,
    Domain.USER_KERNEL: 3,
}
RANDOM, WEIGHTED, SOFTWARE, DATA = 0x1, 0x2, 0x40, 0x80
_KINDS = (OverflowKind.IMPOSSIBLE, OverflowKind.SLOW, OverflowKind.FAST)
_WIDTHS = (2, 4, 8)


class OverflowEvents:
    """Those of one event set. Each takes a counter of its own, beside the one that is read."""

    def __init__(self, domain: Domain) -> None:
        """Make them for the calling thread."""
        self._set = _core.OverflowSet(_DOMAINS[domain])
        self._calls = OverflowCalls(self._set)
        self._names: set[str] = set()

    def __len__(self) -> int:
        return len(self._names)

    def call(
        self, event: Event, precise: str, threshold: int, flags: int, callback: Callback
    ) -> None:
        """Call back at each overflow of an event."""
        is_new = self._add(event, threshold)
        number = self._calls.number(event.name, callback)
        try:
            watch(self._set.overflow(event.name, precise, threshold, flags, number))
        except BaseException:
            self._calls.drop(number)
            if is_new:
                self.end(event.name)
            raise
        self._calls.forget(event.name, but=number)

    def count(
        self,
        event: Event,
        precise: str,
        regions: Sequence[Region],
        threshold: int,
        flags: int,
    ) -> None:
        """Count the addresses at which an event overflows."""
        rows = tuple(_row(region) for region in regions)
        is_new = self._add(event, threshold)
        try:
            self._set.sprofil(event.name, precise, rows, threshold, flags)
        except BaseException:
            if is_new:
                self.end(event.name)
            raise
        self._calls.forget(event.name)

    def end(self, event: str) -> None:
        """Let an event overflow no more."""
        if event in self._names:
            self._names.remove(event)
            self._calls.forget(event)
            self._set.remove(event)

    def start(self) -> None:
        """Begin."""
        if self._names:
            self._set.start()

    def stop(self) -> None:
        """End; callbacks may still be due."""
        if self._names:
            self._set.stop()

    def deliver(self) -> None:
        """Call the callbacks that are due, if this is the main thread."""
        if is_main_thread():
            self._calls.deliver(None)

    def info(self, event: str) -> OverflowInfo:
        """Return what is known of an event's overflows."""
        self._refuse_unknown(event)
        threshold, _, kind, precise, wanted, number, overflows, lost, outside = self._set.info(
            event
        )
        return OverflowInfo(
            threshold, _KINDS[kind], precise, wanted, number, overflows,
            None if lost < 0 else lost, outside, self._set.dropped(),
        )  # fmt: skip

    def estimate(self, event: str) -> Estimate:
        """Return the total of an event by its overflows."""
        self._refuse_unknown(event)
        return Estimate(*self._set.estimate(event))

    def close(self) -> None:
        """Give back everything."""
        self._set.close()
        self._names.clear()

    def _add(self, event: Event, threshold: int) -> bool:
        """Open an event, unless it is; whether it was not."""
        if event.info.component not in ("cpu", "kernel", "tsc"):
            raise FeatureError(
                f"event '{event.name}': what component {event.info.component} counts is read where "
                "it stands, and nothing tells when it changes, so that it cannot overflow; read "
                "it at the overflows of another event"
            )
        if threshold <= 0 or threshold >= 1 << 63:
            raise OptionError(
                f"event '{event.name}': a threshold of {threshold}; give one from 1 to 2^63 - 1"
            )
        if event.name in self._names:
            return False
        self._set.add(event.name)
        self._names.add(event.name)
        return True

    def _refuse_unknown(self, event: str) -> None:
        if event not in self._names:
            raise OptionError(
                f"event '{event}': nothing waits for its overflow; set that first, by overflow() "
                "or profil()"
            )


def _row(region: Region) -> tuple[object, int, int]:
    buckets, offset, scale = region
    try:
        width = memoryview(buckets).itemsize
    except TypeError as error:
        raise OptionError(
            f"profile: {error}; give an array of numpy, or of the module array"
        ) from None
    if width not in _WIDTHS or memoryview(buckets).readonly:
        raise OptionError(
            f"profile: buckets of {width} bytes, or that cannot be written; give a writable array "
            "of uint16, uint32 or uint64"
        )
    if not 0 <= offset < 1 << 64 or not 0 <= scale < 1 << 32:
        raise OptionError(f"profile: an offset of {offset}, a scale of {scale}; give addresses")
    return buckets, offset, scale
