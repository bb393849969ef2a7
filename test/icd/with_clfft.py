"""with_clfft.py: transforms by clFFT on the first device that OpenCL names, compared with FFTW.

Through the C interfaces of both libraries. The largest difference, relative to the largest value of the transform, has to be at most 2e-6
(double precision: 1e-12)."""
import ctypes
import sys

import numpy as np
import pyopencl as cl

CLFFT_SINGLE, CLFFT_DOUBLE, CLFFT_COMPLEX_INTERLEAVED, CLFFT_REAL, CLFFT_HERMITIAN_INTERLEAVED = 1, 2, 1, 5, 3
CLFFT_OUTOFPLACE, CLFFT_FORWARD, CLFFT_BACKWARD = 2, -1, 1
FFTW_FORWARD, FFTW_BACKWARD, FFTW_ESTIMATE = -1, 1, 64

SHAPES = [(64,), (240,), (1 << 14,), (60, 128), (16, 30, 32)]  # slowest axis first


def must(status, what):
    if status != 0:
        sys.exit(f"{what}: {status}")


def by_clfft(clfft, context, queue, data, shape, result, layouts, direction, double):
    handle, lengths = ctypes.c_size_t(), (ctypes.c_size_t * len(shape))(*reversed(shape))
    must(clfft.clfftCreateDefaultPlan(ctypes.byref(handle), ctypes.c_void_p(context.int_ptr), len(shape), lengths), "clfftCreateDefaultPlan")
    must(clfft.clfftSetPlanPrecision(handle, CLFFT_DOUBLE if double else CLFFT_SINGLE), "clfftSetPlanPrecision")
    must(clfft.clfftSetLayout(handle, *layouts), "clfftSetLayout")
    must(clfft.clfftSetResultLocation(handle, CLFFT_OUTOFPLACE), "clfftSetResultLocation")
    if layouts[0] != layouts[1]:  # rows of the half that is stored
        half, full = [1], [1]
        for axis in reversed(range(1, len(shape))):
            half.append(half[-1] * (shape[axis] // 2 + 1 if axis == len(shape) - 1 else shape[axis]))
            full.append(full[-1] * shape[axis])
        strides = ctypes.c_size_t * len(shape)
        must(clfft.clfftSetPlanInStride(handle, len(shape), strides(*full)), "clfftSetPlanInStride")
        must(clfft.clfftSetPlanOutStride(handle, len(shape), strides(*half)), "clfftSetPlanOutStride")
    queues = (ctypes.c_void_p * 1)(queue.int_ptr)
    must(clfft.clfftBakePlan(handle, 1, queues, None, None), "clfftBakePlan")
    flags = cl.mem_flags
    source = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=data)
    target = cl.Buffer(context, flags.READ_WRITE, result.nbytes)
    buffers = [(ctypes.c_void_p * 1)(buffer.int_ptr) for buffer in (source, target)]
    must(clfft.clfftEnqueueTransform(handle, direction, 1, queues, 0, None, None, buffers[0], buffers[1], None), "clfftEnqueueTransform")
    cl.enqueue_copy(queue, result, target)
    must(clfft.clfftDestroyPlan(ctypes.byref(handle)), "clfftDestroyPlan")


def by_fftw(data, shape, result, real, direction, double):
    fftw = ctypes.CDLL("libfftw3.so.3" if double else "libfftw3f.so.3")
    prefix = "fftw" if double else "fftwf"
    extents = (ctypes.c_int * len(shape))(*shape)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (data, result)]
    kind = "plan_dft_r2c" if real else "plan_dft"
    plan_of, execute = getattr(fftw, f"{prefix}_{kind}"), getattr(fftw, f"{prefix}_execute")
    plan_of.restype = ctypes.c_void_p
    plan = plan_of(len(shape), extents, *pointers, *([] if real else [direction]), FFTW_ESTIMATE)
    execute(ctypes.c_void_p(plan))


def main():
    clfft = ctypes.CDLL("libclFFT.so.2")
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    must(clfft.clfftSetup((ctypes.c_uint32 * 8)(2, 12, 2)), "clfftSetup")
    rng, right, wrong = np.random.default_rng(7), 0, 0
    for shape in SHAPES:
        for double in (False, True) if shape == (240,) else (False,):
            for kind in ("forward", "backward", "real"):
                number, complex_number = (np.float64, np.complex128) if double else (np.float32, np.complex64)
                real = kind == "real"
                data = rng.random(shape).astype(number) if real else (rng.random(shape) + 1j * rng.random(shape)).astype(complex_number)
                place = (*shape[:-1], shape[-1] // 2 + 1) if real else shape
                found, expected = np.zeros(place, complex_number), np.zeros(place, complex_number)
                layouts = (CLFFT_REAL, CLFFT_HERMITIAN_INTERLEAVED) if real else (CLFFT_COMPLEX_INTERLEAVED,) * 2
                by_clfft(clfft, context, queue, data, shape, found, layouts, CLFFT_BACKWARD if kind == "backward" else CLFFT_FORWARD, double)
                by_fftw(data, shape, expected, real, FFTW_BACKWARD if kind == "backward" else FFTW_FORWARD, double)
                if kind == "backward":
                    expected /= data.size  # clFFT scales
                error = np.abs(found - expected).max() / np.abs(expected).max()
                if error <= (1e-12 if double else 2e-6):
                    right += 1
                else:
                    wrong += 1
                    print(f"WRONG {shape} {'double' if double else 'single'} {kind}: {error:.1e}")
    clfft.clfftTeardown()
    print(f"{right} transforms as by FFTW, {wrong} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
