/* dcl.h - DCL: arrays distributed over OpenCL devices, computed by loop bodies. Includes the whole public interface. */
#ifndef DCL_H
#define DCL_H

#include <dcl/array.h>
#include <dcl/base.h>
#include <dcl/call.h>
#include <dcl/cluster.h>
#include <dcl/explain.h>
#include <dcl/forall.h>
#include <dcl/grain.h>
#include <dcl/grid.h>
#include <dcl/image.h>
#include <dcl/iterate.h>
#include <dcl/local.h>
#include <dcl/loops.h>
#include <dcl/map.h>
#include <dcl/random.h>
#include <dcl/reduce.h>
#include <dcl/remap.h>
#include <dcl/scan.h>
#include <dcl/tile_kernel.h>
#include <dcl/view.h>
#include <dcl/worker.h>

#endif
