import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.instances.synthetic import synthetic


def problems(data, k):
    return int(data.counts[data.counts < k].sum())


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize(("p", "expected"), [(0, 0), (0.02, 4), (0.2, 40), (1, 200)])
def test_share_of_problems_comes_out_exactly(k, p, expected):
    for seed in range(40):
        data = synthetic(n=200, p=p, k=k, seed=seed)
        assert data.n == 200
        assert problems(data, k) == expected


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(1, 120),
    p=st.floats(0, 1),
    k=st.integers(2, 6),
    seed=st.integers(0, 10**6),
    duplication=st.sampled_from(["uniform", "coin", "none", "full"]),
    domain=st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_exact_or_refused(n, p, k, seed, duplication, domain):
    """Whatever is asked, the share is exact, or the request is one that cannot be met."""
    wanted = -int(-round(p * n, 9) // 1)
    largest = max(int(round(0.15 * n, 9)), k - 1) + 1
    per_problem = 1 if duplication == "none" else k - 1
    needed = -((wanted - n) // largest) + -(-wanted // per_problem)
    impossible = needed > np.prod(domain) or 0 < n - wanted < k
    if impossible:
        with pytest.raises(KanopyError, match=r"combinations of values|no confidentiality problem"):
            synthetic(n, p, k, seed, domain, duplication)
    else:
        data = synthetic(n, p, k, seed, domain, duplication)
        assert (data.n, problems(data, k)) == (n, wanted)
        assert data.domain_sizes.tolist() == domain
        assert (data.frame.max() <= domain).all()
        assert (data.frame.min() >= 1).all()


def test_share_rounds_up_but_not_because_of_floating_point():
    assert 0.07 * 100 > 7
    assert problems(synthetic(n=100, p=0.07, k=3, seed=0), 3) == 7
    assert problems(synthetic(n=100, p=0.071, k=3, seed=0), 3) == 8


def test_same_seed_same_data():
    first, again, other = (synthetic(seed=seed) for seed in (5, 5, 6))
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_groups_keep_their_bounds():
    for seed in range(20):
        counts = synthetic(n=200, p=0.2, k=3, seed=seed).counts
        safe = counts[counts >= 3]
        assert safe.max() <= 31  # 30 duplicates of the drawn row
        assert set(counts[counts < 3]) == {1, 2}


def test_duplication_changes_the_number_of_different_problems():
    def distinct(duplication):
        return [
            len(synthetic(p=1, k=5, seed=seed, duplication=duplication).counts)
            for seed in range(10)
        ]

    assert distinct("none") == [200] * 10
    assert distinct("full") == [50] * 10
    # on average 2.5 rows a combination if uniform, 2 if a coin decides on copies first
    assert 65 < np.mean(distinct("uniform")) < 95 < np.mean(distinct("coin")) < 130


def test_all_combinations_of_the_domain_can_be_used_up():
    data = synthetic(n=16, p=1, k=3, domain=(2, 4), seed=0)
    assert data.counts.tolist() == [2] * 8


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"n": 17, "p": 1, "domain": (2, 4)}, "need at least 9 combinations.*has 8"),
        ({"n": 9, "p": 1, "domain": (2, 4), "duplication": "none"}, "need at least 9"),
        ({"n": 10, "p": 0.8, "k": 3}, "leave 2 rows"),
        ({"n": 0}, "n = 0"),
        ({"p": 1.1}, "p = 1.1"),
        ({"p": float("nan")}, "p = nan"),
        ({"k": 1}, "k = 1"),
        ({"domain": ()}, "domain"),
        ({"domain": (2, 0)}, "domain"),
        ({"domain": (10,) * 20}, "2\\^62"),
        ({"duplication": "twice"}, "unknown duplication 'twice'.*uniform, coin"),
    ],
)
def test_impossible_requests(request_, message):
    with pytest.raises(KanopyError, match=message):
        synthetic(**request_)
