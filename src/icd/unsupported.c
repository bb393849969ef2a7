/* icd/unsupported.c - what the driver does not support, with the error that the specification names for it; the
 * reference counts of all objects; and the table of all entry points. */
#include "icd/entries.h"

/* ---- reference counts ---- */

static cl_int retain(const void *handle, icd_kind kind, cl_int unknown)
{
    if (!icd_enter())
        return unknown;
    icd_object *object = icd_hold(icd_find(handle, kind));
    if (object != NULL)
        object->owned++;
    icd_leave();
    return object != NULL ? CL_SUCCESS : unknown;
}

static cl_int release(const void *handle, icd_kind kind, cl_int unknown)
{
    if (!icd_enter())
        return unknown;
    icd_object *object = icd_find(handle, kind);
    bool owned = object != NULL && object->owned > 0; /* otherwise only the driver still needs it */
    if (owned) {
        object->owned--;
        icd_drop(object);
    }
    icd_leave();
    return owned ? CL_SUCCESS : unknown;
}

static cl_int CL_API_CALL icd_clRetainContext(cl_context handle)
{
    return retain(handle, ICD_CONTEXT, CL_INVALID_CONTEXT);
}

static cl_int CL_API_CALL icd_clReleaseContext(cl_context handle)
{
    return release(handle, ICD_CONTEXT, CL_INVALID_CONTEXT);
}

static cl_int CL_API_CALL icd_clRetainCommandQueue(cl_command_queue handle)
{
    return retain(handle, ICD_QUEUE, CL_INVALID_COMMAND_QUEUE);
}

static cl_int CL_API_CALL icd_clReleaseCommandQueue(cl_command_queue handle)
{
    return release(handle, ICD_QUEUE, CL_INVALID_COMMAND_QUEUE);
}

static cl_int CL_API_CALL icd_clRetainMemObject(cl_mem handle)
{
    return retain(handle, ICD_MEM, CL_INVALID_MEM_OBJECT);
}

static cl_int CL_API_CALL icd_clReleaseMemObject(cl_mem handle)
{
    return release(handle, ICD_MEM, CL_INVALID_MEM_OBJECT);
}

static cl_int CL_API_CALL icd_clRetainProgram(cl_program handle)
{
    return retain(handle, ICD_PROGRAM, CL_INVALID_PROGRAM);
}

static cl_int CL_API_CALL icd_clReleaseProgram(cl_program handle)
{
    return release(handle, ICD_PROGRAM, CL_INVALID_PROGRAM);
}

static cl_int CL_API_CALL icd_clRetainKernel(cl_kernel handle) { return retain(handle, ICD_KERNEL, CL_INVALID_KERNEL); }

static cl_int CL_API_CALL icd_clReleaseKernel(cl_kernel handle)
{
    return release(handle, ICD_KERNEL, CL_INVALID_KERNEL);
}

static cl_int CL_API_CALL icd_clRetainEvent(cl_event handle) { return retain(handle, ICD_EVENT, CL_INVALID_EVENT); }

static cl_int CL_API_CALL icd_clReleaseEvent(cl_event handle) { return release(handle, ICD_EVENT, CL_INVALID_EVENT); }

/* ---- unsupported ---- */

static bool is_valid(const void *handle, icd_kind kind)
{
    if (!icd_enter())
        return false;
    bool known = icd_find(handle, kind) != NULL;
    icd_leave();
    return known;
}

/* The entries for commands, and for functions of kernels, programs and so on, that this driver does not support.
 * Each stands for functions with different parameters, of which it uses the first one only: to check the handle. */
static cl_int CL_API_CALL refuse_command(cl_command_queue queue)
{
    return is_valid(queue, ICD_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

static cl_int CL_API_CALL refuse_kernel(cl_kernel kernel)
{
    return is_valid(kernel, ICD_KERNEL) ? CL_INVALID_OPERATION : CL_INVALID_KERNEL;
}

static cl_int CL_API_CALL refuse_program(cl_program program)
{
    return is_valid(program, ICD_PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
}

static cl_int CL_API_CALL refuse_context(cl_context context)
{
    return is_valid(context, ICD_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT;
}

/* Refuse a call for images, pipes or objects of OpenGL: every memory object of this driver is a buffer. */
static cl_int CL_API_CALL refuse_mem(void) { return CL_INVALID_MEM_OBJECT; }

static cl_int CL_API_CALL refuse_gl_object(cl_mem mem)
{
    return is_valid(mem, ICD_MEM) ? CL_INVALID_GL_OBJECT : CL_INVALID_MEM_OBJECT;
}

static cl_int CL_API_CALL refuse_sampler(void) { return CL_INVALID_SAMPLER; }

static cl_int CL_API_CALL refuse(void) { return CL_INVALID_OPERATION; }

/* These functions have the parameters that the specification gives them, and use few of them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Constructors: they say why through their last parameter. */
static void *refuse_object(cl_context context, cl_int *status_out)
{
    if (status_out != NULL)
        *status_out = refuse_context(context);
    return NULL;
}

static cl_mem CL_API_CALL icd_clCreateImage2D(cl_context context, cl_mem_flags unused_1,
                                              const cl_image_format *unused_2, size_t unused_3, size_t unused_4,
                                              size_t unused_5, void *unused_6, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateImage3D(cl_context context, cl_mem_flags unused_1,
                                              const cl_image_format *unused_2, size_t unused_3, size_t unused_4,
                                              size_t unused_5, size_t unused_6, size_t unused_7, void *unused_8,
                                              cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_sampler CL_API_CALL icd_clCreateSampler(cl_context context, cl_bool unused_1, cl_addressing_mode unused_2,
                                                  cl_filter_mode unused_3, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateFromGLBuffer(cl_context context, cl_mem_flags unused_1, cl_GLuint unused_2,
                                                   int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateFromGLTexture2D(cl_context context, cl_mem_flags unused_1, cl_GLenum unused_2,
                                                      cl_GLint unused_3, cl_GLuint unused_4, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateFromGLTexture3D(cl_context context, cl_mem_flags unused_1, cl_GLenum unused_2,
                                                      cl_GLint unused_3, cl_GLuint unused_4, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateFromGLRenderbuffer(cl_context context, cl_mem_flags unused_1, cl_GLuint unused_2,
                                                         cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_event CL_API_CALL icd_clCreateEventFromGLsyncKHR(cl_context context, cl_GLsync unused_1, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateImage(cl_context context, cl_mem_flags unused_1, const cl_image_format *unused_2,
                                            const cl_image_desc *unused_3, void *unused_4, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

/* No device has built-in kernels, so no name is right. */
static cl_program CL_API_CALL icd_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint unused_1,
                                                                    const cl_device_id *unused_2, const char *unused_3,
                                                                    cl_int *status_out)
{
    refuse_object(context, status_out);
    if (status_out != NULL && *status_out == CL_INVALID_OPERATION)
        *status_out = CL_INVALID_VALUE;
    return NULL;
}

static cl_mem CL_API_CALL icd_clCreateFromGLTexture(cl_context context, cl_mem_flags unused_1, cl_GLenum unused_2,
                                                    cl_GLint unused_3, cl_GLuint unused_4, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateFromEGLImageKHR(cl_context context, CLeglDisplayKHR unused_1,
                                                      CLeglImageKHR unused_2, cl_mem_flags unused_3,
                                                      const cl_egl_image_properties_khr *unused_4, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_event CL_API_CALL icd_clCreateEventFromEGLSyncKHR(cl_context context, CLeglSyncKHR unused_1,
                                                            CLeglDisplayKHR unused_2, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreatePipe(cl_context context, cl_mem_flags unused_1, cl_uint unused_2,
                                           cl_uint unused_3, const cl_pipe_properties *unused_4, cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_sampler CL_API_CALL icd_clCreateSamplerWithProperties(cl_context context,
                                                                const cl_sampler_properties *unused_1,
                                                                cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_program CL_API_CALL icd_clCreateProgramWithIL(cl_context context, const void *unused_1, size_t unused_2,
                                                        cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_mem CL_API_CALL icd_clCreateImageWithProperties(cl_context context, const cl_mem_properties *unused_1,
                                                          cl_mem_flags unused_2, const cl_image_format *unused_3,
                                                          const cl_image_desc *unused_4, void *unused_5,
                                                          cl_int *status_out)
{
    return refuse_object(context, status_out);
}

static cl_int CL_API_CALL icd_clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
                                                         cl_mem_object_type type, cl_uint capacity,
                                                         cl_image_format *formats, cl_uint *count_out)
{
    if (!is_valid(context, ICD_CONTEXT))
        return CL_INVALID_CONTEXT;
    bool is_image = type >= CL_MEM_OBJECT_IMAGE2D && type <= CL_MEM_OBJECT_IMAGE1D_BUFFER;
    if (!is_image || !icd_are_mem_flags(flags) || (formats != NULL && capacity == 0))
        return CL_INVALID_VALUE;
    if (count_out != NULL)
        *count_out = 0;
    return CL_SUCCESS;
}

static void *CL_API_CALL icd_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocks, cl_map_flags flags,
                                               const size_t *origin, const size_t *region, size_t *row_pitch,
                                               size_t *slice_pitch, cl_uint count, const cl_event *waits,
                                               cl_event *event_out, cl_int *status_out)
{
    if (status_out != NULL)
        *status_out = refuse_command(queue);
    return NULL;
}

static void *CL_API_CALL icd_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment)
{
    return NULL; /* no device has shared virtual memory */
}

static void CL_API_CALL icd_clSVMFree(cl_context context, void *memory) {}

#pragma GCC diagnostic pop

static cl_int CL_API_CALL icd_clUnloadCompiler(void) { return CL_SUCCESS; }

static cl_int CL_API_CALL icd_clUnloadPlatformCompiler(cl_platform_id platform)
{
    return is_valid(platform, ICD_PLATFORM) ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

/* ---- what loaders ask for by name ---- */

static void *find_function(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return (void *)(uintptr_t)icd_clIcdGetPlatformIDsKHR;
    if (strcmp(name, "clGetPlatformInfo") == 0)
        return (void *)(uintptr_t)icd_clGetPlatformInfo;
    return NULL;
}

static void *CL_API_CALL icd_clGetExtensionFunctionAddress(const char *name)
{
    return name != NULL ? find_function(name) : NULL;
}

static void *CL_API_CALL icd_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    return name != NULL && is_valid(platform, ICD_PLATFORM) ? find_function(name) : NULL;
}

/* ---- the table ---- */

/* A function that takes fewer parameters than it is given ignores the others, in the calling conventions of C. */
#define REFUSED(slot, function) .slot = (cl_api_##slot)(void (*)(void))(function)
/* Slots of other systems, which have no type here. */
#define FOREIGN(slot) .slot = (void *)(uintptr_t)refuse

const cl_icd_dispatch icd_dispatch = {
    .clGetPlatformIDs = icd_clIcdGetPlatformIDsKHR,
    .clGetPlatformInfo = icd_clGetPlatformInfo,
    .clGetDeviceIDs = icd_clGetDeviceIDs,
    .clGetDeviceInfo = icd_clGetDeviceInfo,
    .clCreateContext = icd_clCreateContext,
    .clCreateContextFromType = icd_clCreateContextFromType,
    .clRetainContext = icd_clRetainContext,
    .clReleaseContext = icd_clReleaseContext,
    .clGetContextInfo = icd_clGetContextInfo,
    .clCreateCommandQueue = icd_clCreateCommandQueue,
    .clRetainCommandQueue = icd_clRetainCommandQueue,
    .clReleaseCommandQueue = icd_clReleaseCommandQueue,
    .clGetCommandQueueInfo = icd_clGetCommandQueueInfo,
    .clSetCommandQueueProperty = icd_clSetCommandQueueProperty,
    .clCreateBuffer = icd_clCreateBuffer,
    .clCreateImage2D = icd_clCreateImage2D,
    .clCreateImage3D = icd_clCreateImage3D,
    .clRetainMemObject = icd_clRetainMemObject,
    .clReleaseMemObject = icd_clReleaseMemObject,
    .clGetSupportedImageFormats = icd_clGetSupportedImageFormats,
    .clGetMemObjectInfo = icd_clGetMemObjectInfo,
    REFUSED(clGetImageInfo, refuse_mem),
    .clCreateSampler = icd_clCreateSampler,
    REFUSED(clRetainSampler, refuse_sampler),
    REFUSED(clReleaseSampler, refuse_sampler),
    REFUSED(clGetSamplerInfo, refuse_sampler),
    .clCreateProgramWithSource = icd_clCreateProgramWithSource,
    .clCreateProgramWithBinary = icd_clCreateProgramWithBinary,
    .clRetainProgram = icd_clRetainProgram,
    .clReleaseProgram = icd_clReleaseProgram,
    .clBuildProgram = icd_clBuildProgram,
    .clUnloadCompiler = icd_clUnloadCompiler,
    .clGetProgramInfo = icd_clGetProgramInfo,
    .clGetProgramBuildInfo = icd_clGetProgramBuildInfo,
    .clCreateKernel = icd_clCreateKernel,
    .clCreateKernelsInProgram = icd_clCreateKernelsInProgram,
    .clRetainKernel = icd_clRetainKernel,
    .clReleaseKernel = icd_clReleaseKernel,
    .clSetKernelArg = icd_clSetKernelArg,
    .clGetKernelInfo = icd_clGetKernelInfo,
    .clGetKernelWorkGroupInfo = icd_clGetKernelWorkGroupInfo,
    .clWaitForEvents = icd_clWaitForEvents,
    .clGetEventInfo = icd_clGetEventInfo,
    .clRetainEvent = icd_clRetainEvent,
    .clReleaseEvent = icd_clReleaseEvent,
    .clGetEventProfilingInfo = icd_clGetEventProfilingInfo,
    .clFlush = icd_clFlush,
    .clFinish = icd_clFinish,
    .clEnqueueReadBuffer = icd_clEnqueueReadBuffer,
    .clEnqueueWriteBuffer = icd_clEnqueueWriteBuffer,
    .clEnqueueCopyBuffer = icd_clEnqueueCopyBuffer,
    REFUSED(clEnqueueReadImage, refuse_command),
    REFUSED(clEnqueueWriteImage, refuse_command),
    REFUSED(clEnqueueCopyImage, refuse_command),
    REFUSED(clEnqueueCopyImageToBuffer, refuse_command),
    REFUSED(clEnqueueCopyBufferToImage, refuse_command),
    .clEnqueueMapBuffer = icd_clEnqueueMapBuffer,
    .clEnqueueMapImage = icd_clEnqueueMapImage,
    .clEnqueueUnmapMemObject = icd_clEnqueueUnmapMemObject,
    .clEnqueueNDRangeKernel = icd_clEnqueueNDRangeKernel,
    .clEnqueueTask = icd_clEnqueueTask,
    REFUSED(clEnqueueNativeKernel, refuse_command),
    .clEnqueueMarker = icd_clEnqueueMarker,
    .clEnqueueWaitForEvents = icd_clEnqueueWaitForEvents,
    .clEnqueueBarrier = icd_clEnqueueBarrier,
    .clGetExtensionFunctionAddress = icd_clGetExtensionFunctionAddress,
    .clCreateFromGLBuffer = icd_clCreateFromGLBuffer,
    .clCreateFromGLTexture2D = icd_clCreateFromGLTexture2D,
    .clCreateFromGLTexture3D = icd_clCreateFromGLTexture3D,
    .clCreateFromGLRenderbuffer = icd_clCreateFromGLRenderbuffer,
    REFUSED(clGetGLObjectInfo, refuse_gl_object),
    REFUSED(clGetGLTextureInfo, refuse_gl_object),
    REFUSED(clEnqueueAcquireGLObjects, refuse_command),
    REFUSED(clEnqueueReleaseGLObjects, refuse_command),
    REFUSED(clGetGLContextInfoKHR, refuse),
    FOREIGN(clGetDeviceIDsFromD3D10KHR),
    FOREIGN(clCreateFromD3D10BufferKHR),
    FOREIGN(clCreateFromD3D10Texture2DKHR),
    FOREIGN(clCreateFromD3D10Texture3DKHR),
    FOREIGN(clEnqueueAcquireD3D10ObjectsKHR),
    FOREIGN(clEnqueueReleaseD3D10ObjectsKHR),
    .clSetEventCallback = icd_clSetEventCallback,
    .clCreateSubBuffer = icd_clCreateSubBuffer,
    .clSetMemObjectDestructorCallback = icd_clSetMemObjectDestructorCallback,
    .clCreateUserEvent = icd_clCreateUserEvent,
    .clSetUserEventStatus = icd_clSetUserEventStatus,
    .clEnqueueReadBufferRect = icd_clEnqueueReadBufferRect,
    .clEnqueueWriteBufferRect = icd_clEnqueueWriteBufferRect,
    .clEnqueueCopyBufferRect = icd_clEnqueueCopyBufferRect,
    REFUSED(clCreateSubDevicesEXT, icd_clCreateSubDevices),
    .clRetainDeviceEXT = icd_clRetainDevice,
    .clReleaseDeviceEXT = icd_clReleaseDevice,
    .clCreateEventFromGLsyncKHR = icd_clCreateEventFromGLsyncKHR,
    .clCreateSubDevices = icd_clCreateSubDevices,
    .clRetainDevice = icd_clRetainDevice,
    .clReleaseDevice = icd_clReleaseDevice,
    .clCreateImage = icd_clCreateImage,
    .clCreateProgramWithBuiltInKernels = icd_clCreateProgramWithBuiltInKernels,
    .clCompileProgram = icd_clCompileProgram,
    .clLinkProgram = icd_clLinkProgram,
    .clUnloadPlatformCompiler = icd_clUnloadPlatformCompiler,
    .clGetKernelArgInfo = icd_clGetKernelArgInfo,
    .clEnqueueFillBuffer = icd_clEnqueueFillBuffer,
    REFUSED(clEnqueueFillImage, refuse_command),
    .clEnqueueMigrateMemObjects = icd_clEnqueueMigrateMemObjects,
    .clEnqueueMarkerWithWaitList = icd_clEnqueueMarkerWithWaitList,
    .clEnqueueBarrierWithWaitList = icd_clEnqueueBarrierWithWaitList,
    .clGetExtensionFunctionAddressForPlatform = icd_clGetExtensionFunctionAddressForPlatform,
    .clCreateFromGLTexture = icd_clCreateFromGLTexture,
    FOREIGN(clGetDeviceIDsFromD3D11KHR),
    FOREIGN(clCreateFromD3D11BufferKHR),
    FOREIGN(clCreateFromD3D11Texture2DKHR),
    FOREIGN(clCreateFromD3D11Texture3DKHR),
    FOREIGN(clCreateFromDX9MediaSurfaceKHR),
    FOREIGN(clEnqueueAcquireD3D11ObjectsKHR),
    FOREIGN(clEnqueueReleaseD3D11ObjectsKHR),
    FOREIGN(clGetDeviceIDsFromDX9MediaAdapterKHR),
    FOREIGN(clEnqueueAcquireDX9MediaSurfacesKHR),
    FOREIGN(clEnqueueReleaseDX9MediaSurfacesKHR),
    .clCreateFromEGLImageKHR = icd_clCreateFromEGLImageKHR,
    REFUSED(clEnqueueAcquireEGLObjectsKHR, refuse_command),
    REFUSED(clEnqueueReleaseEGLObjectsKHR, refuse_command),
    .clCreateEventFromEGLSyncKHR = icd_clCreateEventFromEGLSyncKHR,
    .clCreateCommandQueueWithProperties = icd_clCreateCommandQueueWithProperties,
    .clCreatePipe = icd_clCreatePipe,
    REFUSED(clGetPipeInfo, refuse_mem),
    .clSVMAlloc = icd_clSVMAlloc,
    .clSVMFree = icd_clSVMFree,
    REFUSED(clEnqueueSVMFree, refuse_command),
    REFUSED(clEnqueueSVMMemcpy, refuse_command),
    REFUSED(clEnqueueSVMMemFill, refuse_command),
    REFUSED(clEnqueueSVMMap, refuse_command),
    REFUSED(clEnqueueSVMUnmap, refuse_command),
    .clCreateSamplerWithProperties = icd_clCreateSamplerWithProperties,
    REFUSED(clSetKernelArgSVMPointer, refuse_kernel),
    REFUSED(clSetKernelExecInfo, refuse_kernel),
    .clGetKernelSubGroupInfoKHR = icd_clGetKernelSubGroupInfo,
    .clCloneKernel = icd_clCloneKernel,
    .clCreateProgramWithIL = icd_clCreateProgramWithIL,
    REFUSED(clEnqueueSVMMigrateMem, refuse_command),
    .clGetDeviceAndHostTimer = icd_clGetDeviceAndHostTimer,
    .clGetHostTimer = icd_clGetHostTimer,
    .clGetKernelSubGroupInfo = icd_clGetKernelSubGroupInfo,
    REFUSED(clSetDefaultDeviceCommandQueue, refuse_context),
    REFUSED(clSetProgramReleaseCallback, refuse_program),
    REFUSED(clSetProgramSpecializationConstant, refuse_program),
    .clCreateBufferWithProperties = icd_clCreateBufferWithProperties,
    .clCreateImageWithProperties = icd_clCreateImageWithProperties,
    .clSetContextDestructorCallback = icd_clSetContextDestructorCallback,
};

/* ---- exported: what loaders look for ---- */

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    return icd_clGetExtensionFunctionAddress(name);
}

EXPORTED cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *platforms, cl_uint *count_out)
{
    return icd_clIcdGetPlatformIDsKHR(capacity, platforms, count_out);
}

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                              size_t *size_out)
{
    return icd_clGetPlatformInfo(platform, what, size, value, size_out);
}
