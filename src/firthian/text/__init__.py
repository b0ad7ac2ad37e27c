"""Text -> ids: readers, tokenizers, segments, the vocabulary."""
