# %% [markdown]
# # Anonymise a CSV
#
# A table of people becomes a table in which everybody shares age, sex and region with at least two
# others. This page is a script, `docs/tutorials/anonymise_csv.py`; what it prints stands below each
# step.
#
# First a file to work on. Yours already exists; ours is drawn at random.

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
people = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(60)],
        "age": rng.integers(18, 90, 60),
        "sex": rng.choice(["f", "m"], 60),
        "region": rng.choice(["north", "south", "coast"], 60, p=[0.5, 0.4, 0.1]),
        "diagnosis": rng.choice(["flu", "asthma", "diabetes"], 60),
    }
)
people.to_csv("people.csv", index=False)
print(people.head(3).to_string())

# %% [markdown]
# ## What is what
#
# Each column has a role. *Quasi-identifiers* are what a neighbour may know; they are changed.
# *Confidential* columns are what nobody shall learn about a single person; they stay as they are.
# Names identify directly: leave them out.

# %%
import kanopy as kn

table = pd.read_csv("people.csv").drop(columns="name")
data = kn.Microdata.from_frame(
    table, numeric=["age"], nominal=["sex", "region"], confidential=["diagnosis"]
)
print(data)

# %% [markdown]
# ## Solve
#
# Numbers and categories together have the cost `range`: what ranges of ages and sets of values
# lose. We stop at a gap of 1 % or after ten seconds, whichever comes first.

# %%
s = kn.solve(data, k=3, stop=kn.First(kn.GapReached(0.01), kn.MaxRuntime(10)))
print(f"{s.method} loses {s.objective:.4f}; nothing can lose less than {s.bound:.4f}")

# %% [markdown]
# ## Look, judge, write
#
# The release has the columns of the table. `evaluate` measures what it lost and what it still
# reveals: `distinct_diversity` 1 would mean that in some class everybody has the same diagnosis,
# which k-anonymity alone does not rule out.

# %%
release = s.release(shuffle=True)
print(release.head(6).to_string())
report = kn.evaluate(data, s)
cells = data.n * len(data.quasi_identifiers)
print(f"smallest class {report.k}; a cell loses {100 * s.objective / cells:.1f} % on average")
print(f"least number of different diagnoses in a class: {report.distinct_diversity}")

kn.verify(data, release, k=3)
release.to_csv("safe.csv", index=False)

# %% [markdown]
# The same from the shell:
#
# ```
# kanopy anonymize people.csv -k 3 --numeric age --nominal sex,region --confidential diagnosis \
#     --drop name --shuffle -t 10 -o safe.csv
# ```
