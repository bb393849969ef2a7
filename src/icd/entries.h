/* icd/entries.h - the entry points, as the table of unsupported.c lists them. */
#ifndef DCLI_ICD_ENTRIES_H
#define DCLI_ICD_ENTRIES_H

#include "icd/inside.h"

cl_context CL_API_CALL icd_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                           const cl_device_id *devices,
                                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                           void *user, cl_int *status_out);
cl_context CL_API_CALL icd_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                                                   void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                                             void *),
                                                   void *user, cl_int *status_out);
cl_int CL_API_CALL icd_clGetContextInfo(cl_context handle, cl_context_info what, size_t size, void *value,
                                        size_t *size_out);
cl_int CL_API_CALL icd_clSetContextDestructorCallback(cl_context handle,
                                                      void(CL_CALLBACK *function)(cl_context, void *), void *user);
cl_command_queue CL_API_CALL icd_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                      cl_command_queue_properties properties, cl_int *status_out);
cl_command_queue CL_API_CALL icd_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                    const cl_queue_properties *list,
                                                                    cl_int *status_out);
cl_int CL_API_CALL icd_clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info what, size_t size,
                                             void *value, size_t *size_out);
cl_int CL_API_CALL icd_clSetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties properties,
                                                 cl_bool enable, cl_command_queue_properties *old_out);
cl_int CL_API_CALL icd_clEnqueueNDRangeKernel(cl_command_queue handle, cl_kernel kernel_handle, cl_uint axes,
                                              const size_t *offset, const size_t *global, const size_t *local,
                                              cl_uint count, const cl_event *waits, cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits,
                                     cl_event *event_out);
cl_int CL_API_CALL icd_clFinish(cl_command_queue queue);
cl_int CL_API_CALL icd_clFlush(cl_command_queue handle);
cl_int CL_API_CALL icd_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                                   cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                                    cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueMarker(cl_command_queue queue, cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueBarrier(cl_command_queue queue);
cl_int CL_API_CALL icd_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *waits);
cl_int CL_API_CALL icd_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t offset,
                                           size_t bytes, void *host, cl_uint count, const cl_event *waits,
                                           cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t offset,
                                            size_t bytes, const void *host, cl_uint count, const cl_event *waits,
                                            cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem mem, cl_bool blocks, const size_t *origin,
                                               const size_t *host_origin, const size_t *region, size_t row_pitch,
                                               size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                                               void *host, cl_uint count, const cl_event *waits, cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem mem, cl_bool blocks,
                                                const size_t *origin, const size_t *host_origin, const size_t *region,
                                                size_t row_pitch, size_t slice_pitch, size_t host_row_pitch,
                                                size_t host_slice_pitch, const void *host, cl_uint count,
                                                const cl_event *waits, cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueCopyBuffer(cl_command_queue handle, cl_mem source_handle, cl_mem target_handle,
                                           size_t from, size_t to, size_t bytes, cl_uint count, const cl_event *waits,
                                           cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueCopyBufferRect(cl_command_queue handle, cl_mem source_handle, cl_mem target_handle,
                                               const size_t *from, const size_t *to, const size_t *region,
                                               size_t source_row_pitch, size_t source_slice_pitch,
                                               size_t target_row_pitch, size_t target_slice_pitch, cl_uint count,
                                               const cl_event *waits, cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueFillBuffer(cl_command_queue handle, cl_mem mem_handle, const void *pattern,
                                           size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count,
                                           const cl_event *waits, cl_event *event_out);
cl_int CL_API_CALL icd_clEnqueueMigrateMemObjects(cl_command_queue handle, cl_uint mem_count, const cl_mem *mems,
                                                  cl_mem_migration_flags flags, cl_uint count, const cl_event *waits,
                                                  cl_event *event_out);
void *CL_API_CALL icd_clEnqueueMapBuffer(cl_command_queue handle, cl_mem mem_handle, cl_bool blocks, cl_map_flags flags,
                                         size_t offset, size_t bytes, cl_uint count, const cl_event *waits,
                                         cl_event *event_out, cl_int *status_out);
cl_int CL_API_CALL icd_clEnqueueUnmapMemObject(cl_command_queue handle, cl_mem mem_handle, void *pointer, cl_uint count,
                                               const cl_event *waits, cl_event *event_out);
cl_event CL_API_CALL icd_clCreateUserEvent(cl_context context, cl_int *status_out);
cl_int CL_API_CALL icd_clSetUserEventStatus(cl_event handle, cl_int status);
cl_int CL_API_CALL icd_clWaitForEvents(cl_uint count, const cl_event *events);
cl_int CL_API_CALL icd_clGetEventInfo(cl_event handle, cl_event_info what, size_t size, void *value, size_t *size_out);
cl_int CL_API_CALL icd_clGetEventProfilingInfo(cl_event handle, cl_profiling_info what, size_t size, void *value,
                                               size_t *size_out);
cl_int CL_API_CALL icd_clSetEventCallback(cl_event handle, cl_int status,
                                          void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *user);
cl_kernel CL_API_CALL icd_clCreateKernel(cl_program handle, const char *name, cl_int *status_out);
cl_int CL_API_CALL icd_clCreateKernelsInProgram(cl_program handle, cl_uint capacity, cl_kernel *kernels,
                                                cl_uint *count_out);
cl_kernel CL_API_CALL icd_clCloneKernel(cl_kernel handle, cl_int *status_out);
cl_int CL_API_CALL icd_clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void *given);
cl_int CL_API_CALL icd_clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t size, void *value,
                                       size_t *size_out);
cl_int CL_API_CALL icd_clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info what, size_t size,
                                          void *value, size_t *size_out);
cl_int CL_API_CALL icd_clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device, cl_kernel_work_group_info what,
                                                size_t size, void *value, size_t *size_out);
cl_int CL_API_CALL icd_clGetKernelSubGroupInfo(cl_kernel handle, cl_device_id device, cl_kernel_sub_group_info what,
                                               size_t input_size, const void *input, size_t size, void *value,
                                               size_t *size_out);
cl_mem CL_API_CALL icd_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                                      cl_int *status_out);
cl_mem CL_API_CALL icd_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                                    cl_mem_flags flags, size_t bytes, void *host, cl_int *status_out);
cl_mem CL_API_CALL icd_clCreateSubBuffer(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type,
                                         const void *region, cl_int *status_out);
cl_int CL_API_CALL icd_clGetMemObjectInfo(cl_mem handle, cl_mem_info what, size_t size, void *value, size_t *size_out);
cl_int CL_API_CALL icd_clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK *function)(cl_mem, void *),
                                                        void *user);
cl_int CL_API_CALL icd_clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *platforms, cl_uint *count_out);
cl_int CL_API_CALL icd_clGetPlatformInfo(cl_platform_id handle, cl_platform_info what, size_t size, void *value,
                                         size_t *size_out);
cl_int CL_API_CALL icd_clGetDeviceIDs(cl_platform_id handle, cl_device_type type, cl_uint capacity,
                                      cl_device_id *devices, cl_uint *count_out);
cl_int CL_API_CALL icd_clGetDeviceInfo(cl_device_id handle, cl_device_info what, size_t size, void *value,
                                       size_t *size_out);
cl_int CL_API_CALL icd_clRetainDevice(cl_device_id handle);
cl_int CL_API_CALL icd_clReleaseDevice(cl_device_id handle);
cl_int CL_API_CALL icd_clCreateSubDevices(cl_device_id handle, const cl_device_partition_property *properties,
                                          cl_uint capacity, cl_device_id *devices, cl_uint *count_out);
cl_int CL_API_CALL icd_clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_out, cl_ulong *host_out);
cl_int CL_API_CALL icd_clGetHostTimer(cl_device_id device, cl_ulong *host_out);
cl_program CL_API_CALL icd_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                                     const size_t *lengths, cl_int *status_out);
cl_program CL_API_CALL icd_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                                     const size_t *lengths, const unsigned char **binaries,
                                                     cl_int *statuses, cl_int *status_out);
cl_int CL_API_CALL icd_clBuildProgram(cl_program handle, cl_uint count, const cl_device_id *devices,
                                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user);
cl_int CL_API_CALL icd_clCompileProgram(cl_program handle, cl_uint count, const cl_device_id *devices,
                                        const char *options, cl_uint header_count, const cl_program *headers,
                                        const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *user);
cl_program CL_API_CALL icd_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                                         const char *options, cl_uint input_count, const cl_program *inputs,
                                         void(CL_CALLBACK *notify)(cl_program, void *), void *user, cl_int *status_out);
cl_int CL_API_CALL icd_clGetProgramInfo(cl_program handle, cl_program_info what, size_t size, void *value,
                                        size_t *size_out);
cl_int CL_API_CALL icd_clGetProgramBuildInfo(cl_program handle, cl_device_id device, cl_program_build_info what,
                                             size_t size, void *value, size_t *size_out);

#endif
