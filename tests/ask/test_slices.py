"""Slices and units of tables and of several corpora, and mistakes in them."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.ask.slices import slices_of
from firthian.errors import FirthianError

TABLE = {
    "text": ["a b", "b c", "c d", "d e", "e f", "f g"],
    "year": ["1840", "1850", "1860", "1870", "1880", "1890"],
    "author": ["x", "x", "y", "y", "z", "z"],
    "same": ["1"] * 6,
}


def test_a_value_equal_to_a_cut_belongs_below_it():
    slices = slices_of([TABLE], "year", [1860], None)
    assert slices.names == ["1840–1860", "1870–1890"]
    assert slices.unit_slices.tolist() == [0, 0, 0, 1, 1, 1]
    assert slices.unit == "documents"


def test_units_are_groups_within_a_slice():
    slices = slices_of([TABLE], "year", [1860], "author")
    # y wrote in both slices: four units.
    assert slices.unit_of.tolist() == [0, 0, 1, 2, 3, 3]
    assert slices.unit_slices.tolist() == [0, 0, 1, 1]
    assert any("more than one slice" in note for note in slices.notes)


def test_documents_without_a_value_are_left_out_and_counted():
    table = {**TABLE, "year": ["1840", "", "1860", "1870", "NA", "1890"]}
    slices = slices_of([table], "year", [1860], None)
    assert len(slices.unit_of) == 4
    assert "2 documents" in slices.notes[0]
    with pytest.raises(FirthianError, match="the table, row 2: no value of 'year'"):
        slices_of([table], "year", [1860], None, missing="refuse")


def test_every_corpus_is_a_slice(tmp_path):
    for name, lines in (("old.txt", "a b\n\nc d\n"), ("new.txt", "e f\ng h")):
        (tmp_path / name).write_text(lines)
    slices = slices_of([tmp_path / "old.txt", tmp_path / "new.txt"], None, None, None)
    assert slices.names == ["old.txt", "new.txt"]
    assert slices.unit_slices.tolist() == [0, 0, 0, 1, 1]
    named = slices_of([{"then": ["a", "b"], "now": ["c", "d"]}], None, None, None)
    assert named.names == ["then", "now"]


def test_bundles_are_of_one_slice_and_of_equal_size():
    texts = ["a"] * 1000
    slices = slices_of([texts, texts[:500]], None, None, None).bundled(np.random.default_rng(0), 60)
    assert slices.sizes.tolist() == [40, 20]
    assert np.bincount(slices.unit_of).tolist() == [25] * 60
    assert (slices.unit_slices[slices.unit_of] == np.repeat([0, 1], [1000, 500])).all()


@pytest.mark.parametrize(
    ("corpora", "settings", "message"),
    [
        ([TABLE], {"by": None}, "no column to slice it by"),
        ([TABLE], {"by": "yaer"}, "no column 'yaer'"),
        ([TABLE], {"by": "same"}, "has one value, '1'"),
        ([TABLE], {"by": "author", "cuts": [3]}, "need numbers"),
        ([TABLE], {"by": "year", "cuts": [1860, 1850]}, "ascending"),
        ([TABLE], {"by": "year", "cuts": [1800]}, "up to 1800 has no documents"),
        ([TABLE], {"by": "year", "cuts": [1900]}, "above 1900 has no documents"),
        ([TABLE], {"by": "year", "cuts": [1840]}, "has only 1 of the documents"),
        ([TABLE], {"by": "year", "cuts": [1850], "unit": "author"}, "only 1 of the values of 'author'"),
        ([TABLE], {"by": "year", "unit": "writer"}, "no column 'writer'"),
        ([["a", "b"], []], {}, "the slice slice 2 has no documents"),
        ([["a", "b"], ["c", "d"]], {"by": "year"}, "`by` has no effect|by has no effect"),
        ([{"text": ["a"] * 60, "day": [str(n) for n in range(60)]}], {"by": "day"}, "60 values"),
    ],
)  # fmt: skip
def test_mistakes_name_the_remedy(corpora, settings, message):
    settings = {"by": None, "cuts": None, "unit": None, **settings}
    with pytest.raises(FirthianError, match=message) as caught:
        slices_of(corpora, **settings)
    assert caught.value.hint
