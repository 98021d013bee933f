"""Pages on disk, each all at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dxopt.results.folder import is_result
from dxopt.results.page.document import page, page_of_batch
from dxopt.results.page.entries import read
from dxopt.results.page.figures import save_figures
from dxopt.runtime.whole import replacing, unwritable
from dxopt.spaces.geo.areas import Area


def save_page(
    folder: Path,
    file: Path,
    *,
    title: str = "",
    underlay: Area | None = None,
    figures: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Write the page of a result folder, or of a folder of them.

    Parameters
    ----------
    folder : Path
    file : Path
        The page.
    title : str
        Of a folder of results; how many there are and what became of them by default.
    underlay : as for `page`, optional
    figures : bool
        Whether to write `save_figures` to a folder `figures` next to the page as well.
    tell : callable
        Given a line on what is going on.

    Returns
    -------
    list of Path
        What was written; the page is the first.

    Raises
    ------
    SpecError, CertificateError
        As `read` and `page`, and if a file cannot be written.
    """
    entries = read(folder, tell=tell)
    tell("writing the page")
    if is_result(folder):
        text = page(entries[0], underlay=underlay)
    else:
        text = page_of_batch(entries, title=title, underlay=underlay)
    written = [write(text, file)]
    if figures:
        written += save_figures(entries, file.parent / "figures", tell=tell)
    return written


def write(text: str, file: Path) -> Path:
    """Write a page in UTF-8: it is there as a whole, or what was there before is.

    Raises
    ------
    SpecError
        If it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable("output", file, error) from None
    with replacing(file, "output") as stream:
        stream.write(text.encode())
    return file
