"""The network component: traffic of the links, on real ones and on recorded trees."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import plant

from gnomon.counters.component import RawCount, Target
from gnomon.counters.components.network import NetworkComponent
from gnomon.errors import EventNameError

IP_AND_UDP_HEADERS = 28
FIELDS = (
    "rx_bytes", "tx_bytes", "rx_packets", "tx_packets",
    "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
)  # fmt: skip


def counts(names: Sequence[str], raw: Sequence[RawCount]) -> dict[str, int | None]:
    assert len(names) == len(raw)
    return {n: r.raw if r.running_ns else None for n, r in zip(names, raw, strict=True)}


def link(
    sys_root: Path,
    name: str,
    index: int,
    numbers: Sequence[int],
    *,
    kind: int = 1,
    uevent: str = "",
) -> Path:
    """Plant a link like the kernel's own and return its folder."""
    base = f"class/net/{name}/"
    files = {f"{base}statistics/{f}": f"{n}\n" for f, n in zip(FIELDS, numbers, strict=True)}
    files |= {f"{base}type": f"{kind}\n", f"{base}ifindex": f"{index}\n"}
    files[f"{base}uevent"] = f"{uevent}INTERFACE={name}\nIFINDEX={index}\n"
    return plant(sys_root, files) / base


def device(folder: Path) -> None:
    plant(folder, {"device/uevent": "DRIVER=some\n"})


def grow(folder: Path, field: str, by: int) -> None:
    path = folder / "statistics" / field
    path.write_text(f"{int(path.read_text()) + by}\n")


# --- on this machine ------------------------------------------------------------------------------


def test_loopback_traffic_is_counted() -> None:
    component = NetworkComponent()
    assert component.availability().reason or component.availability().available
    names = ["network:::lo:rx_packets", "network:::lo:tx_packets", "network:::lo:rx_bytes"]
    opened = component.open([component.resolve(n)[0] for n in names], Target())
    assert opened.counting is not None
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        opened.counting.start()
        for _ in range(10):
            sender.sendto(b"x" * 1000, receiver.getsockname())
            assert len(receiver.recv(2000)) == 1000
        got = counts(names, opened.counting.stop())
    opened.counting.close()
    # Others use this link too: at least ours are in the counts.
    assert (got["network:::lo:rx_packets"] or 0) >= 10
    assert (got["network:::lo:tx_packets"] or 0) >= 10
    assert (got["network:::lo:rx_bytes"] or 0) >= 10 * (1000 + IP_AND_UDP_HEADERS)


IN_A_NAMESPACE = """
import socket, subprocess, sys
from pathlib import Path
from gnomon.counters.component import Target
from gnomon.counters.components.network import NetworkComponent

FRAME = b"\\xff" * 12 + b"\\x88\\xb5" + b"x" * 486
NET = Path(sys.argv[1]) / "class" / "net"

def ip(*words):
    subprocess.run(["ip", "link", *words], check=True)

def sent(name):
    return int((NET / name / "statistics" / "tx_bytes").read_text())

def pair(one, two):
    # A link that was set up carries frames a little later: until then the kernel drops them.
    ip("add", one, "type", "veth", "peer", "name", two)
    for name in (one, two):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
        ip("set", name, "up")
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((one, 0x88B5))
    while not sent(one):
        link.send(FRAME)
    return link

def show(read):
    print(*(count.raw if count.running_ns else None for count in read))

ip("set", "lo", "up")
link = pair("v0", "v1")
component = NetworkComponent(sys=Path(sys.argv[1]))
names = ["lo:rx_packets", "lo:rx_bytes", "v0:tx_packets", "v0:tx_bytes", "v1:rx_bytes", "tx_bytes"]
events = [component.resolve(f"network:::{name}")[0] for name in names]
counting = component.open(events, Target()).counting
counting.start()
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
two = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("127.0.0.1", 0))
for _ in range(10):
    two.sendto(b"x" * 1000, one.getsockname())
    one.recv(2000)
show(counting.read())
for _ in range(7):
    link.send(FRAME)
show(counting.read())
pair("v2", "v3")
print(sent("v2") // len(FRAME), sent("v2") % len(FRAME))
show(counting.read())
ip("delete", "v0")
show(counting.stop())
"""


def test_exact_counts_in_a_network_of_our_own(tmp_path: Path) -> None:
    """Loopback and veth pairs that nobody else uses: every byte is known."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.fail("unshare (util-linux) or ip (iproute2) is not installed: run `make setup`")
    script = 'mount -t sysfs sysfs "$1" && exec "$2" -c "$3" "$1"'
    probe = ["unshare", "--map-root-user", "--net", "--mount"]
    mount = subprocess.run(
        [*probe, "mount", "-t", "sysfs", "sysfs", tmp_path], capture_output=True, text=True
    )
    if mount.returncode:
        pytest.skip(f"no network namespace of our own here: {mount.stderr.strip()}")
    run = subprocess.run(
        [*probe, "sh", "-c", script, "sh", tmp_path, sys.executable, IN_A_NAMESPACE],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    udp, frames, new_link, created, deleted = (line.split() for line in run.stdout.splitlines())
    lo = ["10", str(10 * (1000 + IP_AND_UDP_HEADERS))]
    assert udp == [*lo, "0", "0", "0", "0"]
    sent = ["7", str(7 * 500), str(7 * 500)]
    assert frames == [*lo, *sent, str(7 * 500)]
    new_frames, rest = map(int, new_link)
    assert new_frames >= 1
    assert rest == 0
    assert created == [*lo, *sent, str((7 + new_frames) * 500)]
    assert deleted == [*lo, "None", "None", "None", "None"]


def test_names_resolve_or_suggest() -> None:
    component = NetworkComponent()
    assert component.resolve("rx_bytes") == ()
    for info in component.events():
        assert component.resolve(info.name)[0].info == info
    with pytest.raises(EventNameError) as caught:
        component.resolve("network:::lo:rx_byte")
    assert caught.value.suggestions[0] == "network:::lo:rx_bytes"


# --- on planted trees -----------------------------------------------------------------------------


def server(root: Path) -> dict[str, Path]:
    """Plant a server's links: a bond of two NICs under a VLAN, a bridge with a veth, a netvsc."""
    links = {
        "lo": link(root, "lo", 1, [900] * 8, kind=772),
        "eno1": link(root, "eno1", 2, [1000] * 8),
        "eno2": link(root, "eno2", 3, [1000] * 8),
        "bond0": link(root, "bond0", 5, [2000] * 8, uevent="DEVTYPE=bond\n"),
        "bond0.7": link(root, "bond0.7", 6, [400] * 8, uevent="DEVTYPE=vlan\n"),
        "br0": link(root, "br0", 7, [300] * 8, uevent="DEVTYPE=bridge\n"),
        "veth1": link(root, "veth1", 8, [300] * 8),
        "eth0": link(root, "eth0", 9, [7000] * 8),
        "enP1s1": link(root, "enP1s1", 10, [6900] * 8),
        "eth9": link(root, "eth9", 11, [5000] * 8),
        "lan1": link(root, "lan1", 12, [500] * 8, uevent="DEVTYPE=dsa\n"),
    }
    for name in ("eno1", "eno2", "eth0", "enP1s1", "eth9", "lan1"):
        device(links[name])
    plant(links["eno1"], {"master/ifindex": "5\n"})
    plant(links["eno2"], {"master/ifindex": "5\n"})
    plant(links["bond0"], {"lower_eno1/ifindex": "2\n", "lower_eno2/ifindex": "3\n"})
    # The VF under a netvsc link: its master is itself physical and counts for both.
    plant(links["enP1s1"], {"master/device/uevent": "DRIVER=hv_netvsc\n"})
    return links


def test_a_sum_takes_every_physical_link_once(tmp_path: Path) -> None:
    links = server(tmp_path)
    component = NetworkComponent(sys=tmp_path)
    names = ["network:::rx_bytes", "network:::bond0:rx_bytes", "network:::rx_dropped"]
    opened = component.open([component.resolve(n)[0] for n in names], Target())
    assert opened.counting is not None
    opened.counting.start()
    for at, folder in enumerate(links.values()):
        grow(folder, "rx_bytes", 1 << at)
    order = list(links)
    physical = sum(1 << order.index(name) for name in ("eno1", "eno2", "eth0", "eth9"))
    got = counts(names, opened.counting.stop())
    assert got["network:::rx_bytes"] == physical
    assert got["network:::bond0:rx_bytes"] == 1 << order.index("bond0")
    assert got["network:::rx_dropped"] == 0


def test_without_physical_links_all_at_the_bottom_count(tmp_path: Path) -> None:
    lo = link(tmp_path, "lo", 1, [5] * 8, kind=772)
    eth0 = link(tmp_path, "eth0", 42, [10] * 8)
    vlan = link(tmp_path, "vlan5", 43, [10] * 8)
    plant(vlan, {"lower_eth0/ifindex": "42\n"})
    component = NetworkComponent(sys=tmp_path)
    opened = component.open(component.resolve("network:::tx_bytes"), Target())
    assert opened.counting is not None
    opened.counting.start()
    for folder, by in ((lo, 1), (eth0, 10), (vlan, 100)):
        grow(folder, "tx_bytes", by)
    assert opened.counting.stop()[0].raw == 10


def test_a_link_that_was_replaced_is_not_measured(tmp_path: Path) -> None:
    folder = link(tmp_path, "eth0", 2, [10] * 8)
    component = NetworkComponent(sys=tmp_path)
    opened = component.open(component.resolve("network:::eth0:rx_bytes"), Target())
    assert opened.counting is not None
    opened.counting.start()
    (folder / "ifindex").write_text("8\n")
    grow(folder, "rx_bytes", 5)
    assert opened.counting.stop()[0].running_ns == 0


def test_nothing_but_loopback_is_explained(tmp_path: Path) -> None:
    link(tmp_path, "lo", 1, [5] * 8, kind=772)
    component = NetworkComponent(sys=tmp_path)
    opened = component.open(component.resolve("network:::rx_bytes"), Target())
    assert opened.counting is None
    assert "loopback" in opened.refused[0].reason
    assert "network:::lo:rx_bytes" in opened.refused[0].remedy
    assert component.availability().available  # loopback itself can be counted
    bare = NetworkComponent(sys=tmp_path / "none").availability()
    assert not bare.available
    assert bare.reason
    assert bare.remedy


@given(st.text(), st.text())
def test_garbage_is_unavailable_but_never_an_error(
    tmp_path_factory: pytest.TempPathFactory, number: str, index: str
) -> None:
    tree = tmp_path_factory.mktemp("garbage")
    folder = link(tree, "eth0", 1, [0] * 8)
    (folder / "statistics" / "rx_bytes").write_text(number, errors="replace")
    (folder / "ifindex").write_text(index, errors="replace")
    component = NetworkComponent(sys=tree)
    opened = component.open(component.resolve("network:::rx_bytes"), Target())
    assert len(opened.events) + len(opened.refused) == 1
