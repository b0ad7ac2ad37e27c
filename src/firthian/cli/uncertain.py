"""``firth uncertain``: how sure a Bayesian model is of words, of a similarity, of an analogy."""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, Seed, Source, refuse_idle, say, show_json


@app.command()
def uncertain(
    context: typer.Context,
    vectors: Source,
    words: Annotated[
        list[str] | None, typer.Argument(help="Words to ask about. [default: the least certain words]")
    ] = None,
    topn: Annotated[int, typer.Option(help="How many words to list.", min=1)] = 20,
    min_count: Annotated[int, typer.Option(help="Leave out words seen less often.", min=0)] = 0,
    at_equal_count: Annotated[
        bool, typer.Option("--at-equal-count", help="Rank by what the count of a word does not explain.")
    ] = False,
    neighbors: Annotated[
        int, typer.Option(help="Also list so many neighbors of each word, with intervals.", min=0)
    ] = 0,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.9,
    analogy: Annotated[
        bool, typer.Option("--analogy", help="Read three words as an analogy a : b :: c : ? with probabilities.")
    ] = False,
    draws: Annotated[int, typer.Option(help="Draws from the posterior for --analogy.", min=1)] = 500,
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Say how sure a Bayesian model is of words. Without words, list those it is least sure of."""
    from firthian.errors import FirthianError
    from firthian.vectors import uncertainty as ask
    from firthian.vectors.loading import open_vectors

    ask.check_level(level)
    if words:
        refuse_idle(
            context, ("at_equal_count", "min_count"), "of words that are named", "leave out the words, or the flag"
        )
    refuse_idle(context, ("neighbors",) if analogy else ("draws",), f"{'with' if analogy else 'without'} --analogy")
    found = open_vectors(vectors)
    if analogy:
        if words is None or len(words) != 3:
            raise FirthianError("an analogy has three words", hint="write: firth uncertain VECTORS --analogy A B C")
        answers = ask.analogy(found, words[0], words[1], words[2], topn=topn, draws=draws, seed=seed)
        if json:
            show_json([vars(answer) for answer in answers])
            return
        say(f"{'comes first':>11} {'score':>7}  word")
        for answer in answers:
            say(f"{answer.probability:11.3f} {answer.score:7.4f}  {answer.word}")
        return
    if words:
        rows = [ask.uncertainty(found, word) for word in words]
    else:
        rows = ask.least_certain(found, topn, min_count, at_equal_count)
    near = [ask.most_similar(found, row.word, neighbors, level=level) if neighbors else [] for row in rows]
    if json:
        show_json(
            [
                {**row.to_dict(), **({"neighbors": [vars(item) for item in items]} if neighbors else {})}
                for row, items in zip(rows, near, strict=True)
            ]
        )
        return
    # What words are ranked by stands first.
    ranked = f"{'excess':>7} " if at_equal_count and not words else ""
    say(f"{ranked}{'relative':>9} {'trace':>10} {'log det':>9} {'spread':>7} {'count':>9}  word")
    for row, items in zip(rows, near, strict=True):
        excess = f"{row.excess:7.3f} " if ranked else ""
        say(
            f"{excess}{row.relative:9.4f} {row.trace:10.4g} {row.log_determinant:9.1f} {row.effective_dimensions:7.1f} "
            f"{row.count:9,}  {row.word}"
        )
        for item in items:
            say(f"{'':14}{item.score:7.4f}  [{item.low:.4f}, {item.high:.4f}]  {item.word}")
