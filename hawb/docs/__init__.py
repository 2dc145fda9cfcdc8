"""The documentation: pages that are written, pages that the code writes, and pages of the project shown as they are.

    python -m hawb.docs FOLDER

writes all of them into a folder, as Sphinx builds them (`make docs`). Decisions:

* Sphinx with MyST and Furo: all three are kept up, Markdown stays what it is on other pages of the project, a broken
  link is an error, and the index of the search is a script, so that it works in a page that was opened from a disk.
  MkDocs has had no release for two years; Pagefind fetches what it searches, which a page from a disk may not.
* What builds has an environment of its own (`builder/`, pinned with hashes, 120 MB in `build/sphinx`), so that nobody
  installs it who runs hawb. So Sphinx never imports hawb: what is generated is Markdown before Sphinx sees it.
* Each fact stands once. A page of the project (`INCLUDED` in `sources`) is taken from where it is, and its links lead
  to the site's pages, or to the file itself; what the code says (fields, options, events) is written from the code.
* The pages stand in this room, below all others since it tells of them; a wheel leaves the room out, because a reader
  of pages has a site and a builder has a checkout.
* Every block of code in `pages/` is played, and what it shows is compared (`tests/docs/test_pages_played.py`).
"""
