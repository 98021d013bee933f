"""One self-contained HTML page for a result or for many: nothing is fetched, and it opens from the file system."""

from dxopt.results.page.document import page, page_of_batch
from dxopt.results.page.entries import Entry, read
from dxopt.results.page.figures import save_figures
from dxopt.results.page.writing import save_page, write

__all__ = ["Entry", "page", "page_of_batch", "read", "save_figures", "save_page", "write"]
