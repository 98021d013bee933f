"""What makes the site: `python -m docs.website` builds it into `site/` and checks it.

`mkdocs.yml` says what the site has, and `hooks.py` is what MkDocs calls.
"""
