/* 22_products_opencl.c - a program of OpenCL that does not know DCL: C = A B, its rows dealt to all devices of the first platform.
 *
 *   build/examples/22_products_opencl [N]    matrices of N x N floats; 384
 *   OCL_ICD_VENDORS=build/dcl.icd DCL_WORKERS=tcp://gpu1:7700,tcp://gpu2:7700 build/examples/22_products_opencl 4096
 *
 * The second command uses all devices of both workers: docs/remote-opencl.md. One context has all devices, so B is one buffer: a worker
 * gets its contents when a device there first reads them, from the program or from another worker. Rows of A and C belong to one device. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_DEVICES = 64, NAME_BYTES = 128, CHECKED = 7 };

static const char text[] =
    "kernel void multiply(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    int j = get_global_id(0), i = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < n; k++)\n"
    "        sum += a[i * n + k] * b[k * n + j];\n"
    "    c[i * n + j] = sum;\n"
    "}\n";

/* A device, and the rows of A and C that it has. */
typedef struct part {
    size_t first, rows;
    cl_command_queue queue;
    cl_mem a, c;
} part;

static void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", call, status);
    exit(EXIT_FAILURE);
}

static cl_mem create(cl_context context, cl_mem_flags flags, size_t bytes, float *contents)
{
    cl_int status;
    cl_mem mem =
        clCreateBuffer(context, flags | (contents != NULL ? CL_MEM_COPY_HOST_PTR : 0), bytes, contents, &status);
    check(status, "clCreateBuffer");
    return mem;
}

/* Enqueue the rows of a device: nothing waits. */
static void start(part *p, cl_context context, cl_device_id device, cl_kernel kernel, cl_mem b, int n, float *A,
                  float *C)
{
    cl_int status;
    size_t row = (size_t)n * sizeof(float), range[2] = {(size_t)n, p->rows};
    p->queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    p->a = create(context, CL_MEM_READ_ONLY, p->rows * row, NULL);
    p->c = create(context, CL_MEM_WRITE_ONLY, p->rows * row, NULL);
    check(clEnqueueWriteBuffer(p->queue, p->a, CL_FALSE, 0, p->rows * row, A + p->first * (size_t)n, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    check(clSetKernelArg(kernel, 0, sizeof p->a, &p->a), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof b, &b), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof p->c, &p->c), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof n, &n), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(p->queue, kernel, 2, NULL, range, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(p->queue, p->c, CL_FALSE, 0, p->rows * row, C + p->first * (size_t)n, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    check(clFlush(p->queue), "clFlush");
}

/* C = A B, a part of the rows on each device. */
static void multiply(int n, float *A, float *B, float *C, cl_uint count, const cl_device_id device[])
{
    part parts[MOST_DEVICES];
    cl_int status;
    const char *source = text;
    cl_context context = clCreateContext(NULL, count, device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, count, device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "multiply", &status);
    check(status, "clCreateKernel");
    cl_mem b = create(context, CL_MEM_READ_ONLY, (size_t)n * (size_t)n * sizeof(float), B);
    for (cl_uint d = 0; d < count; d++) {
        size_t first = d * (size_t)n / count;
        parts[d] = (part){.first = first, .rows = (d + 1) * (size_t)n / count - first};
        if (parts[d].rows > 0)
            start(&parts[d], context, device[d], kernel, b, n, A, C);
    }
    for (cl_uint d = 0; d < count; d++) {
        if (parts[d].rows == 0)
            continue;
        check(clFinish(parts[d].queue), "clFinish");
        clReleaseMemObject(parts[d].a);
        clReleaseMemObject(parts[d].c);
        clReleaseCommandQueue(parts[d].queue);
    }
    clReleaseMemObject(b);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseContext(context);
}

/* @return the largest difference from plain loops, in every CHECKED-th row. */
static double compare(int n, const float *A, const float *B, const float *C)
{
    double largest = 0;
    for (int i = 0; i < n; i += CHECKED)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += A[(size_t)i * (size_t)n + (size_t)k] * B[(size_t)k * (size_t)n + (size_t)j];
            largest = fmax(largest, fabs((double)sum - C[(size_t)i * (size_t)n + (size_t)j]));
        }
    return largest;
}

int main(int argc, char *argv[])
{
    cl_platform_id platform;
    cl_device_id device[MOST_DEVICES];
    cl_uint count = 0;
    char name[NAME_BYTES];
    int n = argc > 1 ? atoi(argv[1]) : 384;
    if (n < 1 || n > 1 << 15) {
        fprintf(stderr, "N is %d; expected 1 to %d\n", n, 1 << 15);
        return EXIT_FAILURE;
    }
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, device, &count), "clGetDeviceIDs");
    count = count < MOST_DEVICES ? count : MOST_DEVICES;
    size_t elements = (size_t)n * (size_t)n;
    float *A = malloc(elements * sizeof *A), *B = malloc(elements * sizeof *B), *C = malloc(elements * sizeof *C);
    if (A == NULL || B == NULL || C == NULL) {
        fprintf(stderr, "no memory for matrices of %d x %d\n", n, n);
        return EXIT_FAILURE;
    }
    for (size_t e = 0; e < elements; e++) {
        A[e] = (float)(e * 7 % 31) - 15;
        B[e] = (float)(e * 5 % 29) - 14;
        C[e] = NAN;
    }
    for (cl_uint d = 0; d < count; d++) {
        check(clGetDeviceInfo(device[d], CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
        printf("device %u: %s\n", (unsigned)d, name);
    }
    multiply(n, A, B, C, count, device);
    double difference = compare(n, A, B, C);
    printf("C = A B, %d x %d floats on %u devices: largest difference from plain loops %g\n", n, n, (unsigned)count,
           difference);
    free(C);
    free(B);
    free(A);
    return difference == 0 ? EXIT_SUCCESS : EXIT_FAILURE; /* integers of at most 24 bits: no rounding */
}
