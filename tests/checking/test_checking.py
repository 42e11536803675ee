"""Certificates against brute force: what the checker accepts is true, whatever is in the file."""

import ast
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import oracles
import pandas as pd
import pytest

import kanopy as kn
from kanopy.checking import CertificateError, check, read_certificate
from kanopy.checking.certificate import (
    Branch,
    Certificate,
    Duals,
    Leaf,
    Listing,
    from_bytes,
    to_bytes,
)
from kanopy.checking.proof import Scope, _Proof
from kanopy.checking.search import Allowed, Costs, Prices
from kanopy.checking.whole import exact_cost, largest_entry
from kanopy.experiments import certificates

COSTS = ("sse", "hamming", "range")


def table(rng, n, cost, copies):
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n).round(2) for j in range(2)})
    for j in range(2):
        frame[f"c{j}"] = rng.choice(list("abc"), size=n)
    if copies:
        frame = frame.iloc[rng.integers(0, n, size=n)].reset_index(drop=True)
    weights = {"x0": 2.5, "c0": 3.0} if rng.random() < 0.3 else {}
    chosen = {"sse": ["x0", "x1"], "hamming": ["c0", "c1"], "range": ["x0", "c0", "c1"]}[cost]
    return kn.Microdata.from_frame(
        frame[chosen], weights={c: w for c, w in weights.items() if c in chosen}
    )


def certified(tmp_path, data, k, cost, **options):
    path = tmp_path / "proof.json"
    solution = kn.solve(data, k, "branch-and-price", cost=cost, options=options, certificate=path)
    return read_certificate(path), solution


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("seed", range(12))
def test_certificates_prove_the_optimum(tmp_path, cost, seed):
    rng = np.random.default_rng([seed, COSTS.index(cost)])
    k = int(rng.integers(2, 4))
    data = table(rng, int(rng.integers(k, 10)), cost, copies=seed % 2 == 0)
    options = {"enumeration": seed % 3 != 0, "cuts": seed % 4 != 1}
    certificate, solution = certified(tmp_path, data, k, cost, **options)
    if not certificate.steps:
        assert solution.objective == 0
        return
    checked = check(certificate, data)
    optimum = oracles.optimum(data, k, cost)
    assert checked.optimal
    assert float(checked.objective) == pytest.approx(optimum, rel=1e-9, abs=1e-12)
    assert checked.bound <= checked.objective


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    """Proofs with cuts, lists and branches, by cost."""
    folder = tmp_path_factory.mktemp("proofs")
    rng = np.random.default_rng(7)
    found = []
    for cost in COSTS:
        for enumeration in (True, False):
            data = table(rng, 40, cost, copies=False)
            if cost == "sse":
                frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
                data = kn.Microdata.from_frame(frame)
            options = {"enumeration": enumeration, "most_cut_rounds": 1, "dives": False}
            found.append((data, *certified(folder, data, 3, cost, **options)))
    return found


def test_larger_proofs_have_all_kinds_of_steps(proofs):
    kinds = set()
    for data, certificate, solution in proofs:
        assert check(certificate, data).optimal
        assert float(check(certificate, data).objective) == pytest.approx(solution.objective)
        kinds |= {type(step) for step in certificate.steps}
        kinds |= {"cuts"} if certificate.cuts else set()
    assert kinds == {Leaf, Branch, Listing, "cuts"}


def changed_step(certificate, rng):
    """The certificate with one number in one step changed."""
    steps = list(certificate.steps)
    i = int(rng.integers(len(steps)))
    step = steps[i]
    unit = 1 << int(rng.integers(10, 40))
    if isinstance(step, Branch):
        name = str(rng.choice(["rows", "most", "less", "more"]))
        if name == "rows":
            value = tuple(int(r) for r in rng.integers(0, 9, size=2))
        else:
            value = getattr(step, name) + int(rng.choice([-1, 1]))
        steps[i] = replace(step, **{name: value})
        return replace(certificate, steps=steps)
    duals = step.duals
    what = int(rng.integers(5))
    if what == 0:
        types = list(duals.types)
        types[int(rng.integers(len(types)))] += unit
        duals = replace(duals, types=types)
    elif what == 1:
        duals = replace(duals, count=duals.count + unit)
    elif what == 2 and duals.cuts:
        cuts = list(duals.cuts)
        c = int(rng.integers(len(cuts)))
        cuts[c] = (cuts[c][0], cuts[c][1] + unit)
        duals = replace(duals, cuts=cuts)
    elif what == 3 and duals.branches:
        duals = replace(duals, branches=[b + unit for b in duals.branches])
    elif isinstance(step, Listing):
        steps[i] = replace(step, below=step.below + unit)
        return replace(certificate, steps=steps)
    steps[i] = replace(step, duals=duals)
    return replace(certificate, steps=steps)


@pytest.mark.parametrize("cost", COSTS)
def test_whatever_is_changed_no_bound_exceeds_the_optimum(tmp_path, cost):
    rng = np.random.default_rng(COSTS.index(cost))
    accepted = 0
    for _ in range(6):
        k = int(rng.integers(2, 4))
        data = table(rng, int(rng.integers(7, 10)), cost, copies=rng.random() < 0.5)
        options = {"enumeration": bool(rng.random() < 0.5), "most_cut_rounds": 1}
        certificate, solution = certified(tmp_path, data, k, cost, **options)
        if not certificate.steps:
            continue
        for _ in range(60):
            worse = certificate
            for _ in range(int(rng.integers(1, 3))):
                worse = changed_step(worse, rng)
            try:
                checked = check(worse, data)
            except CertificateError:
                continue
            accepted += 1
            assert float(checked.bound) <= solution.objective * (1 + 1e-12)
    assert accepted > 0


def bad_bytes(certificate, **changes):
    content = json.loads(to_bytes(certificate))
    return json.dumps(content | changes).encode()


def bend(certificate, number, **changes):
    steps = list(certificate.steps)
    steps[number] = replace(steps[number], **changes)
    return replace(certificate, steps=steps)


def first(certificate, kind):
    return next(i for i, step in enumerate(certificate.steps) if isinstance(step, kind))


def raised(duals, by=1 << 38):
    return replace(duals, types=[u + by for u in duals.types])


TAMPERING = {
    "another table": lambda c: replace(c, instance="0" * 64),
    "another k": lambda c: replace(c, k=c.k + 1),
    "a smaller k": lambda c: replace(c, k=1),
    "another cost": lambda c: replace(c, cost="hamming"),
    "an unknown cost": lambda c: replace(c, cost="nothing"),
    "a label too few": lambda c: replace(c, labels=list(c.labels)[:-1]),
    "a label out of range": lambda c: replace(c, labels=[10**6, *list(c.labels)[1:]]),
    "a negative label": lambda c: replace(c, labels=[-1, *list(c.labels)[1:]]),
    "a class too small": lambda c: replace(c, labels=[max(c.labels) + 1, *list(c.labels)[1:]]),
    "duals raised in a leaf": lambda c: bend(
        c, first(c, Leaf), duals=raised(c.steps[first(c, Leaf)].duals)
    ),
    "a dual too few": lambda c: bend(
        c,
        first(c, Leaf),
        duals=replace(
            c.steps[first(c, Leaf)].duals, types=list(c.steps[first(c, Leaf)].duals.types)[1:]
        ),
    ),
    "a dual beyond all limits": lambda c: bend(
        c, first(c, Leaf), duals=raised(c.steps[first(c, Leaf)].duals, 1 << 60)
    ),
    "a positive dual of a cut": lambda c: bend(
        c, first(c, Leaf), duals=replace(c.steps[first(c, Leaf)].duals, cuts=[(0, 5)])
    ),
    "a cut that does not exist": lambda c: bend(
        c, first(c, Leaf), duals=replace(c.steps[first(c, Leaf)].duals, cuts=[(10**6, -5)])
    ),
    "a cut with two duals": lambda c: bend(
        c, first(c, Leaf), duals=replace(c.steps[first(c, Leaf)].duals, cuts=[(0, -5), (0, -5)])
    ),
    "a divisor of 1": lambda c: replace(c, cuts=[((0, 1, 2), 1), *list(c.cuts)[1:]]),
    "a cut with a row twice": lambda c: replace(c, cuts=[((0, 0, 2), 2), *list(c.cuts)[1:]]),
    "a cut on rows that do not exist": lambda c: replace(
        c, cuts=[((0, 1, 10**6), 2), *list(c.cuts)[1:]]
    ),
    "a step that points back": lambda c: bend(c, first(c, Branch), less=0),
    "both branches to one step": lambda c: bend(
        c, first(c, Branch), less=c.steps[first(c, Branch)].more
    ),
    "a branch on rows that do not exist": lambda c: bend(c, first(c, Branch), rows=(0, 10**6)),
    "a branch on one row": lambda c: bend(c, first(c, Branch), rows=(0, 0)),
    "a step that does not exist": lambda c: bend(c, first(c, Branch), more=10**6),
    "units out of range": lambda c: replace(c, bits=10**6),
    "finer units": lambda c: replace(c, bits=c.bits - 3),
    "duals of branches that were not made": lambda c: bend(
        c, first(c, Leaf), duals=replace(c.steps[first(c, Leaf)].duals, branches=[1])
    ),
}


@pytest.mark.parametrize("kind", TAMPERING)
def test_tampering_is_rejected(proofs, kind):
    data, certificate, _ = next(
        (data, certificate, s)
        for data, certificate, s in proofs
        if certificate.cost == "sse"
        and any(isinstance(step, Branch) for step in certificate.steps)
        and not any(isinstance(step, Listing) for step in certificate.steps)
    )
    with pytest.raises(CertificateError):
        check(TAMPERING[kind](certificate), data)


def test_tampering_with_a_list_is_rejected(proofs):
    for data, certificate, _ in proofs:
        if any(isinstance(step, Listing) for step in certificate.steps):
            place = first(certificate, Listing)
            for changes in (
                {"duals": raised(certificate.steps[place].duals)},
                {"below": certificate.steps[place].below + (1 << 39)},
                {"then": place},
            ):
                with pytest.raises(CertificateError):
                    check(bend(certificate, place, **changes), data)
            return
    raise AssertionError("no list")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[]",
        b'{"format": "kanopy certificate 2"}',
        b'{"format": "kanopy certificate 1"}',
        b"[" * 100_000,
    ],
)
def test_files_that_are_no_certificates(tmp_path, content):
    path = tmp_path / "c.json"
    path.write_bytes(content)
    with pytest.raises(CertificateError):
        read_certificate(path)
    with pytest.raises(CertificateError, match="cannot read"):
        read_certificate(tmp_path / "missing.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"k": "3"},
        {"k": 3.0},
        {"k": True},
        {"merged": 1},
        {"labels": [0.5]},
        {"labels": None},
        {"cuts": [[0, 1]]},
        {"steps": [{}]},
        {"steps": [{"leaf": {}}]},
        {"steps": [{"leaf": {"types": [1], "count": 0, "cuts": [[1]], "branches": []}}]},
        {"steps": [[]]},
        {"columns": []},
        {"instance": None},
    ],
)
def test_wrong_types_in_a_file(changes):
    good = Certificate("x", 3, "sse", [0, 0, 0], cuts=[], steps=[])
    assert from_bytes(bad_bytes(good)) == good
    with pytest.raises(CertificateError):
        from_bytes(bad_bytes(good, **changes))


def all_clusters(copies, size):
    """Multisets of types, each at most as often as it has copies."""

    def extend(t, left):
        if left == 0:
            yield ()
        elif t < len(copies):
            for times in range(min(copies[t], left), -1, -1):
                for rest in extend(t + 1, left - times):
                    yield (t,) * times + rest

    return list(extend(0, size))


@pytest.mark.parametrize("cost", COSTS)
def test_the_search_finds_every_cluster(cost):
    rng = np.random.default_rng(COSTS.index(cost))
    for trial in range(40):
        data = table(rng, 8, cost, copies=trial % 2 == 0)
        merged = trial % 4 < 2
        rows = data.first_rows if merged else np.arange(data.n)
        copies = data.counts if merged else np.ones(data.n, dtype=np.int64)
        costs = Costs(data, rows, copies, cost, 20, 4)
        number = len(rows)
        cuts = tuple(
            (
                (
                    tuple(rng.choice(number, size=3, replace=bool(trial % 2)).tolist()),
                    int(rng.integers(2, 4)),
                ),
                -int(rng.integers(1, 1 << 20)),
            )
            for _ in range(int(rng.integers(0, 4)) if number >= 3 else 0)
        )
        prices = Prices(
            rng.integers(-(1 << 18), 1 << 21, size=number), int(rng.integers(-(1 << 20), 1)), cuts
        )
        allowed = Allowed()
        if not merged:
            a, b, c, d = rng.choice(number, size=4, replace=False).tolist()
            pair = frozenset((a, b))
            allowed = (
                Allowed({a: pair, b: pair}, {c: frozenset([d]), d: frozenset([c])})
                if trial % 3
                else Allowed()
            )
        for size in (2, 3, 4):
            threshold = int(rng.integers(-(1 << 20), 1 << 21)) * costs.factor(size)
            found = list(costs.search(prices, allowed, size, threshold))
            assert len(found) == len(set(found))
            wanted = set()
            for cluster in all_clusters(copies.tolist(), size):
                if any(
                    (a in cluster) != (b in cluster)
                    for a in allowed.groups
                    for b in allowed.groups[a]
                ):
                    continue
                if any(
                    a in cluster and b in cluster for a in allowed.apart for b in allowed.apart[a]
                ):
                    continue
                reduced = costs.times_cost(cluster) - costs.factor(size) * (
                    prices.count
                    + sum(int(prices.types[t]) for t in cluster)
                    + sum(
                        dual * (sum(members.count(t) for t in cluster) // q)
                        for (members, q), dual in cuts
                    )
                )
                if reduced < threshold:
                    wanted.add(cluster)
            assert set(found) == wanted


@pytest.mark.parametrize("cost", COSTS)
def test_whole_costs_are_just_below_the_true_ones(cost):
    rng = np.random.default_rng(3)
    for _ in range(20):
        data = table(rng, 6, cost, copies=False)
        costs = Costs(data, np.arange(6), np.ones(6, dtype=np.int64), cost, 30, 3)
        cluster = tuple(sorted(rng.choice(6, size=3, replace=False).tolist()))
        labels = np.zeros(3, dtype=np.int64)
        true = exact_cost(data.restrict(np.array(cluster)), labels, cost)
        assert float(true) == pytest.approx(oracles.pair_cost(data, cluster, cost), rel=1e-12)
        whole = Fraction(costs.times_cost(cluster), costs.factor(3) << 30)
        assert 0 <= true - whole <= Fraction(3 * 8, 1 << 30)


@pytest.mark.parametrize("dual", [1 << 44, largest_entry(1599)])
def test_no_sum_over_large_clusters_overflows(dual):
    """900 rows of each of two values: pure clusters cost nothing, whatever large duals say.

    With duals of 2^44, sums over clusters of 800 rows and more would pass 2^63.
    """
    k, half = 800, 900
    frame = pd.DataFrame({"x": [0.0] * half + [1.0] * half})
    data = kn.Microdata.from_frame(frame, standardize=False)
    small = dual // (2 * k - 1)
    value = small * (2 * half - (2 * k - 1))  # what "one cluster" really proves: there is none
    steps = [
        Branch((), 1, 1, 2),
        Leaf(Duals([small, small], -small * (2 * k - 1))),
        Leaf(Duals([dual, value // half - dual])),
    ]
    bits = value.bit_length() - 9  # the value is below 450, what a single class costs
    certificate = Certificate(data.fingerprint, k, "sse", [0] * 2 * half, True, bits, (), steps)
    with pytest.raises(CertificateError, match=r"too large|negative reduced cost"):
        check(certificate, data)


def test_a_bound_of_a_stopped_search_is_certified(tmp_path):
    rng = np.random.default_rng(1)
    data = kn.Microdata.from_frame(pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd")))
    path = tmp_path / "c.json.gz"
    solution = kn.solve(
        data,
        4,
        "branch-and-price",
        stop=kn.MaxNodes(3),
        certificate=path,
        options={"enumeration": False, "cuts": False},
    )
    assert solution.status == "feasible"
    certificate = read_certificate(path)
    assert any(isinstance(step, Branch) for step in certificate.steps)
    assert float(check(certificate, data).bound) == pytest.approx(solution.bound, rel=1e-7)
    heuristic = tmp_path / "mdav.json"
    kn.solve(data, 3, "mdav", certificate=heuristic)
    assert check(read_certificate(heuristic), data).bound is None


@pytest.mark.parametrize("cost", COSTS)
def test_the_writer_lists_what_the_checker_will_list(tmp_path, cost, monkeypatch):
    """Rounded duals prove a little less, so that a few more clusters fit the gap."""
    from kanopy.solvers.branch_and_price import certificate as module

    written = []

    def recorded(*arguments):
        written.append(list_clusters(*arguments))
        return written[-1]

    list_clusters = module.list_clusters
    monkeypatch.setattr(module, "list_clusters", recorded)
    monkeypatch.setattr(module, "BITS", 24)  # coarse units: rounding tells
    lists = 0
    for seed in range(12):
        data = table(np.random.default_rng(seed), 30, cost, copies=False)
        certificate, _ = certified(tmp_path, data, 3, cost, cuts=False, dives=False)
        step = certificate.steps[0]
        if isinstance(step, Listing):
            proof, scope = _Proof(certificate, data), Scope(0, data.n // 3)
            value = proof._value(step.duals, scope)
            known = {
                tuple(sorted(x for x in row if x >= 0)) for row in written[-1].clusters.tolist()
            }
            assert set(proof._listed(step, scope, value).clusters) <= known
            check(certificate, data)
            lists += 1
    assert lists > 0


def test_signs_of_branches_survive_rounding():
    """A dual of a lower side that is 0 up to rounding must not become −1 unit."""
    assert certificates.main(["1", "37"]) == 0


@pytest.mark.parametrize("cost", COSTS)
def test_a_search_that_ends_as_rows_are_told_apart_keeps_its_proof(tmp_path, cost, monkeypatch):
    """Copies are types first; the search begins anew with single rows, and is stopped there."""
    from kanopy.solvers.branch_and_price.engine import Engine

    build = Engine.build

    def build_and_stop(self):
        build(self)
        if self.told_apart:
            self.clock.deadline = -np.inf

    monkeypatch.setattr(Engine, "build", build_and_stop)
    told_apart = 0
    for seed in range(8):
        data = table(np.random.default_rng(seed), 30, cost, copies=True)
        options = {"enumeration": False, "dives": False, "most_cut_rounds": seed % 2}
        certificate, solution = certified(tmp_path, data, 3, cost, **options)
        told_apart += not certificate.merged
        checked = check(certificate, data)
        assert float(checked.bound) == pytest.approx(solution.bound, rel=1e-6)
    assert told_apart > 0


def test_what_has_no_certificate(tmp_path):
    numbers = kn.generate("simu", n=20, seed=1)
    with pytest.raises(kn.KanopyError, match="not on a partition"):
        kn.solve(numbers, 3, "doka-greedy", certificate=tmp_path / "c.json")
    with pytest.raises(kn.KanopyError, match="linked pairs"):
        kn.solve(
            numbers, 3, "branch-and-price", must_link=[(0, 1)], certificate=tmp_path / "c.json"
        )
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_holds_no_values_of_the_table(tmp_path):
    frame = pd.DataFrame(
        {"a": [123.456 * i for i in range(9)], "b": [f"secret{i % 4}" for i in range(9)]}
    )
    data = kn.Microdata.from_frame(frame)
    path = tmp_path / "c.json"
    kn.solve(data, 3, "branch-and-price", certificate=path)
    assert "secret" not in path.read_text()
    assert "123.456" not in path.read_text()


def test_the_checker_imports_nothing_of_the_methods():
    folder = Path(kn.__file__).with_name("checking")
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None) or node.names[0].name
                assert not module.startswith(("kanopy.solvers", "kanopy.models", "kanopy.solving"))
                if module.startswith("kanopy"):
                    assert module.startswith(("kanopy.checking", "kanopy.instances"))
