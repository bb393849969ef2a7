"""with_pyopencl.py: calls of PyOpenCL on the first device that OpenCL names, their results compared with NumPy.

Arrays, element-wise kernels, reductions, scans, sorting, random numbers, programs, buffers, rectangles, maps, events, profiling. Prints a
line for each comparison that is wrong, then how many were right and how many functions of PyOpenCL it has called."""
import sys
import threading

import numpy as np
import pyopencl as cl
import pyopencl.algorithm
import pyopencl.array as cla
import pyopencl.clmath as clm
import pyopencl.clrandom as clr
import pyopencl.tools
from pyopencl.bitonic_sort import BitonicSort
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import ExclusiveScanKernel, GenericScanKernel, InclusiveScanKernel

HERE = __file__
called, right, wrong = set(), [], []
mf = cl.mem_flags


def note_call(frame, event, argument):
    """sys.setprofile: remember the functions of PyOpenCL that this file calls itself."""
    if event == "call" and frame.f_back is not None and frame.f_back.f_code.co_filename == HERE:
        if "pyopencl" in frame.f_code.co_filename:
            called.add((frame.f_code.co_filename, frame.f_code.co_name, frame.f_code.co_firstlineno))
    elif event == "c_call" and frame.f_code.co_filename == HERE:
        if "pyopencl" in str(getattr(argument, "__module__", "")) or "_cl." in repr(getattr(argument, "__self__", "")):
            called.add(("_cl", getattr(argument, "__qualname__", str(argument)), str(type(getattr(argument, "__self__", None)))))


def same(what, found, expected, tolerance=0.0):
    found, expected = np.asarray(found), np.asarray(expected)
    exactly = tolerance == 0 or found.dtype == bool
    good = found.shape == expected.shape and bool(
        np.array_equal(found, expected) if exactly else np.all(np.abs(found - expected) <= tolerance * np.maximum(1, np.abs(expected))))
    (right if good else wrong).append(what)
    if not good:
        print(f"WRONG {what}: {found.ravel()[:4]}, expected {expected.ravel()[:4]}", flush=True)


def refused(what, call, name):
    """The call fails with this error of OpenCL."""
    try:
        call()
        code = "nothing"
    except cl.Error as problem:
        code = cl.status_code.to_string(problem.code)
    (right if code == name else wrong).append(what)
    if code != name:
        print(f"WRONG {what}: {code}, expected {name}", flush=True)


def arrays(context, queue, rng):
    a, b = rng.random(5003).astype(np.float32), rng.random(5003).astype(np.float32)
    da, db = cla.to_device(queue, a), cla.to_device(queue, b)
    same("to_device, get", da.get(), a)
    same("add", (da + db).get(), a + b)
    same("subtract", (da - db).get(), a - b)
    same("multiply", (da * db).get(), a * b)
    same("divide", (da / (db + 1)).get(), a / (b + 1), 1e-6)
    same("power", (da ** 3).get(), a ** 3, 1e-5)
    same("scale", (3 * da - 1).get(), 3 * a - 1, 1e-6)
    same("negate", (-da).get(), -a)
    same("slice", da[7:4000].get(), a[7:4000])
    same("fill", cla.empty(queue, 77, np.int32).fill(5).get(), np.full(77, 5))
    same("zeros", cla.zeros(queue, (3, 5), np.float64).get(), np.zeros((3, 5)))
    same("zeros_like", cla.zeros_like(da).get(), 0 * a)
    same("arange", cla.arange(queue, 3, 90, 4, dtype=np.int64).get(), np.arange(3, 90, 4))
    same("reshape", da[:5000].reshape(50, 100).get(), a[:5000].reshape(50, 100))
    same("astype", da.astype(np.float64).get(), a.astype(np.float64))
    same("copy", da.copy().get(), a)
    same("view", da.view(np.int32).get(), a.view(np.int32))
    same("sum", cla.sum(da).get(), np.sum(a, dtype=np.float64), 1e-5)
    same("dot", cla.dot(da, db).get(), np.dot(a.astype(np.float64), b), 1e-5)
    same("max", cla.max(da).get(), a.max())
    same("min", cla.min(da).get(), a.min())
    same("minimum", cla.minimum(da, db).get(), np.minimum(a, b))
    same("maximum", cla.maximum(da, db).get(), np.maximum(a, b))
    same("if_positive", cla.if_positive(da - 0.5, da, db).get(), np.where(a - np.float32(0.5) > 0, a, b))
    same("vdot", cla.vdot(da, db).get(), np.vdot(a.astype(np.float64), b), 1e-5)
    first = cla.arange(queue, 0, 100, dtype=np.int32)
    same("subset_dot", cla.subset_dot(first, da, db).get(), np.dot(a[:100].astype(np.float64), b[:100]), 1e-5)
    index = rng.permutation(5003).astype(np.int32)
    same("take", cla.take(da, cla.to_device(queue, index)).get(), a[index])
    put, = cla.multi_put([da], cla.to_device(queue, index), dest_shape=(5003,))
    expected = np.empty_like(a)
    expected[index] = a
    same("multi_put", put.get(), expected)
    same("concatenate", cla.concatenate((da, db)).get(), np.concatenate((a, b)))
    same("stack", cla.stack((da, db)).get(), np.stack((a, b)))
    same("transpose", da[:5000].reshape(50, 100).T.get(), a[:5000].reshape(50, 100).T)
    same("comparison", (da > db).get(), a > b)
    same("all", np.bool_(((da >= 0)).all().get()), np.bool_(True))
    same("any", np.bool_((da > 2).any().get()), np.bool_(False))
    z = (a + 1j * b).astype(np.complex64)
    dz = cla.to_device(queue, z)
    same("complex product", (dz * dz).get(), z * z, 1e-6)
    same("conj", dz.conj().get(), z.conj())
    same("real, imag", (dz.real + dz.imag).get(), z.real + z.imag)
    same("squeeze", da[:12].reshape(1, 12).squeeze().get(), a[:12])
    da += db
    same("+=", da.get(), a + b)
    da.set(a)
    da[10:20] = db[10:20]
    a[10:20] = b[10:20]
    same("setitem", da.get(), a)
    later, event = da.get_async(queue)
    event.wait()
    same("get_async", later, a)
    same("with_queue", da.with_queue(queue).get(), a)


def mathematics(queue, rng):
    a = (0.1 + 0.8 * rng.random(1000)).astype(np.float32)
    da = cla.to_device(queue, a)
    for name, function in [("sin", np.sin), ("cos", np.cos), ("tan", np.tan), ("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt),
                           ("fabs", np.abs), ("floor", np.floor), ("ceil", np.ceil), ("asin", np.arcsin), ("tanh", np.tanh)]:
        same(name, getattr(clm, name)(da).get(), function(a), 3e-6)
    same("atan2", clm.atan2(da, da + 1).get(), np.arctan2(a, a + 1), 3e-6)
    same("fmod", clm.fmod(10 * da, da + 1).get(), np.fmod(10 * a, a + 1), 2e-5)
    fraction, exponent = clm.frexp(da)
    same("frexp", fraction.get(), np.frexp(a)[0])
    same("ldexp", clm.ldexp(fraction, exponent).get(), a)
    drawn = clr.rand(queue, 20000, np.float32).get()
    same("rand in 0..1", np.bool_(drawn.min() >= 0 and drawn.max() <= 1 and abs(drawn.mean() - 0.5) < 0.02), np.bool_(True))
    normal = clr.PhiloxGenerator(queue.context, seed=15).normal(queue, 20000, np.float32).get()
    same("normal", np.bool_(abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05), np.bool_(True))
    whole = clr.ThreefryGenerator(queue.context, seed=3).uniform(queue, 1000, np.int32, a=-5, b=17).get()
    same("uniform integers", np.bool_(whole.min() >= -5 and whole.max() < 17), np.bool_(True))


def kernels_of_kernels(context, queue, rng):
    n = 30011
    a, b = rng.random(n).astype(np.float32), rng.random(n).astype(np.float32)
    k = rng.integers(-50, 50, n).astype(np.int32)
    da, db, dk = (cla.to_device(queue, x) for x in (a, b, k))
    out = cla.empty_like(da)
    axpy = ElementwiseKernel(context, "float s, float *x, float *y, float *z", "z[i] = s * x[i] + y[i]", "axpy")
    axpy(np.float32(3), da, db, out)
    same("ElementwiseKernel", out.get(), np.float32(3) * a + b, 1e-6)
    spread = ReductionKernel(context, np.float32, neutral="-1e30f", reduce_expr="fmax(a, b)", map_expr="fabs(x[i] - y[i])",
                             arguments="__global const float *x, __global const float *y")
    same("ReductionKernel", spread(da, db).get(), np.abs(a - b).max())
    run = dk.copy()
    InclusiveScanKernel(context, np.int32, "a + b", neutral="0")(run)
    same("InclusiveScanKernel", run.get(), np.cumsum(k))
    run = dk.copy()
    ExclusiveScanKernel(context, np.int32, "a + b", neutral="0")(run)
    same("ExclusiveScanKernel", run.get(), np.cumsum(k) - k)
    start = (rng.random(n) < 0.01).astype(np.int8)
    scan = GenericScanKernel(context, np.int32, "__global const int *x, __global const char *start, __global int *y", "x[i]",
                             "across_seg_boundary ? b : a + b", neutral="0", is_segment_start_expr="start[i]",
                             output_statement="y[i] = item;")
    scan(dk, cla.to_device(queue, start), run)
    expected, total = np.empty_like(k), 0
    for i in range(n):
        total = int(k[i]) if start[i] else total + int(k[i])
        expected[i] = total
    same("GenericScanKernel, segments", run.get(), expected)
    kept, count, _ = pyopencl.algorithm.copy_if(dk, "ary[i] > 10")
    same("copy_if", kept.get()[:int(count.get())], k[k > 10])
    unique, count, _ = pyopencl.algorithm.unique(cla.to_device(queue, np.sort(k)))
    same("unique", unique.get()[:int(count.get())], np.unique(k))
    yes, no, count, _ = pyopencl.algorithm.partition(dk, "ary[i] > 0")
    same("partition", np.concatenate((yes.get()[:int(count.get())], no.get()[:n - int(count.get())])), np.concatenate((k[k > 0], k[k <= 0])))
    positive = (k + 50).astype(np.int32)
    (sorted_,), _ = pyopencl.algorithm.RadixSort(context, "int *x", key_expr="x[i]", sort_arg_names=["x"])(cla.to_device(queue, positive), key_bits=8)
    same("RadixSort", sorted_.get(), np.sort(positive))
    row = rng.random(2048).astype(np.float32)
    got, event = BitonicSort(context)(cla.to_device(queue, row))
    event.wait()
    same("BitonicSort", got.get(), np.sort(row))


SOURCE = """
kernel void add(global const int *a, global const int *b, global int *c) { size_t i = get_global_id(0); c[i] = a[i] + b[i]; }
kernel void turn(global const float *a, global float *b, local float *t, int n)
{
    int i = get_local_id(0), j = get_local_id(1), w = get_local_size(0);
    t[j * w + i] = a[get_global_id(1) * n + get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[(get_group_id(0) * w + j) * n + get_group_id(1) * w + i] = t[i * w + j];
}
kernel void scale(global float4 *a, float4 by, constant float *offset) { a[get_global_id(0)] = a[get_global_id(0)] * by + offset[0]; }
kernel void count(global int *hits, global const int *x) { atomic_add(&hits[x[get_global_id(0)] & 15], 1); }
kernel void slow(global int *a) { int x = a[0]; for (int i = 0; i < STEPS; i++) x = x * 1664525 + 1013904223; a[0] = x; }
"""


def programs(context, queue, rng):
    device = queue.device
    program = cl.Program(context, SOURCE).build(options=["-DSTEPS=100000", "-cl-std=CL1.2"])
    same("build status", program.get_build_info(device, cl.program_build_info.STATUS), 0)
    same("kernel names", program.get_info(cl.program_info.NUM_KERNELS), 5)
    same("all_kernels", sorted(kernel.function_name for kernel in program.all_kernels()) == ["add", "count", "scale", "slow", "turn"], True)
    n = 4096
    a, b = (rng.integers(0, 1000, n).astype(np.int32) for _ in range(2))
    da = cl.Buffer(context, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=a)
    db = cl.Buffer(context, mf.READ_ONLY | mf.USE_HOST_PTR, hostbuf=b)
    dc = cl.Buffer(context, mf.WRITE_ONLY, a.nbytes)
    event = program.add(queue, (n,), (64,), da, db, dc)
    c = np.empty_like(a)
    cl.enqueue_copy(queue, c, dc, wait_for=[event])
    same("kernel call", c, a + b)
    kernel = cl.Kernel(program, "add")
    kernel.set_args(dc, db, da)
    refused("no work-items", lambda: cl.enqueue_nd_range_kernel(queue, kernel, (1, 1, 1, 1), None), "INVALID_WORK_DIMENSION")
    refused("kernel without arguments", lambda: cl.enqueue_nd_range_kernel(queue, cl.Kernel(program, "add"), (1,), None), "INVALID_KERNEL_ARGS")
    cl.enqueue_nd_range_kernel(queue, kernel, (n,), None).wait()
    same("num_args", kernel.num_args, 3)
    same("work group size", kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device) >= 1, True)
    side, tile = 128, 8
    m = rng.random((side, side)).astype(np.float32)
    dm, dt = cla.to_device(queue, m), cla.empty(queue, (side, side), np.float32)
    program.turn(queue, (side, side), (tile, tile), dm.data, dt.data, cl.LocalMemory(4 * tile * tile), np.int32(side))
    same("local memory", dt.get(), m.T)
    four = rng.random((100, 4)).astype(np.float32)
    df = cla.to_device(queue, four)
    offset = cl.Buffer(context, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=np.array([0.25], np.float32))
    program.scale(queue, (100,), None, df.data, cla.vec.make_float4(1, 2, 3, 4), offset)
    same("vector argument", df.get(), four * np.array([1, 2, 3, 4], np.float32) + np.float32(0.25), 1e-6)
    hits = cla.zeros(queue, 16, np.int32)
    program.count(queue, (n,), None, hits.data, da)
    same("atomics", hits.get().sum(), n)
    binary = program.binaries[0]
    again = cl.Program(context, [device], [binary]).build()
    again.add(queue, (n,), None, db, db, dc).wait()
    cl.enqueue_copy(queue, c, dc)
    same("binary", c, b + b)
    refused("a program that is none", lambda: cl.Program(context, "kernel void broken( {").build(cache_dir=False), "BUILD_PROGRAM_FAILURE")
    one = cl.Program(context, "int twice(int x) { return 2 * x; }").compile()
    two = cl.Program(context, "int twice(int x); kernel void use(global int *a) { a[get_global_id(0)] = twice(a[get_global_id(0)]); }").compile()
    linked = cl.link_program(context, [one, two])
    x = cla.to_device(queue, a)
    linked.use(queue, (n,), None, x.data)
    same("compile, link", x.get(), 2 * a)
    return program


def memory(context, queue, rng):
    n = 1 << 16
    a = rng.integers(0, 255, n).astype(np.uint8)
    buffer = cl.Buffer(context, mf.READ_WRITE | mf.ALLOC_HOST_PTR, n)
    mapped, event = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.WRITE, 0, (n,), np.uint8, is_blocking=False)
    event.wait()
    mapped[:] = a
    mapped.base.release(queue).wait()
    b = np.empty_like(a)
    cl.enqueue_copy(queue, b, buffer)
    same("map to write", b, a)
    mapped, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 256, (1000,), np.uint8)
    with mapped.base:
        same("map to read", mapped, a[256:1256])
    part = buffer.get_sub_region(4096, 8192)
    cl.enqueue_fill_buffer(queue, part, np.uint32(0x01020304), 0, 4096)
    cl.enqueue_copy(queue, b, buffer)
    expected = a.copy()
    expected[4096:8192] = np.frombuffer(np.uint32(0x01020304).tobytes(), np.uint8).repeat(1).tolist() * 1024
    same("sub-buffer, fill", b, expected)
    other = cl.Buffer(context, mf.READ_WRITE, n)
    cl.enqueue_copy(queue, other, buffer, byte_count=1000, src_offset=10, dst_offset=20)
    cl.enqueue_copy(queue, b[:1000], other, src_offset=20)
    same("copy between buffers", b[:1000], expected[10:1010])
    box = np.zeros((8, 16, 32), np.uint8)
    cl.enqueue_copy(queue, box, buffer, buffer_origin=(4, 2, 1), host_origin=(8, 3, 2), region=(16, 5, 4), buffer_pitches=(64, 64 * 32),
                    host_pitches=(32, 32 * 16))
    block = np.zeros_like(box)
    block[2:6, 3:8, 8:24] = expected.reshape(-1, 32, 64)[1:5, 2:7, 4:20]
    same("read a box", box, block)
    cl.enqueue_copy(queue, other, box, buffer_origin=(0, 0, 0), host_origin=(8, 3, 2), region=(16, 5, 4), buffer_pitches=(16, 80), host_pitches=(32, 512))
    cl.enqueue_copy(queue, b[:320], other)
    same("write a box", b[:320], block[2:6, 3:8, 8:24].ravel())
    cl.enqueue_copy(queue, other, buffer, src_origin=(0, 0, 0), dst_origin=(4, 1, 0), region=(8, 8, 2), src_pitches=(64, 2048), dst_pitches=(32, 1024)).wait()
    cl.enqueue_copy(queue, b[:2048], other)
    same("copy a box", b[:2048].reshape(2, 32, 32)[:, 1:9, 4:12], expected.reshape(-1, 32, 64)[:2, :8, :8])
    cl.enqueue_migrate_mem_objects(queue, [buffer, other])
    same("size", buffer.get_info(cl.mem_info.SIZE), n)
    refused("a buffer of no bytes", lambda: cl.Buffer(context, mf.READ_WRITE, 0), "INVALID_BUFFER_SIZE")
    refused("a read beyond the end", lambda: cl.enqueue_copy(queue, np.empty(10, np.uint8), other, src_offset=n), "INVALID_VALUE")
    pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
    total = cla.zeros(queue, 1000, np.int32, allocator=pool)
    for _ in range(20):
        total = total + 1
    same("MemoryPool", total.get(), np.full(1000, 20))
    buffer.release()


def events(context, device, program):
    queue = cl.CommandQueue(context, device, cl.command_queue_properties.PROFILING_ENABLE)
    other = cl.CommandQueue(context, device, cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    x = cla.to_device(queue, np.ones(1, np.int32))
    gate = cl.UserEvent(context)
    event = program.slow(other, (1,), (1,), x.data, wait_for=[gate])
    same("waits for a user event", event.command_execution_status > cl.command_execution_status.COMPLETE, True)
    ended = threading.Event()
    event.set_callback(cl.command_execution_status.COMPLETE, lambda status: ended.set())
    gate.set_status(cl.command_execution_status.COMPLETE)
    cl.wait_for_events([event])
    same("callback", ended.wait(60), True)
    same("ended", event.command_execution_status, cl.command_execution_status.COMPLETE)
    timed = program.slow(queue, (1,), (1,), x.data)
    marker = cl.enqueue_marker(queue, wait_for=[timed])
    barrier = cl.enqueue_barrier(queue)
    queue.flush()
    queue.finish()
    barrier.wait()
    marker.wait()
    times = [timed.get_profiling_info(info) for info in (cl.profiling_info.QUEUED, cl.profiling_info.SUBMIT, cl.profiling_info.START, cl.profiling_info.END)]
    same("times in order", times == sorted(times) and times[3] > times[2], True)
    expected = np.uint32(1)
    with np.errstate(over="ignore"):
        for _ in range(200000):
            expected = expected * np.uint32(1664525) + np.uint32(1013904223)
    same("both ran", x.get().astype(np.uint32)[0], expected)
    gate = cl.UserEvent(context)
    failed = program.slow(other, (1,), (1,), x.data, wait_for=[gate])
    gate.set_status(-5)
    refused("waits for what has failed", failed.wait, "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST")
    same("type of command", timed.command_type, cl.command_type.NDRANGE_KERNEL)


def main():
    platform = cl.get_platforms()[0]
    device = platform.get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context, device)
    rng = np.random.default_rng(20261129)
    sys.setprofile(note_call)
    same("platform", device.get_info(cl.device_info.PLATFORM) == platform, True)
    same("context of the queue", queue.get_info(cl.command_queue_info.CONTEXT) == context, True)
    same("one device", len(context.get_info(cl.context_info.DEVICES)), 1)
    arrays(context, queue, rng)
    mathematics(queue, rng)
    kernels_of_kernels(context, queue, rng)
    program = programs(context, queue, rng)
    memory(context, queue, rng)
    events(context, device, program)
    sys.setprofile(None)
    print(f"{len(right)} right, {len(wrong)} wrong, {len(called)} functions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
