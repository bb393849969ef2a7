"""The loop bodies of generated cases, and what they mean in NumPy.

A row has the text, the shape of each array as expressions over the extents of the indices (`i` stands for how many values
i takes), and where C and Python differ in writing, the same in Python. There A(i-1, j) is what A holds at these indices,
0 outside its grid; i, j, ... are arrays of indices; C.put((i, j), values[, mask]) assigns; pick(c, a, b) is c ? a : b."""
import re

import numpy

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"]
FLOATS = ["float", "double"]
DTYPES = {name: numpy.dtype({"float": "f4", "double": "f8"}.get(name, name)) for name in TYPES}
OPENCL = {"int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar", "uint16": "ushort",
          "uint32": "uint", "uint64": "ulong", "float": "float", "double": "double"}
INDICES = "ijklmnop"


class Body:
    def __init__(self, name, text, shapes, python=None, access=None, types=TYPES, of=None, scalars=None, eval=True,
                 inexact=False, box=True, origin=False, infer=False, ends="DCL_OK", ulps=None, prelude=None, most=None):
        self.name, self.text, self.python, self.prelude = name, text, python, prelude
        self.shapes = {key: re.split(r",(?![^(]*\))", axes) for key, axes in (s.split("=") for s in shapes.split(";"))}
        self.access = {key: "in" for key in self.shapes}
        self.access.update(access or {"C": "out"})
        self.types, self.of, self.scalars = types, of or {}, scalars or {}
        self.eval, self.inexact, self.box, self.origin, self.infer = eval, inexact, box, origin, infer
        self.ends, self.ulps, self.most = ends, ulps, most
        self.accesses = find_accesses(text, self.shapes)
        self.first = next(key for key in self.shapes if self.access[key] in ("out", "inout"))
        self.order = [sub.strip() for sub in next(subs for key, subs in self.accesses if key == self.first)]
        self.rank = len(self.order)
        self.grows = ulps is not None or re.search(r"\) \* [A-Z]\(|square", text) is not None  # when done repeatedly

    def shape(self, name, extents, values):
        names = dict(zip(INDICES, extents), max=max, **{key: value for key, (_, value) in values.items()})
        return tuple(int(eval(axis, {}, names)) for axis in self.shapes[name])


def find_accesses(text, names):
    """[(array, [subscripts])] in the order of the text."""
    found = []
    for match in re.finditer(r"\b([A-Z])\(", text):
        if match.group(1) not in names:
            continue
        depth, subs, start = 1, [], match.end()
        for at in range(match.end(), len(text)):
            depth += (text[at] == "(") - (text[at] == ")")
            if depth == 0 or (depth == 1 and text[at] == ","):
                subs.append(text[start:at])
                start = at + 1
            if depth == 0:
                break
        found.append((match.group(1), subs))
    return found


def less(bound):
    """A scalar 0 <= s < bound, where the bound is of an extent."""
    return lambda rng, extents: ("int64", rng.randrange(max(1, min(bound(extents), 5))))


def element(low, high):
    """A scalar of the element's kind: int64, float or double."""
    return lambda rng, extents: ("element", rng.randint(low, high))


TWO, INOUT_TWO = {"C": "out", "D": "out"}, {"C": "out", "D": "inout"}
BODIES = [
    Body("copy", "C(i) = A(i);", "C=i;A=i", origin=True, infer=True),
    Body("add", "C(i,j) = A(i,j) + B(i,j);", "C=i,j;A=i,j;B=i,j", origin=True, infer=True),
    Body("add transposed", "C(i,j) = A(i,j) + B(j,i);", "C=i,j;A=i,j;B=j,i", origin=True, infer=True),
    Body("transposed product", "C(j,i) = A(i,j) * B(j,i) - A(i,j);", "C=j,i;A=i,j;B=j,i", origin=True, infer=True),
    Body("permute 3", "C(i,j,k) = A(k,i,j) - B(j,k,i);", "C=i,j,k;A=k,i,j;B=j,k,i", origin=True, infer=True),
    Body("permute output 3", "C(k,i,j) = A(i,j,k) + B(k,j,i);", "C=k,i,j;A=i,j,k;B=k,j,i", origin=True, infer=True),
    Body("permute 4", "C(i,j,k,l) = A(l,k,j,i) + B(j,i,l,k);", "C=i,j,k,l;A=l,k,j,i;B=j,i,l,k", origin=True, infer=True),
    Body("permute output 4", "C(l,i,k,j) = A(i,j,k,l) * 2;", "C=l,i,k,j;A=i,j,k,l", origin=True),
    Body("neighbours", "C(i) = (i > 0 ? A(i-1) : 0) + (i < N0 - 1 ? A(i+1) : 0);", "C=i;A=i",
         "C.put((i,), pick(i > 0, A(i-1), 0) + pick(i < N0 - 1, A(i+1), 0))"),
    Body("above", "C(i,j) = i > 0 ? A(i-1,j) : 0;", "C=i,j;A=i,j", "C.put((i,j), pick(i > 0, A(i-1,j), 0))"),
    Body("five points", "C(i,j) = i > 0 && i < N0 - 1 && j > 0 && j < N1 - 1 ?\n"
         "    A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1) - 4*A(i,j) : A(i,j);", "C=i,j;A=i,j",
         "C.put((i,j), pick((i > 0) & (i < N0 - 1) & (j > 0) & (j < N1 - 1),"
         " A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1) - 4*A(i,j), A(i,j)))"),
    Body("shift by scalars", "C(i,j) = i >= s && j < N1 - t ? A(i-s,j+t) : B(j,i);", "C=i,j;A=i,j;B=j,i",
         "C.put((i,j), pick((i >= s) & (j < N1 - t), A(i-s,j+t), B(j,i)))",
         scalars={"s": less(lambda e: e[0]), "t": less(lambda e: e[1])}),
    Body("corner 3", "C(i,j,k) = i > 0 && k > 0 ? A(i-1,j,k-1) : B(k,j,i);", "C=i,j,k;A=i,j,k;B=k,j,i",
         "C.put((i,j,k), pick((i > 0) & (k > 0), A(i-1,j,k-1), B(k,j,i)))"),
    Body("strided", "C(i,j) = A(2*i + 1, 3*j) + B(j,i);", "C=i,j;A=2*i+2,3*j+1;B=j,i"),
    Body("stride a scalar", "C(i) = A(s*i + t) + B(i);", "C=i;A=s*i+t+1;B=i",
         scalars={"s": less(lambda e: 5), "t": less(lambda e: 4)}),
    Body("reversed", "C(i,j) = A(N0 - 1 - i, j) + B(i, N1 - 1 - j);", "C=i,j;A=i,j;B=i,j"),
    Body("reversed strided", "C(i) = A(2*(N0 - 1 - i));", "C=i;A=2*i"),
    Body("reversed at the border", "C(i) = i + s < N0 ? A(N0 - 1 - s - i) : 0;", "C=i;A=i",
         "C.put((i,), pick(i + s < N0, A(N0 - 1 - s - i), 0))", scalars={"s": less(lambda e: e[0])}),
    Body("broadcast", "C(i,j) = A(i) * B(j) + D(0,j);", "C=i,j;A=i;B=j;D=2,j"),
    Body("broadcast planes", "C(i,j,k) = A(j) + B(k,1) * D(i);", "C=i,j,k;A=j;B=k,3;D=i"),
    Body("last row, first column", "C(i,j) = A(N0 - 1, j) + B(i, 0);", "C=i,j;A=i,j;B=i,max(j,1)"),
    Body("index values", "C(i,j) = (i + 2*j) + A(i,j);", "C=i,j;A=i,j", "C.put((i,j), T(i + 2*j) + A(i,j))",
         origin=True),
    Body("two outputs", "C(i,j) = A(i,j) + B(j,i); D(j,i) = A(i,j) - B(j,i);", "C=i,j;D=j,i;A=i,j;B=j,i", access=TWO,
         origin=True, infer=True),
    Body("two alike", "C(i,j) = A(i,j) * 2; D(i,j) = A(i,j) + B(i,j);", "C=i,j;D=i,j;A=i,j;B=i,j", access=TWO,
         origin=True),
    Body("two outputs 3", "C(i,j,k) = A(k,j,i); D(k,i,j) = A(k,j,i) + B(i,j,k);", "C=i,j,k;D=k,i,j;A=k,j,i;B=i,j,k",
         access=TWO, origin=True),
    Body("two outputs 1", "C(i) = A(i) + 1; D(i) = A(i) - 1;", "C=i;D=i;A=i", access=TWO, origin=True),
    Body("in and out", "C(i,j) = a*C(i,j) + A(j,i);", "C=i,j;A=j,i", access={"C": "inout"},
         scalars={"a": element(2, 3)}, origin=True),
    Body("add up", "C(i,j,k) += A(i,j,k);", "C=i,j,k;A=i,j,k", access={"C": "inout"}, origin=True),
    Body("second in and out", "C(i,j) = A(i,j); D(j,i) = D(j,i) + A(i,j);", "C=i,j;D=j,i;A=i,j", access=INOUT_TWO,
         origin=True),
    Body("both in and out", "C(i) += A(i); D(i) = D(i) + C(i);", "C=i;D=i;A=i", access={"C": "inout", "D": "inout"},
         origin=True),
    Body("sometimes", "if ((i + j) % 2 == 0) C(i,j) = A(j,i);", "C=i,j;A=j,i",
         "C.put((i,j), A(j,i), (i + j) % 2 == 0)"),
    Body("second sometimes", "C(i,j) = A(i,j); if (i > j) D(j,i) = A(i,j) * 2;", "C=i,j;D=j,i;A=i,j",
         "C.put((i,j), A(i,j)); D.put((j,i), A(i,j) * 2, i > j)", access=TWO),
    Body("scalars", "C(i,j) = a*A(i,j) + b;", "C=i,j;A=i,j", scalars={"a": element(-3, 3), "b": element(1, 9)},
         origin=True),
    Body("narrow scalar", "C(i) = a*A(i);", "C=i;A=i", scalars={"a": lambda rng, e: ("own", rng.randint(1, 3))},
         origin=True, eval=False),
    Body("wide scalar", "C(i) = a*A(i);", "C=i;A=i", "C.put((i,), a*A(i).astype('f8'))", types=["float"],
         scalars={"a": lambda rng, e: ("double", rng.random())}, origin=True),
    Body("mixed types", "C(i,j) = A(i,j) + B(j,i);", "C=i,j;A=i,j;B=j,i",
         "C.put((i,j), A(i,j).astype('f4') + B(j,i))", types=["double"], of={"A": "int32", "B": "float"}, origin=True),
    Body("narrowing", "C(i,j) = A(i,j) + B(j,i);", "C=i,j;A=i,j;B=j,i", types=["int32"],
         of={"A": "int8", "B": "uint16"}, origin=True),
    Body("sums of indices", "C(i,j) = A(i + j);", "C=i,j;A=max(i+j-1,0)", inexact=True),
    Body("differences", "C(i,j) = A(i - j + N1 - 1) + B(i,j);", "C=i,j;A=max(i+j-1,0);B=i,j", inexact=True),
    Body("diagonal", "C(i) = A(i,i) + B(i);", "C=i;A=i,i;B=i", inexact=True, most=60),
    Body("anywhere", "C(i,j) = A((7*i + 3*j) % N0, (i + j) % N1);", "C=i,j;A=i,j", access={"C": "out", "A": "in_all"}, most=61,
         eval=False),
    Body("in rows", "C(i,j) = A(i, (3*j + 1) % N1);", "C=i,j;A=i,j", access={"C": "out", "A": "in_rows"}, most=61, eval=False),
    Body("in columns", "C(i,j) = A((5*i + 1) % N0, j);", "C=i,j;A=i,j", access={"C": "out", "A": "in_columns"}, most=61,
         eval=False),
    Body("matrix times vector", "$T sum = 0;\nfor (long q = 0; q < K; q++) sum += A(i,q) * B(q);\nC(i) = sum;",
         "C=i;A=i,K;B=K", "sum = 0*abs(A(i,0))\nfor q in range(int(K[0])): sum = sum + A(i,q) * B(q)\nC.put((i,), sum)",
         access={"C": "out", "A": "in_rows", "B": "in_all"}, most=61, scalars={"K": lambda rng, e: ("int64", rng.randint(1, 9))},
         eval=False),
    Body("matrix product", "$T sum = 0;\nfor (long q = 0; q < K; q++) sum += A(i,q) * B(q,j);\nC(i,j) = sum;",
         "C=i,j;A=i,K;B=K,j",
         "sum = 0*abs(A(i,0))\nfor q in range(int(K[0])): sum = sum + A(i,q) * B(q,j)\nC.put((i,j), sum)",
         access={"C": "out", "A": "in_rows", "B": "in_columns"}, most=61,
         scalars={"K": lambda rng, e: ("int64", rng.randint(1, 9))}, eval=False),
    Body("helper", "$T t = square(A(j,i)); C(i,j) = t + A(j,i);", "C=i,j;A=j,i",
         "C.put((i,j), A(j,i)*A(j,i) + A(j,i))", prelude="static $T square($T x) { return x * x; }", eval=False,
         origin=True),
    Body("outside", "C(i) = A(i + 1);", "C=i;A=i", ends="DCL_ERR_RANGE", eval=False, box=False),
    Body("outside, reversed", "C(i) = A(N0 - 2 - i);", "C=i;A=i", ends="DCL_ERR_RANGE", eval=False, box=False),
    Body("sine", "C(i,j) = sin(A(i,j));", "C=i,j;A=i,j", types=FLOATS, ulps=4, origin=True, infer=True),
    Body("exponential", "C(i,j) = exp(A(j,i));", "C=i,j;A=j,i", types=FLOATS, ulps=3, origin=True, infer=True),
]


class Kernel:
    """A body with types: what is compiled once."""

    def __init__(self, body, type_name):
        self.body, self.type = body, type_name
        self.text = body.text.replace("$T", OPENCL[type_name])
        self.prelude = body.prelude and body.prelude.replace("$T", OPENCL[type_name])

    def type_of(self, name):
        return self.body.of.get(name, self.type)

    def scalar_type(self, kind):
        if kind == "element":
            return self.type if self.type in FLOATS else "int64"
        return self.type if kind == "own" else kind


def choose_kernels(rng, most):
    """Every body once, then more types for those that serve all, so that the types occur alike. sin and exp: both."""
    start = rng.randrange(len(TYPES))
    used = dict.fromkeys(TYPES, 0)

    def next_type(body, taken):
        free = [t for t in TYPES[start:] + TYPES[:start] if t in body.types and t not in taken]
        return min(free, key=lambda t: used[t]) if free else None

    order = list(BODIES)
    rng.shuffle(order)
    kernels, taken = [], {body.name: [] for body in BODIES}
    for turn in range(len(TYPES)):
        for body in order:
            if turn > 0 and body.types != TYPES and body.types != FLOATS:
                continue
            choice = next_type(body, taken[body.name])
            if choice is None or len(kernels) >= most:
                continue
            used[choice] += 1
            taken[body.name].append(choice)
            kernels.append(Kernel(body, choice))
        order.sort(key=lambda body: body.types != FLOATS)  # from the second turn on
    return kernels


# ---- what a body means ------------------------------------------------------------------------------------------------


class Accessor:
    """An array as the Python text uses it. Integers are widened: results agree with C modulo the element's size."""

    def __init__(self, values, origin):
        self.values, self.origin = values, origin

    def __call__(self, *subs):
        inside, at = True, []
        for sub, low, extent in zip(subs, self.origin, self.values.shape):
            sub = numpy.atleast_1d(sub) - low
            inside = inside & (sub >= 0) & (sub < extent)
            at.append(numpy.clip(sub, 0, max(extent - 1, 0)))
        if self.values.size == 0:
            found = numpy.zeros(numpy.broadcast_shapes(*(a.shape for a in at)), self.values.dtype)
        else:
            found = self.values[tuple(at)]
        found = numpy.where(inside, found, numpy.zeros(1, found.dtype))
        return found if found.dtype.kind == "f" else found.astype(numpy.int64)

    def put(self, subs, values, mask=True):
        subs = numpy.broadcast_arrays(*(sub - low for sub, low in zip(subs, self.origin)))
        values = numpy.broadcast_to(values, subs[0].shape).astype(self.values.dtype)
        mask = numpy.broadcast_to(mask, subs[0].shape)
        self.values[tuple(sub[mask] for sub in subs)] = values[mask]


def pick(condition, a, b):
    return numpy.where(condition, a, numpy.asarray(b, dtype=a.dtype) if numpy.isscalar(b) else b)


def index_arrays(order, box):
    """Name -> indices, axis m of the space along axis m; box is [(start, count, stride)]."""
    rank = len(order)
    return {name: (start + stride * numpy.arange(count)).reshape([-1 if d == m else 1 for d in range(rank)])
            for m, (name, (start, count, stride)) in enumerate(zip(order, box))}


def python_text(body):
    if body.python is not None:
        return body.python
    lines = []
    for statement in body.text.split(";"):
        if statement.strip() == "":
            continue
        target, sign, value = re.match(r"\s*(\w\([^)]*\))\s*(\+?)=(.*)$", statement, re.S).groups()
        subs = re.sub(r"^\w", "", target).replace(")", ",)")
        lines.append(f"{target[0]}.put({subs}, {target + ' + ' if sign else ''}{value.strip()})")
    return "\n".join(lines)


def evaluate(kernel, arrays, origins, values, box):
    """Run the body over `arrays` (name -> values, changed in place)."""
    body = kernel.body
    names = index_arrays(body.order, box)
    names.update({name: numpy.array([value], DTYPES[type_name]) for name, (type_name, value) in values.items()})
    for name, (type_name, value) in values.items():
        if type_name not in FLOATS:
            names[name] = numpy.array([value], numpy.int64)
    names.update({name: Accessor(array, origins[name]) for name, array in arrays.items()})
    dtype = DTYPES[kernel.type]
    names.update(pick=pick, sin=numpy.sin, exp=numpy.exp, T=lambda x: x.astype(dtype if dtype.kind == "f" else numpy.int64))
    if all(count > 0 for _, count, _ in box):
        exec(python_text(body), names)


def ulps_off(kernel, found, arrays, origins, values, box):
    """The largest error of sin or exp, in units of the last place, against the next wider type."""
    wide = numpy.float64 if kernel.type == "float" else numpy.longdouble
    at = index_arrays(kernel.body.order, box)
    argument, name = (("i", "j"), "sin") if kernel.body.name == "sine" else (("j", "i"), "exp")
    inputs = Accessor(arrays["A"], origins["A"])(*(at[n] for n in argument)).astype(wide)
    exact = (numpy.sin if name == "sin" else numpy.exp)(inputs)
    results = Accessor(found, origins["C"])(at["i"], at["j"])
    if exact.size == 0:
        return 0.0
    place = numpy.spacing(numpy.abs(exact).astype(results.dtype)).astype(wide)
    return float((numpy.abs(results.astype(wide) - exact) / place).max())
