"""What a program does to its files: every call of POSIX and stdio, by file, call site and rank."""
