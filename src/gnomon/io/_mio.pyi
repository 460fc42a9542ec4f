"""Specifications of Modular I/O, read by native/mio."""

def problem(files: str, defaults: str, libraries: str, /) -> str:
    """Return what is wrong with MIO_FILES, MIO_DEFAULTS or the libraries, "" where nothing is.

    The libraries are loaded.

    That is three lines: what is wrong, the text around the place, a caret below it.
    """

def rule_of(files: str, path: str, /) -> tuple[str, str] | None:
    """Return the template that a path matches first, and its modules.

    Raises:
        ValueError: the text makes no sense.
    """
