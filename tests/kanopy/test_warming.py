from kanopy.solvers.branch_and_price import coefficients, pool, tableau_cuts
from kanopy.solvers.costs import CLUSTER_COSTS, FREQUENCY_COSTS
from kanopy.solvers.registry import all_methods
from kanopy.warming import PROCESSES, tiny_table, warm, warm_exchanges, warm_lists

KERNELS = (
    (coefficients, "_add_activities"),
    (pool, "_check_copies"),
    (pool, "_check_pairs"),
    (tableau_cuts, "_candidates"),
    (tableau_cuts, "_choose"),
    (tableau_cuts, "_round"),
)

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


def test_what_tiny_tables_do_not_need_is_run_by_itself(monkeypatch):
    """Kernels of lists and trees, as they are called there: nothing is left to compile then."""
    ran = set()
    for module, name in KERNELS:
        monkeypatch.setattr(module, name, noted(ran, name, getattr(module, name)))
    warm_exchanges(tiny_table("sse"))
    warm_lists(tiny_table("sse"))
    assert ran == {name for _, name in KERNELS}


def noted(ran, name, kernel):
    def call(*arguments):
        ran.add(name)
        return kernel(*arguments)

    return call
