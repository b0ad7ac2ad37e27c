"""The index page of all studies, with their costs. ``python -m studies.overview``"""

from __future__ import annotations

from dataclasses import dataclass

from firthian.disk.atomic import write_file
from studies.common import PAGES, Study, table


@dataclass(frozen=True)
class Entry:
    """A study: its name, the work it reproduces, and which of its experiments."""

    name: str
    source: str
    holds: str
    #: Whether ``make studies`` runs it.
    always: bool = True
    #: Marks the rows that only ``--large`` computes.
    large: str = ""


ENTRIES = (
    Entry("psdvec", "PSDVec: Li, Zhu and Miao 2015", "Table 2", large="70 M tokens"),
    Entry("iwlrls", "Exponential families: Baer, Seto and Wells", "Tables 1 to 6, Figure 1"),
    Entry("emf", "EMF and SEMF: Li, Xu, Tian, Jiang, Zhong and Chen 2015", "Tables 1 and 2"),
    Entry("bayes", "Bayesian vectors: Sakaya 2015", "Figures 1, 3, 7, 8, 10 to 16, Tables 2, 4, 5, 7"),
    Entry("rpa", "RPA: Denis and Ralaivola", "Tables 1 to 4, Figures 1 and 2"),
    Entry("chunking", "chunking of Sakaya 2015, section 6.6", "Table 7 with our vectors"),
    Entry(
        "regress",
        "conText: Rodriguez, Spirling and Stewart 2023",
        "published figures, speed, calibration",
        always=False,
    ),
    Entry("change", "our own", "calibration and power of tests for change, time and memory", always=False),
    Entry("defaults", "our own", "every recipe at its defaults, what changes if they change"),
    Entry("sgns_settings", "our own", "the settings of the default recipe, on several texts", always=False),
)

#: Fits one CRF at a time on one core, so it runs alongside the others.
BESIDE = "chunking"

TARGET = PAGES / "index.md"

PAGE = """# Studies

These pages reproduce the experiments of the five papers with Firthian, show our results next to theirs, and report which
claims hold. The papers' corpora are larger or not available, so compare numbers within a column, not across corpora. Each page
states its corpus, mostly [Wikipedia](../datasets.md#the-text-of-our-figures). `make studies` computes the rows missing from
`studies/results` and writes these pages; `make studies-quick` runs everything on a small text and writes to
`build/studies/quick`.

{studies}
*minutes* sums the rows whose cost was recorded (`studies/results/costs`), on two cores. Other jobs ran during some of them;
*processor* minutes depend less on that. `make studies` runs everything except embedding regression, change, the settings of
sgns (`python -m studies.regress` and so on) and PSDVec's rows on 70 M tokens (`python -m studies.psdvec --large`):
{alone:.0f} minutes in sequence, {missing}, with chunking running alongside for {beside:.0f} minutes. The total is
{processor:.0f} processor minutes, or at least {least:.0f} minutes on two cores.
"""


def title(name: str) -> str:
    """Return the title of a study's page."""
    return (PAGES / f"{name}.md").read_text().split("\n", 1)[0].removeprefix("# ")


def costs(entry: Entry, large: bool = True) -> tuple[int, int, float, float]:
    """Return the number of rows, of rows with a recorded cost, and their elapsed and processor minutes."""
    study = Study(entry.name)
    rows = [key for key in study.rows if large or not entry.large or entry.large not in key]
    known = [cost for key, cost in study.known_costs.items() if key in rows]
    wall, processor = (sum(cost[which] for cost in known) / 60 for which in ("wall", "cpu"))
    return len(rows), len(known), wall, processor


def main() -> None:
    """Write the page."""
    lines = []
    for entry in ENTRIES:
        rows, known, wall, processor = costs(entry)
        cells = [f"{wall:.0f}", f"{processor:.0f}"] if known else ["–", "–"]
        count = f"{known} of {rows}"
        lines.append([f"[{title(entry.name)}]({entry.name}.md)", entry.source, entry.holds, count, *cells])
    head = ["study", "reproduces", "contents", "rows with a cost", "minutes", "processor"]
    taken = {entry.name: costs(entry, large=False) for entry in ENTRIES if entry.always}
    unknown = sum(rows - known for rows, known, _, _ in taken.values())
    processor = sum(cost[3] for cost in taken.values())
    minutes = {name: cost[2] for name, cost in taken.items()}
    beside = minutes.pop(BESIDE)
    page = PAGE.format(
        studies=table(head, lines),
        alone=sum(minutes.values()),
        missing=f"not counting {unknown} rows without a recorded cost" if unknown else "all rows counted",
        beside=beside,
        processor=processor,
        least=processor / 2,
    )
    write_file(TARGET, page.encode())


if __name__ == "__main__":
    main()
