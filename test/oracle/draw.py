"""Random maps of every kind, as text, for a grid and a number of nodes: what the tests of maps and of pairs of maps draw
from."""
from owners import arrangements, balanced, node_list

AXES = ["block", "block(n)", "cyclic", "cyclic(n)", "splits", "weighted", "mixed"]
DEALT = [f"{order}:{deal}" for order in ("rows", "columns")
         for deal in ("cyclic", "cyclic(n)", "block", "block(n)", "hash", "hash(n)", "table", "table(n)")]
PARTIAL = ["sparse", "every"]  # some elements are stored nowhere
KINDS = AXES + DEALT + ["boxes", "replicated", "halo"] + PARTIAL
PERIODIC = ["periodic"]  # a halo as well; bodies read such arrays beyond their edges

TYPES = {"int8": 1, "int16": 2, "int32": 4, "double": 8}
PAGE_OFFS = [-130, -129, -128, -127, -126, -8, 0, 8, 126, 127, 128, 129, 130]  # bytes from a page, where the rule of padding changes


def ceil_div(a, b):
    return -(-a // b)


# ---- grids --------------------------------------------------------------------------------------------------------------


def draw_shape(rng, rank, most=900):
    """Extents, some of them 1, together at most `most` elements."""
    longest = {1: 60, 2: 28, 3: 10, 4: 6}[rank]
    while True:
        shape = [rng.choice([1, 2, 3, rng.randint(1, longest), rng.randint(1, longest)]) for _ in range(rank)]
        total = 1
        for n in shape:
            total *= n
        if total <= most:
            return shape


def draw_long_rows(rng, type_name, nodes):
    """Extents whose last axis is about so long that a node's rows have to be padded."""
    size = TYPES[type_name]
    row = (4096 * rng.choice([1, 1, 1, 2]) + rng.choice(PAGE_OFFS)) // size
    row *= nodes if row * nodes < 4200 and rng.random() < 0.5 else 1
    return [rng.choice([1, 2])] * rng.choice([0, 1, 1]) + [rng.choice([1, 2]), row]


# ---- per axis -----------------------------------------------------------------------------------------------------------


def split_points(rng, extent):
    """Rising points; some of them may lie at the end or behind it."""
    reach = extent + rng.choice([0, 0, 1, 4])
    points = sorted({rng.randint(1, max(1, reach)) for _ in range(rng.randint(1, 7))})
    return "splits(" + ",".join(map(str, points)) + ")"


def shares(rng, nodes):
    given = [rng.choice([0, 1, 1, 2, 3, 10]) for _ in range(nodes)]
    if sum(given) == 0:
        given[rng.randrange(nodes)] = 1
    return "weighted(" + ":".join(map(str, given)) + ")"


def axis_rule(rng, kind, extent, nodes):
    if kind == "block(n)":
        return f"block({max(1, ceil_div(extent, nodes) + rng.choice([0, 0, 1, 3]))})"
    if kind == "cyclic(n)":
        return f"cyclic({rng.choice([1, 2, 2, 3, 4, 7, 16])})"
    if kind == "splits":
        return split_points(rng, extent)
    if kind == "weighted":
        return shares(rng, nodes)
    return kind


def draw_mixed(rng, arrangement):
    """Kinds of the axes: not all alike where there are several, not all whole."""
    kinds = [rng.choice(AXES[:-1] + ["*"] * 2 * (n == 1)) for n in arrangement]
    if kinds[0] == "*" or len(kinds) > 1 and len(set(kinds)) == 1:
        kinds[0] = "block" if kinds[-1] != "block" else "cyclic"
    return kinds


def as_words(rule):
    word, _, numbers = rule.partition("(")
    return word, numbers[:-1]


def one_word(rng, kind, shape, nodes):
    """One rule for all axes, or, of splits and shares, for the first."""
    if kind == "splits":
        return split_points(rng, shape[0])
    if kind == "weighted":
        return shares(rng, nodes)
    if kind == "cyclic(n)":
        return axis_rule(rng, kind, 0, 1)
    along = balanced([(kind.partition("(")[0], "")] * len(shape), nodes)
    if kind == "block(n)":
        return f"block({max(ceil_div(e, n) for e, n in zip(shape, along)) + rng.choice([0, 0, 2])})"
    return kind + ("@" + "x".join(map(str, along)) if rng.random() < 0.2 else "")


def draw_axes(rng, kind, shape, nodes):
    if kind != "mixed" and rng.random() < 0.4:
        return one_word(rng, kind, shape, nodes)
    rank = len(shape)
    arrangement = list(rng.choice(arrangements(nodes, rank)))
    kinds = draw_mixed(rng, arrangement) if kind == "mixed" else [kind] * rank
    rules = [axis_rule(rng, k, e, n) for k, e, n in zip(kinds, shape, arrangement)]
    text = ",".join(rules)
    made = nodes % len(rules) == 0 and rank > 1 and "weighted" not in text
    if made and arrangement == balanced([as_words(rule) for rule in rules], nodes) and rng.random() < 0.5:
        return text
    if rng.random() < 0.5:  # whole axes need not be named
        arrangement = [n for n, rule in zip(arrangement, rules) if rule != "*"]
    return text + "@" + "x".join(map(str, arrangement))


# ---- dealt, boxes -------------------------------------------------------------------------------------------------------


def owner_runs(rng, pieces, nodes, holes):
    """Owners of so many pieces, equal neighbours together; some nodes may get none."""
    chosen = rng.sample(nodes, rng.randint(1, len(nodes)))
    runs, left = [], pieces
    while left > 0:
        length = min(left, rng.choice([1, 1, 2, 3, ceil_div(pieces, 3)]))
        node = "-" if holes and rng.random() < 0.4 else str(rng.choice(chosen))
        runs.append(node if length == 1 and rng.random() < 0.7 else f"{node}*{length}")
        left -= length
    return ",".join(runs)


def draw_dealt(rng, kind, shape, nodes, holes=False):
    rank = len(shape)
    text, piece = kind.replace("(n)", ""), [1] * rank
    if kind.endswith("(n)"):
        piece = [rng.choice([1, 2, 2, 3, 5, max(1, ceil_div(n, 3)), n + 1]) for n in shape]
        text += "(" + "x".join(map(str, piece)) + ")"
    pieces = 1
    for n, p in zip(shape, piece):
        pieces *= ceil_div(n, min(n, p))
    if "hash" in kind and rng.random() < 0.7:
        text += f";seed={rng.choice([0, 1, 2, rng.randrange(1 << 31)])}"
    if "table" in kind:
        text += ";owners=" + owner_runs(rng, pieces, nodes, holes)
    return text


def cut(rng, box, pieces):
    """Boxes (first, end per axis) that cover a box once."""
    first, end = box
    axes = [d for d in range(len(first)) if end[d] - first[d] > 1]
    if pieces == 1 or not axes:
        return [box]
    d = rng.choice(axes)
    at = rng.randint(first[d] + 1, end[d] - 1)
    left = rng.randint(1, pieces - 1)
    return (cut(rng, (first, end[:d] + [at] + end[d + 1:]), left) +
            cut(rng, (first[:d] + [at] + first[d + 1:], end), pieces - left))


def draw_boxes(rng, shape, origin, nodes):
    chosen = rng.sample(nodes, rng.randint(1, len(nodes)))
    boxes = cut(rng, (list(origin), [o + n for o, n in zip(origin, shape)]), rng.randint(1, 9))
    rng.shuffle(boxes)
    return "boxes:" + ",".join("[" + ",".join(f"{a}:{b}" for a, b in zip(first, end)) + f"]@{rng.choice(chosen)}"
                               for first, end in boxes)


def draw_halo(rng, shape, periodic):
    """Widths per axis, or one for all; where it is asked for, some of the axes that have one are periodic."""
    if rng.random() < 0.3:
        low = rng.randint(1, min(3, *shape))
        return f";halo={low}" + (";periodic=*" if periodic else "")
    widths = [(rng.randint(0, 2), rng.randint(0, 3)) for _ in shape]
    axes = [d for d, (low, high) in enumerate(widths) if 0 < max(low, high) <= shape[d] and periodic]
    text = ";halo=" + ",".join(str(low) if low == high else f"{low}:{high}" for low, high in widths)
    return text + (";periodic=" + ",".join(map(str, axes)) if axes else "")


# ---- all of it ----------------------------------------------------------------------------------------------------------


def draw_nodes(rng, nodes):
    """Some of the nodes as a suffix, by rising number or in another order; often all of them."""
    if nodes == 1 or rng.random() < 0.6:
        return list(range(nodes)), ""
    chosen = rng.sample(range(nodes), rng.randint(1, nodes))
    if rng.random() < 0.6:
        chosen.sort()
    ranges = []
    for node in chosen:
        if ranges and ranges[-1][1] == node - 1:
            ranges[-1][1] = node
        else:
            ranges.append([node, node])
    text = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
    assert node_list(text) == chosen
    return chosen, f";nodes={text}"


def draw_rest(rng):
    """What elements that are stored nowhere read as; 0 when it is not said."""
    return f";rest={rng.randint(-9, 9)}" if rng.random() < 0.7 else ""


def grains(rng, rank):
    text = ""
    if rng.random() < 0.4:
        text += ";block=" + "x".join(str(rng.choice([1, 2, 3, 4, 8, 64])) for _ in range(rank))
    if rng.random() < 0.3:
        text += ";tile=" + "x".join(str(rng.choice([1, 2, 3, 5, 8, 64])) for _ in range(rank))
    return text


def draw_map(rng, kind, shape, origin, nodes, with_grains=True):
    """A map of a kind that serves this grid on nodes 0..nodes-1."""
    used, suffix = draw_nodes(rng, nodes)
    if kind == "sparse":
        text = draw_dealt(rng, rng.choice([k for k in DEALT if "table" in k]), shape, used, holes=True) + draw_rest(rng)
    elif kind == "every":
        steps = [rng.choice([1, 2, 3, 5]) for _ in shape]
        stored = [ceil_div(n, s) for n, s in zip(shape, steps)]
        text = draw_map(rng, rng.choice(AXES + DEALT), stored, [0] * len(shape), nodes, False)
        text, suffix = text + ";every=" + "x".join(map(str, steps)) + draw_rest(rng), ""
    elif kind in ["halo"] + PERIODIC:
        text = draw_map(rng, rng.choice(AXES + DEALT + ["boxes"]), shape, origin, nodes, False)
        text, suffix = text + draw_halo(rng, shape, kind in PERIODIC), ""
    elif kind == "boxes":
        text = draw_boxes(rng, shape, origin, used)
    elif kind == "replicated":
        text = rng.choice(["replicated", f"replicated({rng.randint(1, len(used))})"])
    elif kind in AXES:
        text = draw_axes(rng, kind, shape, len(used))
    else:
        text = draw_dealt(rng, kind, shape, used)
    parts = text.split(";", 1)
    text = parts[0] + suffix + (";" + parts[1] if len(parts) > 1 else "")
    return text + (grains(rng, len(shape)) if with_grains else "")
