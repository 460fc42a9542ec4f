"""Who gets an answer from the view's server, and what never leaves the machine."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from view_runs import Place, Quantity, Region, Value, ranks, write
from view_server import TOKEN, Client, serving

from gnomon.errors import GnomonError
from gnomon.store.source_files import LIMIT_BYTES
from gnomon.view.session import Session

ADDRESSES = ("/", "/api/state", "/api/runs/1", "/assets/any.js", "/nothing", "/icon.svg")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    session = Session()
    session.open([str(ranks(tmp_path_factory.mktemp("runs") / "run"))])
    with serving(session) as found:
        yield found


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", TOKEN[:-1], "\xe9"])
def test_without_the_token_there_is_nothing(client: Client, path: str, token: str | None) -> None:
    answer = client.ask(path, token=token)
    assert answer.status == 403
    assert "token" in answer.json["error"]
    wrong = "wrong" if token is None else token
    if wrong.isascii():
        assert client.ask(f"{path}?token={wrong}", token=None).status == 403
        cookie = {"Cookie": f"gnomon-{client.port}={wrong}"}
        assert client.ask(path, token=None, headers=cookie).status == 403


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(client: Client) -> None:
    """By a page of ours that goes on without it: whoever came from elsewhere keeps the cookie."""
    answer = client.ask(f"/?token={TOKEN}", token=None)
    assert answer.status == 200
    cookie = answer.headers["set-cookie"]
    assert f"gnomon-{client.port}={TOKEN}" in cookie
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN.encode() not in answer.body
    assert answer.headers["referrer-policy"] == "no-referrer"
    kept = {"Cookie": f"other=1; {cookie.partition(';')[0]}"}
    (script,) = re.findall(r'<script src="([^"]+)">', answer.body.decode())
    moved = client.ask(script, token=None, headers=kept)
    assert moved.headers["content-type"].startswith("text/javascript")
    assert b"location.replace(location.pathname + location.hash)" in moved.body
    page = client.ask("/", token=None, headers=kept)
    assert page.status == 200
    assert b'<div id="view">' in page.body
    assert TOKEN.encode() not in page.body


def test_other_users_of_the_machine_are_refused_with_the_right_token(client: Client) -> None:
    """They can read the address from the command line of a browser that starts."""
    if os.getuid() != 0:
        pytest.fail("no other user can be tried: run the tests as root")
    asked = (
        "import os, socket, sys\n"
        "os.setresuid(*[int(sys.argv[1])] * 3)\n"
        "asking = socket.socket()\n"
        f"asking.connect(('127.0.0.1', {client.port}))\n"
        "asking.sendall(b'GET /api/state HTTP/1.0\\r\\nHost: localhost\\r\\n"
        f"X-Gnomon-Token: {TOKEN}\\r\\n\\r\\n')\n"
        "while part := asking.recv(65536): os.write(1, part)\n"
    )
    own, other = (
        subprocess.run(
            [sys.executable, "-I", "-c", asked, user], capture_output=True, text=True, check=True
        )
        for user in ("0", "65534")
    )
    assert own.stdout.startswith("HTTP/1.1 200")
    assert other.stdout.startswith("HTTP/1.1 403")
    assert "you are user 65534" in other.stdout


ONLY_IPV6 = """
import os, socket, subprocess, sys, threading
from gnomon.view.server import Server
from gnomon.view.session import Session

def ask(user):
    asked = (
        "import os, socket, sys\\n"
        "os.setresuid(*[int(sys.argv[1])] * 3)\\n"
        "asking = socket.socket(socket.AF_INET6)\\n"
        "asking.connect(('::1', int(sys.argv[2])))\\n"
        "name = f'Host: [::1]:{sys.argv[2]}\\\\r\\\\nX-Gnomon-Token: t\\\\r\\\\n\\\\r\\\\n'\\n"
        "asking.sendall(b'GET /api/state HTTP/1.0\\\\r\\\\n' + name.encode())\\n"
        "while part := asking.recv(65536): os.write(1, part)\\n"
    )
    words = [sys.executable, "-I", "-c", asked, user, str(server.address.port)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return told.partition("\\n")[0]

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["ip", "address", "del", "127.0.0.1/8", "dev", "lo"], check=True)
server = Server(Session(), 0, "t")
running = threading.Thread(target=server.run, daemon=True)
running.start()
print(server.address.url.replace(str(server.address.port), "PORT"))
print(ask("0"), ask("65534"), sep="\\n")
server.stop()
running.join()
with open("/proc/sys/net/ipv6/conf/lo/disable_ipv6", "w") as switch:
    switch.write("1")
try:
    Server(Session(), 0, "t")
except Exception as error:
    print(error)
"""


def test_a_loopback_that_is_ipv6_alone() -> None:
    if os.getuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.fail("no network of its own can be made: run as root, with util-linux and iproute2")
    done = subprocess.run(
        ["unshare", "-n", sys.executable, "-c", ONLY_IPV6], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "http://[::1]:PORT/?token=t",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 403 Forbidden",
        "this machine has neither 127.0.0.1 nor ::1; bring its loopback up: ip link set lo up",
    ]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1@evil",
             "localhost.evil.example:8000", "169.254.1.1", "0.0.0.0"],
)  # fmt: skip
def test_another_name_for_this_machine_is_refused(client: Client, host: str) -> None:
    """DNS rebinding: a page of evil.example whose name has come to mean 127.0.0.1."""
    answer = client.ask("/api/state", headers={"host": host})
    assert answer.status == 403
    assert b"runs" not in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1:9", "localhost:1234", "[::1]:1", "LOCALHOST"])
def test_forwarded_ports_are_this_machine(client: Client, host: str) -> None:
    assert client.ask("/api/state", headers={"host": host}).status == 200


def test_other_pages_change_nothing(client: Client) -> None:
    content = {"id": "1"}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://localhost:{client.port}"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
    ):
        assert client.post("/api/close", content, headers=headers).status in (403, 415)
    assert client.ask("/api/close?id=1").status == 404
    assert [run["id"] for run in client.ask("/api/state").json["runs"]] == ["1"]
    own = {"Origin": f"http://127.0.0.1:{client.port}"}
    assert client.post("/api/close", {"id": "7"}, headers=own).status == 400


def test_bodies_are_bounded(client: Client) -> None:
    assert client.post("/api/open", {"paths": ["x" * (2 << 20)]}).status == 413
    chunked = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    answer = client.ask("/api/open", method="POST", headers=chunked)
    assert answer.status == 413
    for body in (b"{", b"[]", b"\xff", b"[" * 100_000, b'{"paths": 3}', b'{"paths": [3]}', b"{}"):
        headers = {"Content-Type": "application/json"}
        answer = client.ask("/api/open", method="POST", headers=headers, body=body)
        assert answer.status == 400
        assert answer.json["error"]


def test_the_page_runs_nothing_but_its_own_files(client: Client) -> None:
    page = client.ask("/")
    policy = page.headers["content-security-policy"]
    nonce = re.search(r"'nonce-([\w-]+)'", policy)
    assert nonce
    assert nonce[0] not in client.ask("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    for word in ("unsafe", "*", "data:", "http"):
        assert word not in policy
    text = page.body.decode()
    assert "GNOMON_NONCE" not in text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    for path in ("/api/state", "/nothing", *re.findall(r"(?:src|href)=\"\.(/[^\"]+)", text)):
        headers = client.ask(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert not [name for name in headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "path",
    ["/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/../../__init__.py",
     "/..%2f..%2fetc%2fpasswd", "/assets/%2e%2e/index.html/", "/static/index.html",
     "/assets//etc/passwd", "/%00", "/index.html%00.js", "/web/package.json", "/__init__.py"],
)  # fmt: skip
def test_paths_lead_nowhere(client: Client, path: str) -> None:
    answer = client.ask(path)
    assert answer.status == 404
    assert b"root:" not in answer.body


def test_the_server_listens_on_loopback_alone(client: Client) -> None:
    for name in {socket.gethostbyname(socket.gethostname()), "127.0.0.2"} - {"127.0.0.1"}:
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((name, client.port), timeout=5).close()


def test_nothing_can_be_asked_that_brings_it_down(client: Client) -> None:
    asked = [
        "/api/runs/9", "/api/runs/../x", "/api/runs/1/tree?by=nothing", "/api/runs/1/values",
        "/api/runs/1/values?metric=x", "/api/runs/1/values?metric=99999999999999",
        "/api/runs/1/values?metric=0&location=77", "/api/runs/1/values?metric=0&statistic=x",
        "/api/runs/1/values?metric=%D9%A3", "/api/runs/1/spread?metric=0&node=-5",
        "/api/runs/1/spread?metric=0&node=99999", "/api/runs/1/node?node=12345&by=file",
        "/api/runs/1/node", "/api/runs/1/table?name=x", "/api/runs/1/table?sort=x",
        "/api/runs/1/table?columns=x", "/api/runs/1/table?order=x", "/api/runs/1/table?metrics=99",
        "/api/runs/1/export?format=xlsx", "/api/runs/1/lines?file=/etc/passwd",
        "/api/runs/1/source?file=/etc/passwd", "/api/runs/1/source", "/api/compare?a=1&b=1",
        "/api/compare?a=1", "/api/compare?a=1&b=1&per=x",
    ]  # fmt: skip
    for path in asked:
        answer = client.ask(path)
        assert answer.status in (400, 404), path
        assert answer.json["error"], path
    assert client.ask("/api/folder?path=%00").status == 422
    assert client.ask("/api/folder?path=/no/such/folder").status == 422
    assert client.ask("/api/runs/1/table?offset=-5&limit=-5").json["rows"] == []
    assert client.ask("/api/state").status == 200


def sources_of(folder: Path, *files: str, head: dict[str, object] | None = None) -> Path:
    regions = [Region(-1, "hpm", "app")]
    regions += [Region(0, "cpu", f"f{at}", file, 1) for at, file in enumerate(files)]
    return write(
        folder / "run", [Place(-1, "command")], regions, [Quantity("t")],
        [Value(0, at, 0, 1.0, 1.0) for at in range(len(regions))], head,
    )  # fmt: skip


def source(client: Client, file: str, choice: str = "") -> dict[str, object]:
    from urllib.parse import quote

    answer = client.ask(f"/api/runs/1/source?file={quote(file)}&choice={quote(choice)}")
    assert answer.status in (200, 400)
    found: dict[str, object] = answer.json
    return found


def test_only_sources_that_the_run_names_are_served(tmp_path: Path) -> None:
    good = tmp_path / "good.c"
    good.write_text("int main(void) {}\n")
    secret = tmp_path / "secret.c"
    secret.write_text("secret\n")
    (tmp_path / "link.c").symlink_to("/etc/hostname")
    (tmp_path / "device.c").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.c")
    (tmp_path / "huge.c").write_bytes(b"x" * (LIMIT_BYTES + 1))
    (tmp_path / "binary.c").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "passwords").write_text("secret\n")
    (tmp_path / "folder.c").mkdir()
    names = {
        "link.c": "not the name", "device.c": "devices", "pipe.c": "a regular", "huge.c": "8 MiB",
        "binary.c": "not a text", "passwords": "not the name", "folder.c": "a regular file",
    }  # fmt: skip
    files = [str(good), *(str(tmp_path / name) for name in names), "/etc/passwd", "/proc/self/x.c"]
    session = Session()
    session.open([str(sources_of(tmp_path, *files))])
    with serving(session) as client:
        assert source(client, str(good))["text"] == "int main(void) {}\n"
        for file in (str(secret), str(good) + "/../secret.c", "good.c", "", "/etc/shadow"):
            assert "names no such source file" in str(source(client, file)["error"])
        for name, why in names.items():
            found = source(client, str(tmp_path / name))
            assert (found["text"], found["state"]) == (None, "refused"), name
            assert why in str(found["reason"]), name
        for file in ("/etc/passwd", "/proc/self/x.c"):
            assert source(client, file)["text"] is None


def test_sources_elsewhere_are_found_by_their_path_and_links_do_not_lead_out(
    tmp_path: Path,
) -> None:
    tree = tmp_path / "tree"
    for name, text in {"a/x.c": "a\n", "b/x.c": "b\n", "b/only.f90": "program\n"}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    outside = tmp_path / "outside.c"
    outside.write_text("outside\n")
    (tree / "linked.c").symlink_to(outside)
    session = Session()
    files = ("/gone/x.c", "/gone/b/x.c", "../src/only.f90", "/gone/linked.c", "/gone/nowhere.c")
    session.open([str(sources_of(tmp_path, *files))])
    with serving(session) as client:
        assert source(client, "/gone/x.c")["state"] == "missing"
        answer = client.post("/api/runs/1/sources", {"directory": str(tree)})
        assert set(answer.json["found"]) == set(files) - {"/gone/nowhere.c"}
        found = source(client, "/gone/x.c")
        assert found["state"] == "choose"
        assert found["choices"] == [str(tree / "a/x.c"), str(tree / "b/x.c")]
        assert source(client, "/gone/x.c", str(tree / "b/x.c"))["text"] == "b\n"
        assert "not one of the files" in str(source(client, "/gone/x.c", str(outside))["error"])
        assert source(client, "/gone/b/x.c")["text"] == "b\n"
        assert source(client, "../src/only.f90")["language"] == "fortran"
        assert source(client, "/gone/linked.c")["state"] == "refused"
        for wrong in ("", "/no/such", "\0", str(outside)):
            answer = client.post("/api/runs/1/sources", {"directory": wrong})
            assert answer.status == 400


def test_changed_sources_are_flagged(tmp_path: Path) -> None:
    import hashlib

    same, changed = tmp_path / "same.c", tmp_path / "changed.c"
    old, new = tmp_path / "old.c", tmp_path / "new.c"
    for file in (same, changed, old, new):
        file.write_text("x\n")
    os.utime(old, (1.6e9, 1.6e9))
    digest = "sha256:" + hashlib.sha256(b"x\n").hexdigest()
    digests = {str(same): digest, str(changed): "sha256:" + "0" * 64}
    session = Session()
    path = sources_of(tmp_path, *map(str, (same, changed, old, new)), head={"sources": digests})
    session.open([str(path)])
    with serving(session) as client:
        states = {
            file.name: source(client, str(file))["state"] for file in (same, changed, old, new)
        }
    assert states == {
        "same.c": "same", "changed.c": "changed", "old.c": "unknown", "new.c": "changed",
    }  # fmt: skip


def test_runs_that_are_links_and_pipes_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    run = ranks(tmp_path / "run")
    (run / "profile.parquet").unlink()
    os.mkfifo(run / "profile.parquet")
    with pytest.raises(GnomonError, match=r"profile\.parquet: not a regular file"):
        Session().open([str(run)])
    other = ranks(tmp_path / "other")
    (other / "run.json").unlink()
    (other / "run.json").symlink_to("/dev/zero")
    with pytest.raises(GnomonError, match=r"run\.json: not a regular file"):
        Session().open([str(other)])


def test_odd_names_of_runs_are_names(tmp_path: Path) -> None:
    """A name may have what DuckDB takes for a pattern or the end of a text."""
    for name in ("a[1]", "it's", "what?", "*"):
        (found,) = Session().open([str(ranks(tmp_path / name))])
        assert found.values("region", 0).inclusive[0] > 0
