"""Linear models from the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import softcount
from softcount import GLM

Command = Callable[..., int]
pytest.importorskip("formulaic", reason="formulas need formulaic")


def claims(n: int = 120) -> str:
    rng = np.random.default_rng(0)
    lines = ["region,age,years,claims,won,district"]
    for i in range(n):
        age, years, region = 20 + i % 50, 0.5 + rng.random(), ["north", "south", "west"][i % 3]
        mean = years * np.exp(0.5 - 0.02 * (age - 40) + 0.4 * (region == "west"))
        lines.append(
            f"{region},{age},{years:.4f},{rng.poisson(mean)},{['no', 'yes'][int(rng.random() < 0.5)]},{1 + i % 4}"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def claims_file(tmp_path: Path) -> Path:
    path = tmp_path / "claims.csv"
    path.write_text(claims())
    return path


FORMULA = "claims ~ age + region"


def test_the_table_is_that_of_the_model_in_python(
    command: Command, claims_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd = pytest.importorskip("pandas")
    arguments = ("glm", claims_file, FORMULA, "--family", "poisson", "--exposure", "years")
    assert command(*arguments, "--json") == 0
    told = capsys.readouterr()
    content = json.loads(told.out)
    model = GLM("poisson").fit_formula(FORMULA, pd.read_csv(claims_file), exposure="years")
    table = model.summary()
    assert content["schema"] == "softcount.glm/1"
    assert [c["term"] for c in content["coefficients"]] == list(table.names)
    np.testing.assert_allclose([c["estimate"] for c in content["coefficients"]], table.estimates, rtol=1e-10)
    np.testing.assert_allclose([c["standard_error"] for c in content["coefficients"]], table.standard_errors, rtol=1e-8)
    np.testing.assert_allclose([c["lower"] for c in content["coefficients"]], table.intervals[:, 0], rtol=1e-8)
    assert content["aic"] == pytest.approx(model.aic_)
    assert command(*arguments, "--ratios") == 0
    out = capsys.readouterr().out
    assert str(table) in out
    assert f"{np.exp(model.coef_[0]):.5g}" in out


def test_a_model_file_predicts_new_rows_with_their_exposure(
    command: Command, claims_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = command("glm", claims_file, "claims ~ log(age) * region + C(district)", "--family", "poisson",
                   "--exposure", "years", "-m", "claims.softcount", "-q")  # fmt: skip
    assert code == 0
    Path("new.csv").write_text("district,region,age,years\n2,west,33,1.5\n4,north,50,2\n")
    capsys.readouterr()
    assert command("predict", "claims.softcount", "new.csv", "--only-answers", "-q") == 0
    found = [float(line) for line in capsys.readouterr().out.splitlines()[1:]]
    rows = {"district": [2, 4], "region": ["west", "north"], "age": [33, 50]}
    expected = softcount.load("claims.softcount").predict(rows, exposure=[1.5, 2.0])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for text, message in (
        ("district,region,age,years\n2,east,33,1.5\n", "Line 2, column 'region' holds 'east', which was not there"),
        ("district,region,age,years\n2,west,?,1.5\n", "line 2, column 'age'"),
        ("district,region,age,years\n2,west,33,1\n2,west,old,1\n", "Line 3, column 'age' holds 'old'"),
        ("district,region,age\n2,west,33\n", "['years'], which are not there"),
    ):
        Path("bad.csv").write_text(text)
        assert command("predict", "claims.softcount", "bad.csv") == 3
        assert message in capsys.readouterr().err
    assert command("info", "claims.softcount") == 0
    assert "claims ~ log(age) * region + C(district)" in capsys.readouterr().out


def test_a_model_file_runs_no_formula() -> None:
    from softcount._errors import InputError
    from softcount.estimators.glm.design import DesignColumn, DesignFactor, FormulaDesign

    with pytest.raises(InputError, match="no known function"):
        FormulaDesign((DesignColumn("x", (DesignFactor("x", "__import__"),)),))


def test_a_formula_that_a_model_file_cannot_keep_is_fitted_but_not_saved(
    command: Command, claims_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("glm", claims_file, "claims ~ poly(age, 2)") == 0
    assert command("glm", claims_file, "claims ~ poly(age, 2)", "-m", "m.softcount") == 3
    assert "more than a model file can keep" in capsys.readouterr().err
    assert not Path("m.softcount").exists()


def test_a_target_of_two_texts_is_coded_and_said_so(
    command: Command, claims_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    estimates = []
    for arguments in ((), ("--success", "no")):
        assert command("glm", claims_file, "won ~ age", "--family", "binomial", "--json", *arguments) == 0
        content = json.loads(capsys.readouterr().out)
        assert "1 where it holds" in content["notes"][0]
        estimates.append(content["coefficients"][1]["estimate"])
    assert estimates[0] == pytest.approx(-estimates[1])


def test_missing_cells_are_refused_with_the_line_or_dropped_with_their_number(
    command: Command, claims_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = claims().splitlines()
    lines[5] = lines[5].replace("north", "?").replace("south", "?").replace("west", "?")
    claims_file.write_text("\n".join(lines))
    assert command("glm", claims_file, FORMULA) == 3
    assert "1 of 120 rows have a missing cell; the first is line 6, column 'region'" in capsys.readouterr().err
    assert command("glm", claims_file, FORMULA, "--drop-missing", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["n_dropped"] == 1
    assert content["n_observations"] == 119


def test_counts_that_vary_too_much_for_their_family_are_noted(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    counts = rng.negative_binomial(1.0, 0.1, 200)
    Path("c.csv").write_text("y,x\n" + "".join(f"{c},{i % 7}\n" for i, c in enumerate(counts)))
    assert command("glm", "c.csv", "y ~ x", "--family", "poisson") == 0
    assert "Try --family quasipoisson or negative_binomial" in capsys.readouterr().err
    assert command("glm", "c.csv", "y ~ x", "--family", "negative_binomial") == 0
    assert "Try" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("claims ~ agee",), "did you mean 'age'?"),
        (("claims age",), "has no '~'"),
        (("claims ~ age +",), "cannot be read"),
        (("claims ~ age", "--exposure", "yeers"), "did you mean 'years'?"),
        (("claims ~ age", "--exposure", "region", "--family", "poisson"), "'region' for exposure holds texts"),
        (("region ~ age",), "3 different texts"),
        (("claims ~ age", "--family", "poison"), "poison"),
        (("claims ~ age", "--exposure", "years"), "link 'log'"),
        (("claims ~ age", "-m", "claims.csv"), "would replace an input"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_the_reason(
    arguments: tuple[str, ...], message: str, command: Command, claims_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("glm", "claims.csv", *arguments) in (2, 3)
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told
