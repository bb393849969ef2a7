/* kernel/fence.cl - DCL_FENCE(): other work-items of the device see all writes before it before all writes after it. In OpenCL 1.2,
 * mem_fence() promises that for the work-items of a group only. NVIDIA's compiler has the instruction for the device (PTX ISA, section
 * on membar). On other devices, work-items of several groups rely on volatile accesses being made in memory that all groups see. */
#ifdef __NV_CL_C_VERSION
#define DCL_FENCE() asm volatile("membar.gl;")
#else
#define DCL_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
