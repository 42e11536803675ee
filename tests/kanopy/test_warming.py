from kanopy.solvers.costs import CLUSTER_COSTS, FREQUENCY_COSTS
from kanopy.solvers.registry import all_methods
from kanopy.warming import PROCESSES, tiny_table, warm

COSTS = [cost for costs in PROCESSES for cost in costs]


def test_every_cost_is_compiled_once():
    assert sorted(COSTS) == sorted([*CLUSTER_COSTS, *FREQUENCY_COSTS])
    kinds = {cost: tiny_table(cost).kind for cost in COSTS}
    for method in all_methods().values():
        assert any(kinds[cost] in method.kinds for cost in method.costs), method.name


def test_methods_run_on_the_tiny_table(monkeypatch):
    ran = []
    monkeypatch.setattr("kanopy.warming.solve", lambda data, k, name, **more: ran.append(name))
    warm("max-error")
    assert {"safe", "safe-basic", "msafe"} <= set(ran)
