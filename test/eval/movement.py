"""What has to move for a body, counted element by element: for every node the elements that its indices read or write and
that it does not own, once for each array, and the blocks in which they lie."""
import numpy

from bodies import DTYPES, index_arrays


def subscripts_of(kernel, subs, names):
    return [numpy.atleast_1d(eval(sub.strip(), {}, names)) for sub in subs]


def needed(kernel, name, shape, origin, names, owners, node):
    """Mask of the elements of an array that indices of a node touch inside its grid."""
    mask = numpy.zeros(shape, dtype=bool)
    mine = owners == node
    access = kernel.body.access[name]
    if not mine.any() or mask.size == 0:
        return mask
    if access == "in_all":
        mask[...] = True
    elif access == "in_rows":
        rows = numpy.broadcast_to(names[kernel.body.order[0]], mine.shape)[mine] - origin[0]
        mask[rows[(rows >= 0) & (rows < shape[0])]] = True
    elif access == "in_columns":
        columns = numpy.broadcast_to(names[kernel.body.order[-1]], mine.shape)[mine] - origin[-1]
        mask[..., columns[(columns >= 0) & (columns < shape[-1])]] = True
    else:
        for array, subs in kernel.body.accesses:
            if array != name:
                continue
            at, inside = [], mine
            for sub, low, extent in zip(subscripts_of(kernel, subs, names), origin, shape):
                sub = numpy.broadcast_to(sub - low, mine.shape)
                inside = inside & (sub >= 0) & (sub < extent)
                at.append(sub)
            mask[tuple(sub[inside] for sub in at)] = True
    return mask


def count(kernel, shapes, origins, values, box, maps, nodes, block_bytes):
    """[(blocks or None, bytes)] per node."""
    body = kernel.body
    names = index_arrays(body.order, box)
    names.update({name: numpy.array([value], numpy.int64) for name, (type_name, value) in values.items()
                  if type_name not in ("float", "double")})
    space = tuple(slice(start - low, start - low + stride * (n - 1) + 1, stride) if n > 0 else slice(0, 0)
                  for (start, n, stride), low in zip(box, origins[body.first]))
    owners = {name: maps[name].owners() for name in shapes}
    computes = owners[body.first][space]
    result = []
    for node in range(nodes):
        blocks, size = 0, 0
        for name, shape in shapes.items():
            element_bytes = DTYPES[kernel.type_of(name)].itemsize
            moved = needed(kernel, name, shape, origins[name], names, computes, node) & (owners[name] != node)
            size += int(moved.sum()) * element_bytes
            if not moved.any():
                continue
            numbers = maps[name].blocks(element_bytes, block_bytes)
            blocks = None if blocks is None or numbers is None else blocks + len(numpy.unique(numbers[moved]))
        result.append((blocks, size))
    return result
