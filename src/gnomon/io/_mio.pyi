"""Specifications of Modular I/O, read by native/mio."""

def problem(files: str, defaults: str, /) -> str:
    """Return what is wrong with MIO_FILES or MIO_DEFAULTS, "" where nothing is.

    That is three lines: what is wrong, the text around the place, a caret below it.
    """

def rule_of(files: str, path: str, /) -> tuple[str, str] | None:
    """Return the template that a path matches first, and its modules.

    Raises:
        ValueError: the text makes no sense.
    """
