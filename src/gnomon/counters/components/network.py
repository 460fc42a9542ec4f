"""The `network` component: what the links of this machine transfer and lose.

Source: Documentation/ABI/testing/sysfs-class-net-statistics.

What a sum covers: every physical link, once. A link is physical if it has a device in sysfs (PCI,
USB, virtio, ...); bonds, bridges, VLANs, tunnels and veth pairs carry the same packets again and
are left out, as are a physical link that is a slave of another one (the VF under a netvsc or
failover link) and the ports of a switch chip, whose packets all pass its conduit link. Where there
is no physical link (containers), the sum covers every link but loopback that stands on no other.
Each link can be counted by its own name: `network:::lo:rx_bytes`.

Links are those of the network namespace that /sys was mounted in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from gnomon.counters.component import EventInfo
from gnomon.counters.procfs import (
    entries,
    keyed,
    read_line,
    read_number,
    read_text,
)
from gnomon.counters.snapshot_component import OfferedEvent, Problem, SnapshotComponent
from gnomon.counters.snapshot_counters import CountedField, Snapshot, Unit
from gnomon.model.value import Scope

_LOOPBACK = "772"

# name: unit, description
_FIELDS: dict[str, tuple[str, str]] = {
    "rx_bytes": ("bytes", "bytes received"),
    "tx_bytes": ("bytes", "bytes sent"),
    "rx_packets": ("", "packets received"),
    "tx_packets": ("", "packets sent"),
    "rx_errors": ("", "received packets that were bad"),
    "tx_errors": ("", "packets that could not be sent"),
    "rx_dropped": ("", "packets received but not processed, for lack of room or of a receiver"),
    "tx_dropped": ("", "packets dropped on their way out, for lack of room"),
}


class NetworkComponent(SnapshotComponent):
    """What network links transfer and lose (/sys/class/net)."""

    name = "network"
    description = "bytes, packets, errors and drops of the network links"
    how_measured = "counted by the kernel and the drivers; read from /sys/class/net"
    scope = Scope.NODE

    def offers(self, *, idle: bool) -> Iterator[OfferedEvent]:  # noqa: ARG002
        """Yield the sums over links, then the events of each link."""
        for field, (unit, description) in _FIELDS.items():
            info = EventInfo(
                f"network:::{field}",
                self.name,
                f"{description}: all physical links, each once",
                unit,
                Scope.NODE,
            )
            yield OfferedEvent(info, CountedField((field,), None, Scope.NODE))
        for link in self._links():
            for field, (unit, description) in _FIELDS.items():
                info = EventInfo(
                    f"network:::{link}:{field}",
                    self.name,
                    f"{description}: link {link}",
                    unit,
                    Scope.NODE,
                )
                yield OfferedEvent(info, CountedField((field,), link, Scope.NODE))

    def node_snapshot(self, tallies: Sequence[CountedField]) -> Snapshot:
        """Return the numbers that the tallies need: of the links they name, or of all summed."""
        wanted = {tally.unit for tally in tallies}
        fields = sorted({field for tally in tallies for field in tally.fields})
        links = self._links()
        summed = self._summed(links) if None in wanted else frozenset[str]()
        units = {}
        for link in links:
            if link in wanted or link in summed:
                folder = self._net / link
                found = {field: read_number(folder / "statistics" / field) for field in fields}
                numbers = {field: n for field, n in found.items() if n is not None}
                identity = read_number(folder / "ifindex") or 0
                units[link] = Unit(numbers, identity, link in summed)
        return units

    def node_problem(self, tally: CountedField) -> Problem:
        """Return why a link's number is not there."""
        if tally.unit is not None:
            return (
                f"link '{tally.unit}' does not provide it",
                "see gnomon events --component network",
                0,
            )
        if not self._net.is_dir():
            return f"{self._net} is not there", "mount sysfs: mount -t sysfs sysfs /sys", 0
        return (
            "this network namespace has no link but loopback",
            "count loopback itself (network:::lo:rx_bytes), or run outside the container",
            0,
        )

    @property
    def _net(self) -> Path:
        return self.sys / "class" / "net"

    @cached_property
    def _traits(self) -> dict[str, tuple[bool, bool]]:
        """Of each link seen so far: may it be summed, is it physical. Asked once of sysfs."""
        return {}

    def _links(self) -> list[str]:
        return [name for name in entries(self._net) if (self._net / name / "statistics").is_dir()]

    def _summed(self, links: Sequence[str]) -> frozenset[str]:
        for link in links:
            if link not in self._traits:
                self._traits[link] = self._find_traits(link)
        known = {link: self._traits[link] for link in links}
        physical = frozenset(link for link, traits in known.items() if traits == (True, True))
        return physical or frozenset(link for link, (eligible, _) in known.items() if eligible)

    def _find_traits(self, link: str) -> tuple[bool, bool]:
        folder = self._net / link
        is_physical = (folder / "device").exists()
        if read_line(folder / "type") == _LOOPBACK:
            return False, False
        if not is_physical:
            return not any(name.startswith("lower_") for name in entries(folder)), False
        is_port = keyed(read_text(folder / "uevent") or "", "=").get("DEVTYPE") == "dsa"
        return not is_port and not (folder / "master" / "device").exists(), True


COMPONENT = NetworkComponent()
