"""The algorithms of Cost's thesis (000) row by row as printed: slow, and sharing no code.

Rows are numbered so that identical ones stand together, which makes ties by row those by type.
"""

from itertools import combinations


def distance(a, b, weights):
    return sum(w for x, y, w in zip(a, b, weights, strict=True) if x != y)


def weight(rows, cluster, weights):
    """w_C of 4.2."""
    return sum(distance(rows[i], rows[j], weights) for i, j in combinations(cluster, 2))


def reduced_cost(rows, cluster, weights, duals):
    return weight(rows, cluster, weights) - sum(duals[i] for i in cluster)


def grow(rows, free, cluster, weights, duals):
    """The row of least Σ w_e − u_l among the free ones outside a cluster."""
    others = [i for i in free if i not in cluster]
    return min(
        others,
        key=lambda i: (sum(distance(rows[i], rows[c], weights) for c in cluster) - duals[i], i),
    )


def greedy_cluster(rows, free, weights, duals, k):
    """Algorithm 5, lines 3–16."""
    cluster = [min(free, key=lambda i: (-duals[i], i))]
    while len(cluster) < k:
        cluster.append(grow(rows, free, cluster, weights, duals))
    extended = list(cluster)
    while len(extended) < min(2 * k - 1, len(free)):
        extended.append(grow(rows, free, extended, weights, duals))
        if reduced_cost(rows, extended, weights, duals) < reduced_cost(
            rows, cluster, weights, duals
        ):
            cluster = list(extended)
    return cluster


def algorithm_5(rows, weights, duals, k, most):
    free, found = list(range(len(rows))), []
    while len(free) >= k and len(found) < most:
        cluster = greedy_cluster(rows, free, weights, duals, k)
        if reduced_cost(rows, cluster, weights, duals) >= 0:
            return found
        found.append(cluster)
        free = [i for i in free if i not in cluster]
    return found


def algorithm_6(rows, weights, duals, k):
    root = min(range(len(rows)), key=lambda i: (-duals[i], i))
    others = [i for i in range(len(rows)) if i != root]
    near = sorted(others, key=lambda i: (distance(rows[i], rows[root], weights), i))[: 2 * k - 2]
    for size in range(k - 1, 2 * k - 1):
        for chosen in combinations(near, size):
            if reduced_cost(rows, (root, *chosen), weights, duals) < 0:
                return [root, *chosen]
    return None


def auxiliary_minimum(rows, free, weights, rewards, k):
    """The least value of (4.4.7) over all clusters of free rows."""
    return min(
        reduced_cost(rows, cluster, weights, rewards)
        for size in range(k, min(2 * k - 1, len(free)) + 1)
        for cluster in combinations(free, size)
    )


def finish_7(rows, clusters, weights, k, by_increase=False):
    """Algorithm 7, lines 7–16, on sorted clusters."""
    clusters = [list(cluster) for cluster in clusters]
    assigned = {i for cluster in clusters for i in cluster}
    for i in range(len(rows)):
        if i in assigned:
            continue
        values = [
            weight(rows, [*c, i], weights) - (weight(rows, c, weights) if by_increase else 0)
            for c in clusters
        ]
        clusters[values.index(min(values))].append(i)
    large = [c for c in clusters if len(c) >= 2 * k]
    return [c[:k] if len(c) >= 2 * k else c for c in clusters] + [c[k:] for c in large]


def algorithm_7(rows, weights, duals, k, gamma, lam, by_increase=False):
    """Algorithm 7 with the greedy cluster of Algorithm 5 for the auxiliary problem."""
    rewards = [gamma * u + lam for u in duals]
    free, clusters = list(range(len(rows))), []
    while len(free) >= k:
        cluster = greedy_cluster(rows, free, weights, rewards, k)
        clusters.append(sorted(cluster))
        free = [i for i in free if i not in cluster]
    return finish_7(rows, clusters, weights, k, by_increase)


def cell_names(row, tables):
    return [(table, tuple(row[j] for j in table)) for table in tables]


def original_cells(rows, tables):
    """n̄ of every cell that some row is counted in."""
    cells = {}
    for row in rows:
        for cell in cell_names(row, tables):
            cells[cell] = cells.get(cell, 0) + 1
    return cells


def options_of(rows, cluster):
    """Preprocessing: the distinct rows of a cluster, in order."""
    distinct = []
    for i in sorted(cluster, key=lambda i: (rows[i], i)):
        if all(rows[i] != rows[o] for o in distinct):
            distinct.append(i)
    return distinct


def fixed_cells(rows, cluster, tables):
    """Preprocessing: cells in which all rows of a cluster are counted."""
    return set.intersection(*(set(cell_names(rows[i], tables)) for i in cluster))


def algorithm_8(rows, clusters, tables, squared=True):
    goal = original_cells(rows, tables)
    new = dict.fromkeys(goal, 0)
    for cluster in clusters:
        for cell in fixed_cells(rows, cluster, tables):
            new[cell] += len(cluster)
    chosen = []
    for cluster in clusters:
        fixed, best, best_value = fixed_cells(rows, cluster, tables), None, None
        for i in options_of(rows, cluster):
            value = 0.0
            for cell, old in goal.items():
                counted = cell in cell_names(rows[i], tables) and cell not in fixed
                error = new[cell] + (len(cluster) if counted else 0) - old
                value += (error**2 if squared else error) / old
            if best is None or value < best_value - 1e-9:
                best, best_value = i, value
        for cell in cell_names(rows[best], tables):
            if cell not in fixed:
                new[cell] += len(cluster)
        chosen.append(best)
    return chosen


def algorithm_9(rows, clusters, tables, preprocess=True):
    """On the graph of 5.3, or on what preprocessing leaves of it."""
    goal = original_cells(rows, tables)
    fixed = [fixed_cells(rows, c, tables) if preprocess else set() for c in clusters]
    start = dict.fromkeys(goal, 0)
    for cluster, cells in zip(clusters, fixed, strict=True):
        for cell in cells:
            start[cell] += len(cluster)
    left = [options_of(rows, cluster) for cluster in clusters]
    open_cells = {
        (c, i): [cell for cell in cell_names(rows[i], tables) if cell not in fixed[c]]
        for c, options in enumerate(left)
        for i in options
    }
    graph = [c for c, options in enumerate(left) if any(open_cells[c, i] for i in options)]

    def alone(c, i):
        size = len(clusters[c])
        return sum(
            size**2 / goal[t] - 2 * size * (goal[t] - start[t]) / goal[t] for t in open_cells[c, i]
        )

    def edge(c, i, d, o):
        shared = set(open_cells[c, i]) & set(open_cells[d, o])
        both = 2 * sum(len(clusters[c]) * len(clusters[d]) / goal[t] for t in shared)
        return both + (alone(c, i) + alone(d, o)) / (len(graph) - 1)

    while any(len(options) > 1 for options in left):
        for c, options in enumerate(left):
            if len(options) < 2:
                continue
            worst, worst_value = None, None
            for i in options:
                if len(graph) < 2:
                    value = alone(c, i)
                else:
                    value = sum(min(edge(c, i, d, o) for o in left[d]) for d in graph if d != c)
                if worst is None or value > worst_value + 1e-9:
                    worst, worst_value = i, value
            options.remove(worst)
    return [options[0] for options in left]
