"""Pages that capabilities add to the view: a table of the run, as the capability shows it."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple


class ViewPage(NamedTuple):
    """A page of the view, in runs that have rows of its table.

    Attributes:
        name: in addresses; letters, digits and hyphens.
        title: what people read.
        table: which table of the model its rows are of.
        columns: the columns to begin with, in their order, a number's name as "location:name"; of
            values of a metric "unit" and "how" are columns, too; () for all.
        sort: the column that it is sorted by at first; "" for the order of the table.
        descending: largest first.
    """

    name: str
    title: str
    table: str
    columns: tuple[str, ...] = ()
    sort: str = ""
    descending: bool = True
