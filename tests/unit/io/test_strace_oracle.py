"""The oracle reads what strace writes, however awkward, and counts what a program called."""

from __future__ import annotations

from pathlib import Path

import pytest
from strace_counts import Tally, below, counts_of, descriptor, path_name
from strace_lines import Call, End, Signal, UnreadableError, events, split_arguments

BEGIN = '1 access("/gnomon-corpus-begin", F_OK) = -1 ENOENT (No such file or directory)\n'
END = '1 access("/gnomon-corpus-end", F_OK) = -1 ENOENT (No such file or directory)\n'


def counted(*lines: str, marked: bool = True) -> dict[tuple[str, str], Tally]:
    """Return the counts of lines between the marks, of files below /w."""
    log = [BEGIN, *lines, END] if marked else list(lines)
    return below(counts_of(events(log), "/w"), Path("/w"))


@pytest.mark.parametrize(
    ("text", "arguments", "rest"),
    [
        ('3</a,b (c)>, "x", 1) = 1', ["3</a,b (c)>", '"x"', "1"], " = 1"),
        (r'3</a>, "\") = 7, \\", 9) = 9', ["3</a>", r'"\") = 7, \\"', "9"], " = 9"),
        ('"a"..., 4096) = 0', ['"a"...', "4096"], " = 0"),
        ("NULL, 1<<12, -1) = 0x7f", ["NULL", "1<<12", "-1"], " = 0x7f"),
        (
            '3</a>, [{iov_base="a,b]", iov_len=2}, {iov_base="", iov_len=0}], 2) = 2',
            ["3</a>", '[{iov_base="a,b]", iov_len=2}, {iov_base="", iov_len=0}]', "2"],
            " = 2",
        ),
        ("0x7ffc /* 3 vars */, 1) = 0", ["0x7ffc /* 3 vars */", "1"], " = 0"),
        ("AT_FDCWD</a(b>, O_RDONLY) = 3", ["AT_FDCWD</a(b>", "O_RDONLY"], " = 3"),
        (") = 5", [], " = 5"),
    ],
)
def test_arguments(text: str, arguments: list[str], rest: str) -> None:
    assert split_arguments(text) == (arguments, rest)


def test_each_kind_of_line() -> None:
    lines = [
        '10 read(3</w/a>, "x", 10)            = 1\n',
        "10 close(-1)                         = -1 EBADF (Bad file descriptor)\n",
        "10 openat(AT_FDCWD</w>, \"a\", O_RDONLY) = 3</w/a>\n",
        "10 fcntl(3</w/a>, F_GETFL)           = 0x8002 (flags O_RDWR|O_LARGEFILE)\n",
        "10 mmap(NULL, 9, PROT_READ, MAP_SHARED, 3</w/a>, 0) = 0x7f26f4227000\n",
        "10 read(0<pipe:[7]>, 0x7ffd, 1)      = ? ERESTARTSYS (To be restarted if ...)\n",
        "10 --- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---\n",
        "10 --- stopped by SIGSTOP ---\n",
        "10 exit_group(3)                     = ?\n",
        "10 +++ superseded by execve in pid 11 +++\n",
        "11 +++ exited with 3 +++\n",
        "[pid    12] +++ killed by SIGABRT (core dumped) +++\n",
    ]  # fmt: skip
    seen = list(events(lines))
    assert [(e.name, e.result, e.error) for e in seen if isinstance(e, Call)] == [
        ("read", 1, None),
        ("close", -1, "EBADF"),
        ("openat", 3, None),
        ("fcntl", 0x8002, None),
        ("mmap", 0x7F26F4227000, None),
        ("read", None, "ERESTARTSYS"),
        ("exit_group", None, None),
    ]
    assert [e for e in seen if not isinstance(e, Call)] == [
        Signal(10, "SIGALRM"),
        Signal(10, "SIGSTOP"),
        End(11, 3),
        End(12, None, "SIGABRT"),
    ]


def test_calls_that_others_interrupt_stay_where_they_began() -> None:
    lines = [
        "1 read(3</w/a>,  <unfinished ...>\n",
        '2 write(4</w/b>, "<unfinished ...>", 16) = 16\n',
        "2 read(5</w/c>,  <unfinished ...>\n",
        '1 <... read resumed>"ab\\" = 5", 10) = 7\n',
        '2 <... read resumed>"", 20)        = 0\n',
        "1 close(3</w/a> <unfinished ...>\n",
        "1 <... close resumed>)             = 0\n",
    ]
    assert [(e.name, e.arguments, e.result) for e in events(lines) if isinstance(e, Call)] == [
        ("read", ("3</w/a>", '"ab\\" = 5"', "10"), 7),
        ("write", ("4</w/b>", '"<unfinished ...>"', "16"), 16),
        ("read", ("5</w/c>", '""', "20"), 0),
        ("close", ("3</w/a>",), 0),
    ]


def test_a_call_within_which_a_task_was_killed_did_not_return() -> None:
    lines = [
        "1 read(3</w/a>,  <unfinished ...>\n",
        '2 write(3</w/a>, "", 4 <unfinished ...>) = ?\n',
        "3 pread64(3</w/a>,  <unfinished ...>\n",
        "3 <... pread64 resumed> <unfinished ...>) = ?\n",
        "1 +++ killed by SIGKILL +++\n",
    ]
    seen = list(events(lines))
    assert [e.result for e in seen if isinstance(e, Call)] == [None, None, None]
    assert seen[-1] == End(1, None, "SIGKILL")


@pytest.mark.parametrize(
    "line",
    [
        "strace: Process 12 attached\n",
        "1 what is this\n",
        "1 read(3, \"\", 1) is not\n",
        "1 <... read resumed>) = 1\n",
    ],
)  # fmt: skip
def test_a_line_that_is_not_understood_is_not_passed_over(line: str) -> None:
    with pytest.raises(UnreadableError):
        list(events([line]))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/w/a (deleted)", "/w/a"),
        ("/w/sub/#123", "/w/sub"),
        ("/w/sub/#123 (deleted)", "/w/sub"),
        ("/w/#here", "/w/#here"),
        ("/proc/4711/status", "/proc/self/status"),
        ("pipe:[99]", "pipe:"),
        ("socket:[99]", "socket:"),
    ],
)
def test_names_of_paths(path: str, name: str) -> None:
    assert path_name(path) == name


@pytest.mark.parametrize(
    ("argument", "path"),
    [
        ("3</w/a>", "/w/a"),
        ("3</w/a (deleted)>", "/w/a"),
        ("3</w/a>(deleted)", "/w/a"),
        (r"3</w/\303\244 \74\76>", "/w/ä <>"),
        ("AT_FDCWD</w>", "/w"),
        ("3", None),
        ("-1", None),
    ],
)
def test_paths_of_descriptors(argument: str, path: str | None) -> None:
    assert descriptor(argument).path == path


def test_only_what_is_between_the_marks_counts() -> None:
    write = '1 write(3</w/a>, "", 10) = 4\n'
    assert counted(write, BEGIN, write, write, END, write, marked=False) == {
        ("a", "write"): Tally(2, 20, 8)
    }
    # Killed: there is no second mark.
    assert counted(write, BEGIN, write, marked=False) == {("a", "write"): Tally(1, 10, 4)}
    assert counted(write, marked=False) == {}


def test_operations_have_the_names_of_functions() -> None:
    counts = counted(
        '1 openat(AT_FDCWD</w>, "a", O_RDONLY) = 3</w/a>\n',
        '1 openat(5</w/sub>, "../a", O_RDONLY) = 3</w/a>\n',
        '1 openat(AT_FDCWD</w>, "b", O_RDONLY) = -1 ENOENT (No such file or directory)\n',
        '1 newfstatat(3</w/a>, "", {st_size=0, ...}, AT_EMPTY_PATH) = 0\n',
        '1 newfstatat(AT_FDCWD</w>, "a", {st_size=0, ...}, 0) = 0\n',
        '1 newfstatat(AT_FDCWD</w>, "a", {st_size=0, ...}, AT_SYMLINK_NOFOLLOW) = 0\n',
        '1 newfstatat(5</w/sub>, "../a", {st_size=0, ...}, 0) = 0\n',
        '1 stat("a", {st_size=0, ...}) = 0\n',
        '1 unlinkat(AT_FDCWD</w>, "sub", AT_REMOVEDIR) = 0\n',
        '1 rename("a", "c") = 0\n',
        '1 pread64(3</w/a>, "", 7, 0) = 0\n',
        "1 open(NULL, O_RDONLY) = -1 EFAULT (Bad address)\n",
    )
    assert {key: tally.calls for key, tally in counts.items()} == {
        ("a", "open"): 1,
        ("a", "openat"): 1,
        ("b", "open"): 1,
        ("a", "fstat"): 1,
        ("a", "stat"): 2,
        ("a", "lstat"): 1,
        ("a", "fstatat"): 1,
        ("sub", "rmdir"): 1,
        ("a", "rename"): 1,
        ("a", "pread"): 1,
    }


def test_bytes_of_vectors_and_of_both_ends() -> None:
    counts = counted(
        '1 writev(3</w/a>, [{iov_base="iov_len=9", iov_len=2}, {iov_base="", iov_len=4}], 2) = 2\n',
        "1 readv(3</w/a>, 0x55, 3) = -1 EFAULT (Bad address)\n",
        "1 sendfile(4</w/b>, 3</w/a>, [0] => [10], 100) = 10\n",
        "1 copy_file_range(3</w/a>, [0], 5</w/c>, NULL, 50, 0) = 5\n",
        "1 mmap(NULL, 100, PROT_READ, MAP_SHARED, 3</w/a>, 0) = 0x7f00\n",
        "1 mmap(NULL, 100, PROT_READ, MAP_ANONYMOUS, -1, 0) = 0x7f00\n",
        "1 close_range(3, 5, 0) = 0\n",
    )
    assert counts == {
        ("a", "writev"): Tally(1, 6, 2),
        ("a", "readv"): Tally(1, 0, 0),
        ("a", "sendfile source"): Tally(1, 100, 10),
        ("b", "sendfile"): Tally(1, 100, 10),
        ("a", "copy_file_range source"): Tally(1, 50, 5),
        ("c", "copy_file_range"): Tally(1, 50, 5),
        ("a", "mmap"): Tally(1),
    }


def action(flags: str) -> str:
    return (
        f"1 rt_sigaction(SIGALRM, {{sa_handler=0x55, sa_mask=[], sa_flags={flags}}}, NULL, 8) = 0\n"
    )


INTERRUPTED = (
    "1 read(3</w/a>, 0x7ffd, 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n",
    "1 --- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---\n",
    '1 write(4</w/log>, "", 2) = 2\n',
    "1 rt_sigreturn({mask=[]}) = 0\n",
    '1 read(3</w/a>, "x", 1) = 1\n',
)


def test_what_the_kernel_repeats_is_one_call() -> None:
    repeated = counted(action("SA_RESTORER|SA_RESTART"), *INTERRUPTED)
    assert repeated == {("a", "read"): Tally(1, 1, 1), ("log", "write"): Tally(1, 2, 2)}
    # Without the flag it returned EINTR, and the program called again.
    own = counted(action("SA_RESTORER"), *INTERRUPTED)
    assert own[("a", "read")] == Tally(2, 2, 1)
    # Nobody handles it: the call goes on.
    assert counted(*INTERRUPTED)[("a", "read")] == Tally(1, 1, 1)


def test_working_directories_follow_chdir_and_fork() -> None:
    counts = counted(
        '1 chdir("sub") = 0\n',
        "1 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n",
        '2 unlink("x") = 0\n',
        "1 <... clone resumed>) = 2\n",
        '2 chdir("..") = 0\n',
        '2 unlink("x") = 0\n',
        '1 unlink("x") = 0\n',
        "1 fchdir(3</w/other>) = 0\n",
        '1 unlink("../y/./x") = 0\n',
        '1 chdir("absent") = -1 ENOENT (No such file or directory)\n',
        '1 unlink("z") = 0\n',
    )
    assert counts == {
        ("sub/x", "unlink"): Tally(2),
        ("x", "unlink"): Tally(1),
        ("y/x", "unlink"): Tally(1),
        ("other/z", "unlink"): Tally(1),
    }
