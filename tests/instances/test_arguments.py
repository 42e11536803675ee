"""Wrong types and sizes end in one sentence, wherever a user can hand them over."""

import pytest

import kanopy as kn


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: kn.example(["fars"]), "unknown example"),
        (lambda: kn.load(["census"]), "unknown data set"),
        (lambda: kn.generate(["simu"]), "unknown generator"),
        (lambda: kn.generate("simu", n="x"), "n must be a whole number, got str"),
        (lambda: kn.generate("simu", n=10.0), "n must be a whole number, got float"),
        (lambda: kn.generate("simu", d=0), "d = 0; choose d ≥ 1"),
        (lambda: kn.generate("simu", seed=None), "seed must be a whole number"),
        (lambda: kn.generate("simu", seed=-1), "seed = -1; choose seed ≥ 0"),
        (lambda: kn.generate("simu", half_width="x"), "half_width must be a number, got str"),
        (lambda: kn.generate("simu", half_width=float("nan")), "half_width = nan"),
        (lambda: kn.generate("simc", clusters=2.5), "clusters must be a whole number"),
        (lambda: kn.generate("simc", fewest=1.5), "fewest must be a whole number"),
        (lambda: kn.generate("simc", noise="x"), "noise must be a number"),
        (lambda: kn.generate("simc", noise=float("inf")), "noise = inf"),
        (lambda: kn.generate("synthetic", n=20.5), "n must be a whole number"),
        (lambda: kn.generate("synthetic", p="x"), "p must be a number"),
        (lambda: kn.generate("synthetic", p=True), "p must be a number, got bool"),
        (lambda: kn.generate("synthetic", k="3"), "k must be a whole number"),
        (lambda: kn.generate("synthetic", domain=5), "domain must be a list"),
        (lambda: kn.generate("synthetic", domain=("a", 3)), "domain must be a whole number"),
        (lambda: kn.generate("synthetic", duplication=[1]), "unknown duplication"),
        (lambda: kn.generate("synthetic", seed=1.5), "seed must be a whole number"),
        (lambda: kn.generate("3dm", q=2.5), "q must be a whole number"),
        (lambda: kn.generate("3dm", extra="x"), "extra must be a whole number"),
        (lambda: kn.generate("3dm", seed="x"), "seed must be a whole number"),
        (lambda: kn.sample(kn.example("fars"), 2.5), "size must be a whole number"),
        (lambda: kn.sample(kn.example("fars"), 5, ["norm"]), "unknown criterion"),
        (lambda: kn.sample(kn.example("fars"), 5, number=0.5), "number must be a whole number"),
        (lambda: kn.sample(kn.example("fars"), 5, subsets=0), "subsets = 0"),
        (lambda: kn.sample(kn.example("fars"), 5, seed=-3), "seed = -3"),
    ],
)
def test_one_sentence(call, said):
    with pytest.raises(kn.KanopyError, match=said):
        call()


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"rows": 1.5}, "rows must be a whole number"),
        ({"rows": "x"}, "rows must be a whole number"),
        ({"rows": True}, "rows must be a whole number"),
        ({"rows": 5, "seed": -1}, "seed = -1"),
        ({"columns": True}, "columns must be a whole number"),
        ({"columns": 1.5}, "columns must be a whole number"),
        ({"columns": [["AGI"]]}, "unknown attribute of 'census'"),
    ],
)
def test_samples_of_a_data_set(parameters, said):
    with pytest.raises(kn.KanopyError, match=said):
        kn.load("census", **parameters)
