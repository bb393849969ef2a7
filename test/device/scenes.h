/* test/device/scenes.h - short stories that together make every call of OpenCL that the device room makes. */
#ifndef TEST_DEVICE_SCENES_H
#define TEST_DEVICE_SCENES_H

#include "device/opened.h"

/** What a story is played on. */
typedef struct test_stage {
    dcli_device *device;   /* NULL: the story opens what it needs */
    dcli_program *program; /* adds to an int array; NULL where none is needed */
} test_stage;

typedef struct test_scene {
    const char *name;
    int flags; /* how the device is opened; -1: not before the story */
    bool builds;
    /** Play it, and clean up. @return the status of the first step that failed, its error being the last; DCL_ERR_INTERNAL
     *  and no error when the results are wrong. */
    dcl_status (*play)(test_stage *stage);
    dcl_status (*prepare)(test_stage *stage); /* or NULL: what comes before, on the open device */
} test_scene;

extern const test_scene test_scenes[];
extern const int test_scene_count;

#endif
