"""Text -> ids: readers, tokenizers, segments, vocabulary, phrases."""
