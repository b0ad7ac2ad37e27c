"""Questions to a corpus, answered with error control: regression, change, association."""
