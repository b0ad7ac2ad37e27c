"""The explorer's web server: a page and its JSON API."""
