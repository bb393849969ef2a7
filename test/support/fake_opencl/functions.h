/* support/fake_opencl/functions.h - the functions that replace those of the real driver. */
#ifndef TEST_FAKE_OPENCL_FUNCTIONS_H
#define TEST_FAKE_OPENCL_FUNCTIONS_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

/** The functions of the real driver, set before the table is changed. */
extern cl_icd_dispatch fake_real;

/** Write the fake functions into the driver's own table, which must be writable. */
void fake_put_functions(cl_icd_dispatch *table);

#endif
