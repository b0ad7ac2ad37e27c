"""Tokens: a corpus as streams of vocabulary ids, for recipes that learn from the text itself."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firthian.counts.counting import CountingContext, CountJob, prepare
from firthian.counts.settings import WindowSettings
from firthian.counts.streams import Group, groups
from firthian.errors import FirthianError, from_os_error
from firthian.runtime.executor import Executor, Threads
from firthian.text.spool import Spool
from firthian.text.vocabulary import Vocabulary

#: Added to the seed of sub-sampling in each epoch.
_NEXT_EPOCH = 0x1E3779B97F4A7C15


class Tokens:
    """A tokenized corpus in a folder, which is removed on closing unless it is to be kept.

    ``vocabulary``, ``options`` and ``record`` are the same as in ``Counts`` of the corpus.

    >>> from firthian.text.readers import open_corpus
    >>> from firthian.runtime.memory import check_budget
    >>> from firthian.runtime.progress import Silent
    >>> job = CountJob.create(open_corpus(["a b a", "b a"]), min_count=1, window=2)
    >>> with Tokens.read(job, CountingContext(Threads(1), check_budget(None), Silent())) as tokens:
    ...     print(tokens.vocabulary.words, [group.stream.tolist() for group in tokens.groups()])
    ['a', 'b'] [[0, 1, 0, -1, 1, 0, -1]]
    """

    def __init__(
        self,
        spool: Spool,
        vocabulary: Vocabulary,
        options: WindowSettings,
        record: dict[str, Any],
        executor: Executor | None = None,
        keep: bool = False,
    ) -> None:
        self.spool, self.vocabulary, self.options, self.record = spool, vocabulary, options, record
        self._executor = executor or Threads()
        self._remove = None if keep else weakref.finalize(self, shutil.rmtree, spool.folder, ignore_errors=True)

    @classmethod
    def read(cls, job: CountJob, how: CountingContext, folder: Path | None = None) -> Tokens:
        """Tokenize a corpus and build its vocabulary, without counting windows.

        Work is kept in ``folder``, where an interrupted attempt is resumed; by default in a temporary one.
        """
        if job.options.sample > 0 and job.options.sample_mode != "drop":
            # The other mode scales counted pairs, but here there are only words to drop.
            raise FirthianError(
                f"training on text cannot sub-sample with `sample_mode={job.options.sample_mode}`",
                hint="use `sample_mode=drop`",
            )
        place = Path(tempfile.mkdtemp(prefix="firthian-")) if folder is None else folder
        try:
            place.mkdir(exist_ok=True)
            spool, result, record = prepare(job, place, how)
        except BaseException as error:
            if folder is not None:
                raise
            shutil.rmtree(place, ignore_errors=True)
            if isinstance(error, OSError):
                raise from_os_error(error) from error
            raise
        return cls(spool, result.vocabulary, job.options, record, how.rereaders, keep=folder is not None)

    def groups(self, epoch: int = 0, group_tokens: int = 1) -> Iterator[Group]:
        """Return the streams of an epoch in order, sub-sampled with its own random numbers.

        Each consists of whole segments (4 MB), enough for ``group_tokens``. Streams contain ids, document ends and holes (see
        kernels/windows.py); their boundaries depend on the text alone.
        """
        seed = (self.options.seed + epoch * _NEXT_EPOCH) % 2**63
        options = dataclasses.replace(self.options, seed=seed)
        return groups(self.spool, self.vocabulary, options, self._executor, group_tokens)

    def close(self) -> None:
        """Remove the folder, unless it is to be kept."""
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> Tokens:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
