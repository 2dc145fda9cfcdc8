"""Build the site: stories to watch, the lab and lessons, in a browser and without an installation."""
