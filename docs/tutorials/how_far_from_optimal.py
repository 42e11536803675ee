# %% [markdown]
# # How far is my heuristic from optimal?
#
# Heuristics are compared with each other in most papers. Here they are compared with a *lower
# bound*: a number that no k-anonymous partition of the table can go below. This page is a script,
# `docs/tutorials/how_far_from_optimal.py`.

# %%
import kanopy as kn

data = kn.generate("simu", n=60, d=4, seed=1)  # uniform numbers
k = 3

# %% [markdown]
# ## A bound within a moment
#
# `lower_bound` adds up what each row must pay at least for its nearest neighbours. It is quick and
# weak.

# %%
quick = kn.lower_bound(data, k)
print(f"no partition costs less than {quick:.3f}")

# %% [markdown]
# ## The heuristics

# %%
names = ("mdav", "mdav*", "ona*", "ils")
found = {name: kn.solve(data, k, name, stop=kn.MaxRuntime(2), seed=1) for name in names}
for name, s in found.items():
    print(f"{name:6} {s.objective:8.3f}   gap at most {100 * (1 - quick / s.objective):4.1f} %")

# %% [markdown]
# ## A strong bound
#
# `branch-and-price` raises the bound until it meets the best partition, or until time is up.
# `initial=` hands it the best one found so far.

# %%
best = min(found.values(), key=lambda s: s.objective)
exact = kn.solve(
    data, k, "branch-and-price", initial=best, stop=kn.MaxRuntime(20), certificate="proof.json"
)
print(f"{exact.status}: {exact.objective:.3f}, bound {exact.bound:.3f}")
for name, s in found.items():
    print(f"{name:6} {100 * (s.objective / exact.bound - 1):5.2f} % above the bound")

# %% [markdown]
# ## Do not believe it: check it
#
# The certificate holds the dual values behind the bound. The checker reads it with code of its own,
# in whole numbers, and knows nothing of the engine. (From the shell:
# `kanopy check proof.json table.csv`.)

# %%
from kanopy.checking import check, read_certificate

print(check(read_certificate("proof.json"), data))

# %% [markdown]
# Your own heuristic takes part by [registering itself](../extend/method.md), or as labels that any
# method may start from: `kn.solve(data, k, "branch-and-price", initial=my_labels)`.
