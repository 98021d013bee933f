"""One self-contained HTML page for a result or for many: nothing is fetched, and it opens from the file system."""

from dxopt.results.page.document import page, page_of_batch, save_page, write
from dxopt.results.page.entries import Entry, read
from dxopt.results.page.figures import save_figures

__all__ = ["Entry", "page", "page_of_batch", "read", "save_figures", "save_page", "write"]
