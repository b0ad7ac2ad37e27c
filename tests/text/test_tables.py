"""Every kind of table gives the same documents, and every fault of one is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import firthian as ft
from firthian.text import arrow as arrow_reader
from firthian.text.readers import open_corpus
from firthian.text.segments import cut_segments

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

ROWS: list[dict[str, Any]] = [
    {"text": "hot tea\nwith milk", "party": "D", "year": 1850},
    {"text": None, "party": "D", "year": 1851},
    {"text": "cold dög tea", "party": "R", "year": 1852},
    {"text": "tea for two", "party": "D", "year": None},
]


def table() -> Any:
    return pa.Table.from_pylist(ROWS)


def parquet(folder: Path, **options: Any) -> str:
    from pyarrow import parquet as writer

    writer.write_table(table(), folder / "a.parquet", row_group_size=3, **options)
    return str(folder / "a.parquet")


def feather(folder: Path) -> str:
    from pyarrow import feather as writer

    writer.write_feather(table(), folder / "a.feather")
    return str(folder / "a.feather")


def stream(folder: Path) -> str:
    with pa.ipc.new_stream(folder / "a.arrow", table().schema) as out:
        out.write_table(table())
    return str(folder / "a.arrow")


def database(folder: Path) -> str:
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.register("given", table())
        connection.execute("CREATE TABLE posts AS SELECT * FROM given")
    return str(folder / "a.duckdb")


def json_lines(folder: Path) -> str:
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return str(folder / "a.jsonl")


class Dataset:
    """An iterable of dictionaries that can select columns, as those of Hugging Face."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def select_columns(self, columns: list[str]) -> Dataset:
        return Dataset([{name: row[name] for name in columns} for row in self.rows])


def arrow_dataset(folder: Path) -> Any:
    from pyarrow import dataset

    return dataset.dataset(parquet(folder))


SOURCES: dict[str, Callable[[Path], Any]] = {
    "parquet": parquet,
    "parquet without dictionaries": lambda folder: parquet(folder, use_dictionary=False, compression="zstd"),
    "feather": feather,
    "arrow stream": stream,
    "duckdb file": database,
    "json lines": json_lines,
    "pandas": lambda _: pd.DataFrame(ROWS),
    "pandas with categories": lambda _: pd.DataFrame(ROWS).astype({"party": "category", "year": "Int64"}),
    "polars": lambda _: pl.DataFrame(ROWS),
    "lazy polars": lambda _: pl.LazyFrame(ROWS),
    "arrow table": lambda _: table(),
    "arrow data set": arrow_dataset,
    "duckdb query": lambda folder: duckdb.sql(f"SELECT * FROM '{parquet(folder)}'"),
    "dictionaries": lambda _: ROWS,
    "data set": lambda _: Dataset(ROWS),
    "columns": lambda _: {name: [row[name] for row in ROWS] for name in ROWS[0]},
}


def documents(corpus: Any, **settings: Any) -> list[str]:
    return [piece.text.decode() for piece in open_corpus(corpus, **settings).pieces()]


@pytest.mark.parametrize("name", SOURCES)
def test_every_table_gives_the_same_counts(tmp_path: Path, name: str) -> None:
    source = SOURCES[name](tmp_path)
    assert documents(source) == ["hot tea with milk\n", "cold dög tea\n", "tea for two\n"]
    counts = ft.count(source, min_count=1, window=2)
    facts = counts.record["corpus"]
    plain = ft.count(["hot tea with milk", "cold dög tea", "tea for two"], min_count=1, window=2)
    assert (facts["sha256"], facts["documents"]) == (plain.record["corpus"]["sha256"], 3)
    assert (facts["rows_without_text"], facts["rows_excluded"], facts["rows"]) == (1, 0, None)
    # Years are numbers here, integers there, and with a null among them floats in pandas.
    chosen = ft.count(source, min_count=1, where={"party": "D", "year": [1850, "1851"]}).record["corpus"]
    assert (chosen["documents"], chosen["rows_without_text"], chosen["rows_excluded"]) == (1, 1, 2)
    assert chosen["rows"] == {"where": {"party": ["D"], "year": ["1850", "1851"]}}
    assert documents(source, where="year=") == ["tea for two\n"]
    with pytest.raises(ft.FirthianError, match=r"no column 'body': set text_column to one of 'text', 'party', 'year'"):
        ft.count(source, text_column="body")
    with pytest.raises(ft.FirthianError, match=r"no column 'sex': its columns are 'text', 'party', 'year'"):
        ft.count(source, where={"sex": "M"})
    with pytest.raises(ft.FirthianError, match=r"1: expected text in the column 'year', got (int|float)"):
        ft.count(source, text_column="year")
    with pytest.raises(ft.FirthianError, match=r"no words in .* \(4 rows excluded by where, 0 without text\)"):
        ft.count(source, where=["party=X"])


def test_any_training_reads_tables() -> None:
    frame = pd.DataFrame({"text": ["the cat sat on the mat", "the dog sat"] * 5, "kind": ["a", "b"] * 5})
    vectors = ft.train(frame, "svd", vector_size=2, counting={"min_count": 1, "sample": 0, "where": {"kind": "a"}})
    assert "mat" in vectors
    assert "dog" not in vectors


def test_queries(tmp_path: Path) -> None:
    for source, name in (
        (parquet(tmp_path), "corpus"),
        (json_lines(tmp_path), "corpus"),
        (database(tmp_path), "posts"),
    ):
        assert documents(source, sql=f"SELECT text FROM {name} WHERE party = 'R'") == ["cold dög tea\n"]
        with pytest.raises(ft.FirthianError, match=r"cannot be read \(.*nowhere.*\): check the query"):
            documents(source, sql="SELECT text FROM nowhere")
    tsv = tmp_path / "a.tsv"
    tsv.write_text('text\tn\n"two" words\t1\nthree\t2\n')
    assert documents(str(tsv), sql="SELECT text FROM corpus WHERE n < 2") == ['"two" words\n']
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE notes (note VARCHAR)")
    with pytest.raises(ft.FirthianError, match=r"2 tables \('\w+', '\w+'\): choose text with sql"):
        documents(str(tmp_path / "a.duckdb"))
    with pytest.raises(ft.FirthianError, match="sql has no effect on a table in memory"):
        documents(ROWS, sql="SELECT 1")


@pytest.mark.parametrize("sql", ["SELECT text FROM seen", "SELECT seen() AS text", "COPY posts TO 'FOLDER/b.csv'"])
def test_a_database_reads_and_writes_no_other_file(sql: str, tmp_path: Path) -> None:
    source = database(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    with duckdb.connect(source) as connection:
        reading = f"SELECT content AS text FROM read_text('{tmp_path}/secret.txt')"
        connection.execute(f"CREATE VIEW seen AS {reading}")
        connection.execute(f"CREATE MACRO seen() AS ({reading})")
    with pytest.raises(ft.FirthianError, match="disabled"):
        documents(source, sql=sql.replace("FOLDER", str(tmp_path)))
    assert {item.name for item in tmp_path.iterdir()} == {"a.duckdb", "secret.txt"}


@pytest.mark.parametrize(
    ("corpus", "settings", "message"),
    [
        ({"text": ["a", 3]}, {}, r"the table, row 2: expected text in the column 'text', got int"),
        ({"text": ["a", b"b"]}, {}, r"row 2: expected text in the column 'text', got bytes"),
        ({"text": [["a"], ["b"]]}, {}, r"row 1: expected text in the column 'text', got list"),
        ([{"text": {"de": "a"}}], {}, r"row 1: expected text in the column 'text', got dict"),
        ({"text": ["a"], "n": [[1]]}, {"where": "n=1"}, r"row 1: the column 'n' holds a list, which where cannot compare"),
        ({"text": ["a"], "n": [1, 2]}, {"where": "n=1"}, "differ in length"),
        ({"text": "a b"}, {}, "expected a list of values in the column 'text', got a str"),
        ([{"text": "a"}, {"txt": "b"}], {}, r"row 2: no column 'text': the row has 'txt'"),
        ([{"text": "a"}, "b"], {}, "row 2 is a str, unlike the first one"),
        (iter([{"text": "a"}]), {}, "a one-shot iterator"),
        (["a b", "c"], {"where": "n=1"}, "where has no effect on documents without columns"),
        (["a b", "c"], {"text_column": "n"}, "text_column has no effect on documents without columns"),
        ({"a": ["x"], "b": ["y"]}, {}, r"no column 'text': set text_column to one of 'a', 'b'"),
        ({"text": [None, float("nan")]}, {}, r"0 rows excluded by where, 2 without text"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), {}, "two columns 'text'"),
        ([{"text": "a"}], {"where": "n"}, "expected COLUMN=VALUE, got 'n'"),
        (lambda: duckdb.sql("SELECT error('no') AS text"), {}, r"the table cannot be read \(.*no"),
    ],
)  # fmt: skip
def test_faults(corpus: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.FirthianError, match=message):
        ft.count(corpus() if callable(corpus) else corpus, min_count=1, **settings)


def test_a_column_is_found_by_its_usual_name_or_because_it_is_the_only_one() -> None:
    assert documents({"Id": ["1"], "Body": ["tea"]}) == ["tea\n"]
    assert documents({"speech": ["tea"]}) == ["tea\n"]


def test_a_file_may_not_claim_more_than_it_holds(tmp_path: Path) -> None:
    from pyarrow import parquet as writer

    # A billion nulls take no space.
    nulls = pa.chunked_array([pa.nulls(1 << 20, pa.string())] * 32)
    writer.write_table(pa.table({"text": nulls}), tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(ft.FirthianError, match=r"a.parquet is truncated or damaged \(it claims 33,554,432 values in"):
        documents(str(tmp_path / "a.parquet"))


@pytest.mark.parametrize("write", [parquet, feather, stream, database])
def test_cut_off_files(tmp_path: Path, write: Callable[[Path], str]) -> None:
    path = Path(write(tmp_path))
    whole = path.read_bytes()
    for size in (len(whole) // 2, 13, 0):
        path.write_bytes(whole[:size])
        with pytest.raises(ft.FirthianError, match=rf"{path.name} (is truncated or damaged|has no tables)"):
            documents(str(path))


def test_bytes_that_are_not_utf8_are_counted(tmp_path: Path) -> None:
    from pyarrow import parquet as writer

    writer.write_table(pa.table({"text": pa.array([b"caf\xe9 au lait"])}), tmp_path / "a.parquet")
    counts = ft.count(str(tmp_path / "a.parquet"), min_count=1)
    assert counts.record["corpus"]["undecodable_bytes"] == 1


def test_batches_are_small_whatever_the_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sizes: list[int] = []
    kept = arrow_reader._values
    monkeypatch.setattr(arrow_reader, "_values", lambda column: sizes.append(column.nbytes) or kept(column))
    long = pa.table({"text": [f"{number} " + "tea " * 200_000 for number in range(64)]})
    with pa.ipc.new_file(tmp_path / "a.arrow", long.schema) as out:
        out.write_table(long)
    assert len(documents(str(tmp_path / "a.arrow"))) == 64
    assert max(sizes) <= 16 * 800_100
    assert len(sizes) == 4


def test_skipped_rows_are_counted_once_in_any_division(tmp_path: Path) -> None:
    rows = [{"text": f"word{n}" if n % 3 else None, "n": n % 2} for n in range(3000)]
    whole = ft.count(rows, min_count=1, where={"n": 1}).record["corpus"]
    assert (whole["rows_excluded"], whole["rows_without_text"], whole["documents"]) == (1500, 500, 1000)
    segments = list(cut_segments(open_corpus(rows, where={"n": 1}), segment_bytes=100))
    assert len(segments) > 50
    assert [sum(counts) for counts in zip(*(segment.skipped for segment in segments), strict=True)] == [500, 1500]
