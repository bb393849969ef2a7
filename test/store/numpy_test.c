/* Files that NumPy writes are understood, and it understands ours. */
#include <criterion/criterion.h>

#include <string.h>
#include <sys/wait.h>

#include "device/opened.h"
#include "segment/region.h"
#include "store/folder.h"
#include "store/npy.h"
#include "store/npy_by_name.h"

/* Run a script with the distribution's Python in the test's folder. @return its exit status. */
static int run_python(const char *script)
{
    char command[512];
    test_write_file("script.py", script, strlen(script));
    snprintf(command, sizeof command, "cd %s && /usr/bin/python3 script.py 2>/dev/null", test_folder);
    int state = system(command);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void need_numpy(void)
{
    test_files();
    if (run_python("import numpy") != 0) {
        test_files_end();
        cr_skip_test("/usr/bin/python3 cannot import numpy");
    }
}

/* Load all of a file into one region of a device and save it again in the other order. */
static void load_and_save(dcli_device *device, const char *source, const char *target)
{
    dcl_npy_info info, made;
    cr_assert_eq(test_npy_inspect(source, &info), DCL_OK, "%s", dcl_error());
    dcl_box box = dcl_box_of(&info.grid);
    dcli_region region = dcli_region_packed(&box, 0);
    dcli_region_list list = {.region = &region, .count = 1};
    dcli_memory *memory;
    size_t bytes = (size_t)dcl_grid_count(&info.grid) * dcl_type_bytes(info.grid.type);
    cr_assert_eq(dcli_memory_create(device, bytes, &memory), DCL_OK, "%s", dcl_error());
    cr_assert_eq(test_npy_load(source, &info, info.grid.origin, &list, device, memory), DCL_OK, "%s", dcl_error());
    cr_assert_eq(test_npy_create(target, &info.grid, !info.fortran_order, &made), DCL_OK, "%s", dcl_error());
    cr_assert_eq(test_npy_save(target, &made, info.grid.origin, &list, device, memory), DCL_OK, "%s", dcl_error());
    dcli_memory_release(memory);
}

enum { FILES = 22 };

/* The arrays of both sides, made alike by writer and reader. */
#define ARRAYS                                                                             \
    "import sys, numpy as np\n"                                                            \
    "types = '|i1 <i2 >i4 <i8 |u1 >u2 <u4 >u8 <f2 >f4 <f8'.split()\n"                      \
    "shapes = [(7,), (5, 3), (2, 3, 4), (1, 1), (0, 3), (3, 1, 2, 2)]\n"                   \
    "def array(n):\n"                                                                      \
    "    shape = shapes[n % 6]\n"                                                          \
    "    a = (np.arange(np.prod(shape)) * 5 % 101).astype(types[n % 11]).reshape(shape)\n" \
    "    return np.asfortranarray(a) if n % 4 == 1 else a\n"                               \
    "for n in range(22):\n"

Test(device_npy, numpy_and_dcl_read_each_other, .init = need_numpy, .fini = test_files_end)
{
    dcli_device *device = test_open(0);
    cr_assert_eq(run_python(ARRAYS "    np.save(f'{n}.npy', array(n))\n"), 0);
    for (int n = 0; n < FILES; n++) {
        char source[16], target[16];
        snprintf(source, sizeof source, "%d.npy", n);
        snprintf(target, sizeof target, "%d.out", n);
        load_and_save(device, test_path(source), test_path(target));
    }
    dcli_device_close(device);
    /* the exit status says which array is wrong, from 1 on */
    int wrong =
        run_python(ARRAYS "    a, b = array(n), np.load(f'{n}.out')\n"
                          "    if b.dtype != a.dtype.newbyteorder('<') or b.shape != a.shape or (a != b).any():\n"
                          "        sys.exit(n + 1)\n");
    cr_expect_eq(wrong, 0, "array %d differs", wrong - 1);
}
