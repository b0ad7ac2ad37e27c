"""Reports, and the verbs adapt and classify."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from firthian.adapt import PAClassifier, RPAClassifier
from firthian.adapt.report import calibration, evaluate, learning_curve, plot, sample_curve, scores
from firthian.errors import FirthianError


def test_scores_are_scikit_learns():
    random = np.random.default_rng(0)
    truth = random.choice(["a", "b", "c"], 200).tolist()
    guess = [t if random.random() < 0.6 else random.choice(["a", "b", "c"]).item() for t in truth]
    found = scores(truth, guess, ["a", "b", "c"])
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, guess))
    assert found["macro_f1"] == pytest.approx(f1_score(truth, guess, average="macro"))
    assert found["confusion"] == confusion_matrix(truth, guess).tolist()
    assert found["labels"]["b"]["f1"] == pytest.approx(f1_score(truth, guess, average=None)[1])


def test_calibration_of_honest_and_of_useless_margins():
    random = np.random.default_rng(1)
    margin = random.exponential(1, 20_000)
    honest = calibration(margin, random.random(20_000) < 1 / (1 + np.exp(-(2 * margin - 0.5))))
    assert honest["expected_error"] < 0.02
    assert honest["slope"] == pytest.approx(2, abs=0.2)
    assert honest["offset"] == pytest.approx(-0.5, abs=0.15)
    useless = calibration(margin, random.random(20_000) < 0.7)
    assert abs(useless["slope"]) < 0.1
    # Of several classes, the margin is the lead of the first over the second.
    table = np.stack([np.zeros(20_000), margin, -margin], axis=1)
    right = random.random(20_000) < 0.7
    assert calibration(table, right) == calibration(margin, right)
    assert calibration(margin[:3], right[:3]) == {}


def test_mistakes_before_learning_become_fewer(three_topics):
    curve = learning_curve(RPAClassifier("random:20").fit(three_topics[0], three_topics[1]))
    assert [point["pass"] for point in curve] == [1, 2, 3, 4, 5]
    assert curve[-1]["mistakes"] < curve[0]["mistakes"] / 2


def test_a_label_only_the_test_part_has(two_topics):
    model = RPAClassifier("random:5").fit(two_topics[0], two_topics[1])
    with pytest.raises(FirthianError, match="test part has the label 'plants'"):
        evaluate(model, ["a rose"], ["plants"])


@pytest.fixture
def labeled(tmp_path, three_topics):
    texts, labels, test, truth = three_topics
    path = tmp_path / "topics.tsv"
    rows = [f"train\t{label}\t{text}" for text, label in zip(texts, labels, strict=True)]
    rows += [f"test\t{label}\t{text}" for text, label in zip(test, truth, strict=True)]
    path.write_text("\n".join([*rows, "test\tnumbers\t?"]) + "\n")
    return path


def test_adapt_and_classify(tmp_path, labeled, firth):
    done = firth("adapt", labeled, "-v", "random:20", "-o", tmp_path / "m", "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert report["test"]["accuracy"] > 0.9
    assert report["test"]["empty_documents"] == 1
    assert report["training"]["examples"] == 200
    assert report["learning_curve"][-1]["examples"] == 200
    kept = json.loads((tmp_path / "m" / "report.json").read_text())
    assert kept["test"] == report["test"]
    texts = tmp_path / "new.txt"
    texts.write_text("the cat and the dog\nit was red and green\nfive or six\n")
    answers = firth("classify", tmp_path / "m", texts)
    rows = [json.loads(line) for line in answers.out.splitlines()]
    assert [row["label"] for row in rows] == ["animals", "colors", "numbers"]
    assert all(max(row["scores"], key=row["scores"].get) == row["label"] for row in rows)
    assert firth("classify", tmp_path / "m", texts, "--labels-only").out == "animals\ncolors\nnumbers\n"
    firth("adapt", labeled, "-o", tmp_path / "m").complains("already exists")


def test_bytes_that_are_no_text_are_told(tmp_path, labeled, firth):
    labeled.write_bytes(labeled.read_bytes() + b"train\tanimals\tthe c\xe4t\n")
    done = firth("adapt", labeled, "-v", "random:9", "-o", tmp_path / "m", "--no-learning-curve")
    assert done.code == 0
    assert "replaced bytes that are not UTF-8 in 1 texts" in done.out
    (tmp_path / "new.txt").write_bytes(b"the c\xe4t and a dog\nthe dog\n")
    done = firth("classify", tmp_path / "m", tmp_path / "new.txt", "--labels-only")
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    assert done.err == "replaced bytes that are not UTF-8 in 1 texts\n"


def test_classify_calls_no_function_that_only_a_file_names(tmp_path, labeled, firth):
    own = "tests.text.my_tokenizer:letters"
    done = firth(
        "adapt", labeled, "-v", "random:9", "-o", tmp_path / "m", "--no-learning-curve", "--set", f"tokenizer={own}"
    )
    assert done.code == 0, done.err
    (tmp_path / "new.txt").write_text("the cat\n")
    command = ("classify", tmp_path / "m", tmp_path / "new.txt")
    firth(*command).complains("a custom tokenizer", f"--tokenizer {own}")
    firth(*command, "--tokenizer", "unicode").complains("another tokenizer (tokenizer tests", "pass that one")
    assert firth(*command, "--tokenizer", own).code == 0


def test_parts_that_are_neither_learned_from_nor_judged_are_told(tmp_path, labeled, firth):
    labeled.write_text(labeled.read_text() + "dev\tanimals\tthe cat\ndev\tanimals\tthe dog\nTrain\tanimals\ta cat\n")
    done = firth("adapt", labeled, "-v", "random:9", "-o", tmp_path / "m", "--no-learning-curve")
    assert done.code == 0
    assert "neither train nor test were skipped: Train 1, dev 2\n" in done.out


def test_labels_are_no_formulas(tmp_path):
    pytest.importorskip("matplotlib")
    report = {
        "training": {"passes": [{"pass": 1, "mistakes": 0.5}]},
        "test": {"confusion": [[1, 0], [0, 1]], "labels": {"$a_{$": {}, "tab\there": {}}, "calibration": {}},
    }
    plot(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 0


def test_the_curve_of_a_classifier_whose_classes_grew(three_topics):
    texts, labels, _, _ = three_topics
    model = RPAClassifier("random:9").partial_fit(texts[:80], labels[:80])
    known = len(model.history_)
    model.partial_fit([*texts[80:], "entirely new"], [*labels[80:], "zebra"])
    assert sorted({len(history) for history in model.history_}) == [1, 2]
    first, last = learning_curve(model)
    assert (first["pass"], last["pass"]) == (1, 2)
    assert first["mistakes"] == sum(h[0]["mistakes"] for h in model.history_[:known]) / (80 * known)
    assert last["updates"] == sum(h[-1]["updates"] for h in model.history_) / sum(
        h[-1]["examples"] for h in model.history_
    )


def test_shares_without_words_are_left_out_of_the_curve():
    # Each word comes twice: a small share has none of them twice, the whole has all.
    texts, labels = [f"{'ab'[n % 2]}{n % 20}" for n in range(40)], ["a", "b"] * 20
    model = PAClassifier("onehot", min_count=2).fit(texts, labels)
    curve = sample_curve(model, texts, labels, texts, labels)
    assert curve[0]["examples"] > 2
    assert curve[-1] == {"examples": 40, "accuracy": 1.0}


def test_texts_without_a_known_word_are_counted(tmp_path, labeled, firth):
    adapted = firth(
        "adapt", labeled, "-v", "random:9", "-o", tmp_path / "m", "--no-learning-curve", "--set", "ngrams=2"
    )
    assert adapted.code == 0, adapted.err
    texts = tmp_path / "new.txt"
    texts.write_text("the cat\n\nzyx\n")
    answers = firth("classify", tmp_path / "m", texts)
    assert answers.code == 0
    assert "2 of 3 texts contain no known word and get the label animals" in answers.err
    assert [json.loads(line)["label"] for line in answers.out.splitlines()] == ["animals"] * 3
    assert "-0.0" not in answers.out


def test_adapt_searches(tmp_path, labeled, firth):
    done = firth("adapt", labeled, "-v", "onehot", "-o", tmp_path / "m", "--cv", 3, "--no-learning-curve", "--seed", 2)
    assert done.code == 0, done.err
    assert "plain PA" in done.out
    assert "cross-validation (3 folds): C " in done.out
    report = json.loads((tmp_path / "m" / "report.json").read_text())
    assert report["parameters"]["C"] == report["search"]["best"]["C"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--method", "svm"], "unknown method 'svm': choose from: rpa, pa"),
        (["--set", "lamb=1"], "no parameter 'lamb'"),
        (["--set", "one_hot=much"], "one_hot"),
        (["-v", "onehot", "--lam", "1"], "--lam has no effect with -v onehot"),
        (["--method", "pa", "--lam", "1"], "--lam has no effect with --method pa"),
        (["--set", "n_jobs=2"], "n_jobs cannot be given with --set: use --workers"),
        (["--set", "random_state=2"], "use --seed"),
        (["--set", "n_job=2"], "no parameter 'n_job': choose from:"),
        (["--set", "C=abc"], "--set C must be a number, got 'abc': how much one example"),
        (["--set", "C=1", "-C", "2"], "C is given as a flag and with --set C: give it once"),
        (["--cv", "1000"], "more folds than the 200 training examples: pass --cv 200 or less"),
        (["--grid", "paper"], "--grid has no effect without --cv: add --cv 5"),
        (["--cv", "3", "--grid", "huge"], "unknown grid 'huge': choose from: usual, paper"),
        (["-C", "0"], "firth: -C must be larger than 0"),
        (["--cost", "-1"], "firth: --cost must be larger than 0"),
        (["-C", "inf"], "hard margin"),
        (["--lam", "0"], "--lam must be larger than 0, got 0.0"),
        (["-v", "nowhere"], "neither vectors nor random"),
        (["--label-column", "stars"], "no column 'stars'"),
    ],
)
def test_complaints_of_adapt(tmp_path, labeled, firth, flags, says):
    firth("adapt", labeled, "-o", tmp_path / "m", *flags).complains(says)
    assert not (tmp_path / "m").exists()


def test_complaints_of_classify(tmp_path, firth):
    text = tmp_path / "a.txt"
    text.write_text("x\n")
    firth("classify", tmp_path, text).complains("it has no model.json")
    firth("adapt", text, "-o", tmp_path / "m").complains("no label")
    firth("adapt", text).complains("no output folder: pass -o FOLDER")
