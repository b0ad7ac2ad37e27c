"""The explorer's web server: a page, and a JSON interface behind it."""
