import numpy as np
import pytest

from kanopy.instances.errors import KanopyError
from kanopy.instances.simulated import simc, simu


def test_simu_is_uniform_and_standardised():
    data = simu(seed=1)
    raw = data.frame.to_numpy()
    assert raw.shape == (1000, 10)
    assert np.abs(raw).max() <= 10_000
    assert np.abs(raw).max() > 9_900
    assert np.abs(raw.mean(axis=0)).max() < 1_000
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1)


@pytest.mark.parametrize("seed", range(10))
def test_simc_follows_algorithm_7(seed):
    raw = simc(seed).frame.to_numpy()
    # n' + ⌊n'/3⌋ + 1 rows, 100 centres first, their companions next
    clustered = next(m for m in range(len(raw)) if m + m // 3 + 1 == len(raw))
    assert 400 <= clustered <= 2100
    centres, companions = raw[:100], raw[100:clustered]
    offset = np.abs(companions[:, None, :] - centres[None]).max(axis=2)
    nearest = offset.argmin(axis=1)
    assert offset.min(axis=1).max() <= 50
    assert (np.diff(nearest) >= 0).all()
    sizes = np.bincount(nearest, minlength=100)
    assert sizes.min() >= 3
    assert sizes.max() <= 20
    noise = raw[clustered:]
    assert np.abs(noise).max() <= 10_000
    assert np.abs(noise[:, None, :] - centres[None]).max(axis=2).min() > 50


def test_sizes_of_clusters_reach_both_ends():
    sizes = set()
    for seed in range(5):
        data = simc(seed, noise=0)
        companions = data.frame.to_numpy()[100:-1]
        centres = data.frame.to_numpy()[:100]
        nearest = np.abs(companions[:, None, :] - centres[None]).max(axis=2).argmin(axis=1)
        sizes |= set(np.bincount(nearest).tolist())
    assert min(sizes) == 3
    assert max(sizes) == 20


def test_seeds_decide():
    assert simu(seed=1).fingerprint == simu(seed=1).fingerprint != simu(seed=2).fingerprint
    assert simc(1).fingerprint == simc(1).fingerprint != simc(2).fingerprint


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simu(n=0), "n = 0"),
        (lambda: simu(d=0), "d = 0"),
        (lambda: simu(half_width=float("inf")), "half_width = inf"),
        (lambda: simc(clusters=0), "clusters = 0"),
        (lambda: simc(fewest=5, most=4), "fewest = 5"),
        (lambda: simc(noise=-1), "noise = -1"),
        (lambda: simc(radius=-1), "radius = -1"),
    ],
)
def test_bad_parameters(call, message):
    with pytest.raises(KanopyError, match=message):
        call()
