"""The page that leads to all studies, with what each took. ``python -m studies.overview``"""

from __future__ import annotations

from dataclasses import dataclass

from firthian.disk.artifact import write_file
from studies.common import PAGES, Study, table


@dataclass(frozen=True)
class Entry:
    """A study: its name, the work whose experiments it repeats, and which of them."""

    name: str
    source: str
    holds: str
    #: Whether ``make studies`` runs it.
    always: bool = True
    #: What names its rows that only ``--large`` computes.
    large: str = ""


ENTRIES = (
    Entry("psdvec", "PSDVec: Li, Zhu and Miao 2015", "Table 2", large="70 M tokens"),
    Entry("iwlrls", "Exponential families: Baer, Seto and Wells", "Tables 2 to 6, Figure 1"),
    Entry("emf", "EMF and SEMF: Li, Xu, Tian, Jiang, Zhong and Chen 2015", "Tables 1 and 2"),
    Entry("bayes", "Bayesian vectors: Sakaya 2015", "Figures 1, 3, 7, 8, 10 to 16, Tables 2, 4, 5, 7"),
    Entry("rpa", "RPA: Denis and Ralaivola", "Tables 1 to 4, Figures 1 and 2"),
    Entry("chunking", "chunking of Sakaya 2015, section 6.6", "Table 7 with our vectors"),
    Entry("defaults", "our own", "every recipe at its defaults, what changes if they change"),
    Entry("sgns_settings", "our own", "the settings of the default recipe, on several texts", always=False),
)

#: Fits one CRF after another, each on one core: runs beside the others, when they leave a core idle.
BESIDE = "chunking"

TARGET = PAGES / "index.md"

PAGE = """# Studies

The experiments of the five papers, done again with Firthian: our figures beside theirs, and which of their claims hold here.
The papers' corpora are larger or not to be had, so figures compare down a column, not across corpora; each page says what it
was made of, mostly [Wikipedia](../datasets.md#the-text-of-our-figures). `make studies` computes what is not in
`studies/results` yet and writes these pages; `make studies-quick` tries everything on a small text, into
`build/studies/quick`.

{studies}
*minutes* are those of the rows whose cost is known (`studies/results/costs`), on two cores. Other work had a share of the
machine for some of them; *processor* minutes depend on that less. `make studies` runs all but the last study and the rows of
PSDVec on 70 M tokens (`python -m studies.psdvec --large`). That is {alone:.0f} minutes one after the other, {missing}; beside
them chunking runs for {beside:.0f} minutes, with what they leave of the two cores. All of it takes {processor:.0f} minutes of
processors: {least:.0f} on two cores that never wait.
"""


def title(name: str) -> str:
    """Give the title of a study's page."""
    return (PAGES / f"{name}.md").read_text().split("\n", 1)[0].removeprefix("# ")


def costs(entry: Entry, large: bool = True) -> tuple[int, int, float, float]:
    """Give a study's rows, those with a known cost, and the minutes of the clock and of processors these took."""
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
    head = ["study", "after", "holds", "rows with a cost", "minutes", "processor"]
    taken = {entry.name: costs(entry, large=False) for entry in ENTRIES if entry.always}
    unknown = sum(rows - known for rows, known, _, _ in taken.values())
    processor = sum(cost[3] for cost in taken.values())
    minutes = {name: cost[2] for name, cost in taken.items()}
    beside = minutes.pop(BESIDE)
    page = PAGE.format(
        studies=table(head, lines),
        alone=sum(minutes.values()),
        missing=f"without {unknown} rows whose cost is not known" if unknown else "all rows counted",
        beside=beside,
        processor=processor,
        least=processor / 2,
    )
    write_file(TARGET, page.encode())


if __name__ == "__main__":
    main()
