"""Build the documentation: written pages, pages generated from the code, and the project's own pages.

    python -m hawb.docs FOLDER

writes all of them into a folder, as Sphinx needs them (`make docs`). Decisions:

* Sphinx with MyST and Furo: all three are maintained, the project's other pages are Markdown as well, a broken link is
  an error, and the search index is a script, so that it works in a page that is opened from a file. MkDocs has had no
  release for two years; Pagefind fetches its index, which a page opened from a file cannot do.
* The builder has its own environment (`builder/`, pinned with hashes, 120 MB in `build/sphinx`), so that users of hawb
  do not install it. So Sphinx never imports hawb: generated pages are Markdown before Sphinx reads them.
* Each fact is written in one place. A page of the project (`INCLUDED` in `sources`) is read from its file, and its
  links lead to the site's pages, or to the file itself; fields, options and events are generated from the code.
* The pages are in this package, which may import all others. The wheel leaves the package out: readers have the built
  site, and builders have a checkout.
* Each block of code in `pages/` is run, and its output is compared (`tests/docs/test_pages_played.py`).
"""
