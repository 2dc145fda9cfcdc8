"""The site: stories that are watched, and the lab, in a browser and without an installation."""
