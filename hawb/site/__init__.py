"""Build the site: stories to watch, and the lab, in a browser and without an installation."""
