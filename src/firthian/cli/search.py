"""``firth index``, ``firth search`` and ``firth dedupe``: search documents, and find near-duplicates."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.options import print_json, require_output
from firthian.disk.stopping import catching_signals
from firthian.errors import FirthianError
from firthian.runtime.progress import on_terminal

_Index = typer.Argument(..., metavar="INDEX", help="Folder made by firth index.")
_Moved = typer.Option(None, "-v", "--vectors", help="Where the vectors of the index are now, if they moved.")


@app.command()
def index(
    vectors: flags.Source,
    texts: list[str] = typer.Argument(..., help="Documents: one per line, or a table with a column; - is stdin."),
    output: flags.Output = None,
    format: flags.CorpusFormat = "auto",
    text_column: flags.TextColumn = None,
    where: flags.Where = None,
    sql: flags.Sql = None,
    method: str = typer.Option("auto", help="How word vectors are combined: auto, or as for firth encode."),
    add: bool = typer.Option(False, "--add", help="Add the documents to an existing index."),
    workers: flags.Workers = None,
    resume: flags.Resume = False,
    force: flags.Force = False,
    json: flags.Json = False,
) -> None:
    """Index documents, to search them by meaning and by words."""
    from firthian.text.readers import Files
    from firthian.texts.building import index as build
    from firthian.texts.files import told

    output = require_output(output)
    with catching_signals() as stop, on_terminal() as progress:
        stop.patient = True
        built = build(
            vectors, Files(texts, format, text_column, where, sql), output, method=method, workers=workers, add=add,
            resume=resume, force=force, progress=progress, stop=stop,
        )  # fmt: skip
    reading = built.record["reading"]
    if json:
        facts = {"path": output, "documents": len(built), "tokens": built.tokens, "dimensions": built.encoder.dimension}
        print_json({**facts, "segments": len(built.segments), **reading})
        return
    print(f"{len(built):,} documents, {built.tokens:,} tokens in {output}")
    for line in told(reading):
        print(line, file=sys.stderr)


@app.command()
def search(
    index: str = _Index,
    query: list[str] = typer.Argument(..., help="Words to search for; - reads a query from stdin."),
    topn: int = typer.Option(10, help="Documents to list.", min=1),
    method: str = typer.Option("hybrid", help="hybrid, vectors (by meaning) or words (BM25)."),
    vectors: str | None = _Moved,
    json: flags.Json = False,
) -> None:
    """Search an index."""
    from firthian.texts.index import Index
    from firthian.texts.snippets import mark

    opened = Index.load(index, vectors)
    found = opened.search(sys.stdin.read() if query == ["-"] else " ".join(query), topn, method)
    if json:
        print_json(found.to_dict())
        return
    how = "\x1b[1m{}\x1b[0m" if sys.stdout.isatty() else "*{}*"
    for hit in found:
        print(f"{hit.score:9.4f}  line {hit.document + 1:,}: {mark(hit.snippet, hit.matches, how.format)}")
    for note in found.notes:
        print(f"firth: {note}", file=sys.stderr)
    if not found.hits:
        raise FirthianError("no document has anything in common with the query", hint="try other words")


@app.command()
def dedupe(
    index: str = _Index,
    threshold: float = typer.Option(0.95, help="Minimum cosine of near-duplicates, from 0.5 to 1."),
    output: str | None = typer.Option(None, "-o", "--output", help="Write the texts without the duplicates to a file."),
    vectors: str | None = _Moved,
    force: flags.Force = False,
    json: flags.Json = False,
) -> None:
    """List groups of near-duplicate documents."""
    from firthian.disk.atomic import check_file, new_file
    from firthian.texts.index import Index

    if output is not None:
        check_file(output, force)
    opened = Index.load(index, vectors)
    groups = opened.dedupe(threshold)
    extra = {document for group in groups for document in group[1:]}
    if output is not None:
        with new_file(Path(output), force) as file:
            for document in range(len(opened)):
                if document not in extra:
                    file.write(opened.text(document).encode("utf-8", "replace") + b"\n")
    if json:
        print_json({"groups": groups, "documents": len(opened), "duplicates": len(extra)})
        return
    for group in groups:
        print(f"lines {', '.join(f'{document + 1:,}' for document in group)}")
    print(f"{len(groups):,} groups; {len(extra):,} of {len(opened):,} documents repeat another one")
