"""Write to a file by small writes, and end in a way: what is written is in the file."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

way = sys.argv[1]
file = os.open("data", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
os.set_inheritable(file, True)
for number in range(1000):
    os.write(file, b"%07d\n" % number)
cat = ["cat", "data"]
if way == "stat":
    print(Path("data").stat().st_size, os.fstat(file).st_size)
elif way == "open":
    print(len(Path("data").read_text()))
elif way == "system":
    os.system(f"cat data; echo more >&{file}")
elif way == "popen":
    print(os.popen("cat data").read())
elif way == "spawn":
    child = os.posix_spawnp("cat", cat, os.environ)
    os.waitpid(child, 0)
elif way == "subprocess":
    print(subprocess.run(cat, capture_output=True, check=True).stdout)
    subprocess.run(["echo", "more"], stdout=file, check=True)
elif way == "fork":
    child = os.fork()
    if not child:
        os.write(file, b"of the child\n")
        os._exit(0)
    os.waitpid(child, 0)
elif way == "dup":
    os.dup2(file, 30)
    os.write(30, b"of the duplicate\n")
    os.close(file)
    os.write(30, b"of the other\n")
elif way == "lock":
    import fcntl

    fcntl.lockf(file, fcntl.LOCK_EX)
    print(subprocess.run(cat, capture_output=True, check=True).stdout)
    os.write(file, b"locked\n")
    fcntl.lockf(file, fcntl.LOCK_UN)
    print(subprocess.run(cat, capture_output=True, check=True).stdout)
elif way == "map":
    import mmap

    with mmap.mmap(file, 0) as pages:
        pages[0:7] = b"changed"
        os.write(file, b"behind\n")
        print(pages[:16], os.pread(file, 16, 0))
elif way == "sendfile":
    other = os.open("copy", os.O_RDWR | os.O_CREAT)
    os.lseek(file, 8, os.SEEK_SET)
    print(os.sendfile(other, file, None, 100), os.lseek(file, 0, os.SEEK_CUR))
elif way == "truncate":
    os.truncate("data", 80)
    print(os.pread(file, 200, 0))
if way not in ("fork", "dup"):
    os.write(file, b"last\n")
sys.stdout.flush()
if way == "exec":
    os.execvp("cat", cat)
elif way == "_exit":
    os._exit(3)
elif way.startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, way))
elif way == "abort":
    os.abort()
elif way == "fault":
    ctypes.string_at(0)
