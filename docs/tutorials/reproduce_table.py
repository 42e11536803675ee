# %% [markdown]
# # Reproduce a table
#
# Every table and figure of results in the four papers is an *experiment*: a list of runs, each with
# its place in the table, beside the published values. This page is a script,
# `docs/tutorials/reproduce_table.py`.
#
# From the shell it is one command, and `kanopy experiment list` names all:
#
# ```
# kanopy experiment liang-4 liang-7
# ```
#
# The same from Python. Table 4 of Liang and Samavi (003) prints the least generalisation loss of
# twenty accident records for two sets of weights, table 7 what their Greedy Search finds.

# %%
from kanopy.experiments.catalogue import catalogue
from kanopy.experiments.specs import choose

experiments = choose(catalogue(), ["liang-4", "liang-7"])
for experiment in experiments:
    print(f"{experiment.name}: {experiment.title} ({experiment.source})")

# %% [markdown]
# ## Run
#
# Results go into one file. A campaign that was stopped goes on where it was.

# %%
from kanopy.experiments.runner import campaign
from kanopy.experiments.specs import united
from kanopy.experiments.store import Store

store = Store("results.sqlite")
tasks = united(task for experiment in experiments for task in experiment.tasks())
outcome = campaign(tasks, store)
print(outcome)

# %% [markdown]
# ## Compare
#
# One line per value: published → ours.

# %%
from kanopy.experiments.store import code_version
from kanopy.experiments.tables import compared, side_by_side

for experiment in experiments:
    records = store.records(experiment.tasks(), code_version())
    print(experiment.name)
    print(side_by_side(compared(experiment, records)).to_string())

# %% [markdown]
# `kanopy report` writes the tables and figures of all that has been run as one page. Experiments on
# real data need them at hand: `kanopy data list` says which are, `kanopy data fetch census` gets
# one.
