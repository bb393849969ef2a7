/* Finding and selecting devices. */
#include "device/opened.h"

#include <stdlib.h>
#include <string.h>

#include "device/opencl.h"

/* The driver reads this when it is first asked: three devices of one platform. */
static void three_devices(void) { setenv("POCL_DEVICES", "pthread pthread pthread", 1); }

static int found(void)
{
    int count = 0;
    cr_assert_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    return count;
}

Test(device_list, describes_every_device, .init = three_devices)
{
    dcl_device_info info[DCLI_MOST_DEVICES];
    int count = -1, defaults = 0;
    cr_assert_eq(dcl_device_list(DCLI_MOST_DEVICES, info, &count), DCL_OK, "%s", dcl_error());
    if (count == 0)
        cr_skip_test("no OpenCL device on this host");
    for (int n = 0; n < count; n++) {
        cr_expect_eq(info[n].number, n);
        cr_expect(info[n].name[0] != '\0' && info[n].platform[0] != '\0' && info[n].version[0] != '\0');
        cr_expect(info[n].name[strlen(info[n].name) - 1] != ' ');
        cr_expect_gt(info[n].compute_units, 0);
        cr_expect_gt(info[n].memory_bytes, 0);
        defaults += info[n].is_default;
    }
    cr_expect_gt(defaults, 0);
    int again = 0;
    cr_expect_eq(dcl_device_list(1, info, &again), DCL_OK, "a place for one");
    cr_expect_eq(again, count, "counts all");
}

Test(device_list, refuses_no_place)
{
    int count = 0;
    cr_expect_eq(dcl_device_list(1, NULL, &count), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "dcl_device_list: capacity is 1, info_out NULL"), "%s", dcl_error());
    cr_expect_eq(dcl_device_list(0, NULL, NULL), DCL_ERR_INVALID);
}

struct select_case {
    char selection[24];
    dcl_status status;
    char words[80]; /* of the message, or the numbers */
};

ParameterizedTestParameters(device_select, of_three)
{
    static struct select_case cases[] = {
        {"0", DCL_OK, "0 "},
        {"2,0", DCL_OK, "2 0 "},
        {" 1 , 2 ", DCL_OK, "1 2 "},
        {"all", DCL_OK, "0 1 2 "},
        {" cpu", DCL_OK, "0 1 2 "},
        {"default", DCL_ERR_INVALID, "found \"default\"; expected \"all\", \"cpu\", \"gpu\""},
        {"gpu", DCL_ERR_INVALID, "devices is \"gpu\", but none of the 3 devices"},
        {"3", DCL_ERR_INVALID, "there is no device 3; expected 0..2"},
        {"99999999999999999999", DCL_ERR_INVALID, "there is no device 99999999999999999999"},
        {"1,0,1", DCL_ERR_INVALID, "device 1 is named twice"},
        {"", DCL_ERR_INVALID, "devices is \"\": found \"\""},
        {"0,", DCL_ERR_INVALID, "found \"\"; expected"},
        {",0", DCL_ERR_INVALID, "found \"\"; expected"},
        {"0 1", DCL_ERR_INVALID, "found \"0 1\""},
        {"-1", DCL_ERR_INVALID, "found \"-1\""},
        {"0x1", DCL_ERR_INVALID, "found \"0x1\""},
        {"cpu,0", DCL_ERR_INVALID, "found \"cpu\""},
        {"CPU", DCL_ERR_INVALID, "found \"CPU\""},
    };
    return cr_make_param_array(struct select_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct select_case *c, device_select, of_three, .init = three_devices)
{
    if (found() != 3)
        cr_skip_test("this host's devices are not those of PoCL alone");
    int numbers[8] = {0}, count = -1;
    cr_expect_eq(dcli_device_select(c->selection, 8, numbers, &count), c->status, "\"%s\": %s", c->selection,
                 dcl_error());
    if (c->status != DCL_OK) {
        cr_expect(strstr(dcl_error(), c->words), "\"%s\": %s", c->selection, dcl_error());
        cr_expect_eq(count, -1);
        return;
    }
    char text[32] = "";
    for (int n = 0; n < count; n++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", numbers[n]);
    cr_expect_str_eq(text, c->words, "\"%s\": %s", c->selection, text);
}

Test(device_select, default_is_what_the_list_says, .init = three_devices)
{
    dcl_device_info info[DCLI_MOST_DEVICES];
    int count = 0, chosen = 0, numbers[DCLI_MOST_DEVICES];
    cr_assert_eq(dcli_device_enumerate(DCLI_MOST_DEVICES, info, &count), DCL_OK);
    if (count == 0)
        cr_skip_test("no OpenCL device on this host");
    cr_assert_eq(dcli_device_select(NULL, DCLI_MOST_DEVICES, numbers, &chosen), DCL_OK, "%s", dcl_error());
    for (int n = 0, next = 0; n < count; n++) {
        bool is_chosen = next < chosen && numbers[next] == n;
        cr_expect_eq(is_chosen, info[n].is_default);
        next += is_chosen;
    }
}

static void no_driver(void)
{
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    unsetenv("POCL_CACHE_DIR"); /* the sentence names the variables that are set */
}

Test(device_select, without_a_driver_says_what_to_install, .init = no_driver)
{
    int count = -1, number;
    cr_expect_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "no driver is no error: %s", dcl_error());
    cr_expect_eq(count, 0);
    cr_expect_eq(dcli_device_select(NULL, 1, &number, &count), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "no OpenCL device on this host; OCL_ICD_VENDORS is \"/nonexistent\", which may hide "
                                  "it: correct or unset; install a driver (for CPUs: the package pocl-opencl-icd)"),
              "%s", dcl_error());
    dcli_device *device = NULL;
    cr_expect_eq(dcli_device_open(0, NULL, &device), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "there is no device 0; expected one of the 0"), "%s", dcl_error());
}

/* Devices of platforms A and B as drivers describe them. */
static dcli_found described(int platform, const char *kind, const char *name, int bus, int uuid, int before)
{
    dcli_found found = {.platform = (cl_platform_id)(uintptr_t)(platform + 1), .same_name_before = before};
    snprintf(found.info.kind, sizeof found.info.kind, "%s", kind);
    snprintf(found.info.name, sizeof found.info.name, "%s", name);
    found.has_bus = bus >= 0;
    found.bus[1] = (uint32_t)bus;
    found.has_uuid = uuid >= 0;
    found.uuid[0] = (unsigned char)uuid;
    return found;
}

Test(device_list, one_device_through_two_platforms_counts_once)
{
    const struct {
        const char *what;
        dcli_found a, b;
        bool same;
    } rows[] = {
        {"two of one platform", described(0, "gpu", "X", 1, 1, 0), described(0, "gpu", "X", 1, 1, 0), false},
        {"CPUs of two platforms", described(0, "cpu", "X", -1, -1, 0), described(1, "cpu", "Y", -1, -1, 3), true},
        {"GPU and CPU", described(0, "cpu", "X", -1, -1, 0), described(1, "gpu", "X", -1, -1, 0), false},
        {"same bus, other name", described(0, "gpu", "X", 4, -1, 0), described(1, "gpu", "Y", 4, -1, 0), true},
        {"other bus, same name", described(0, "gpu", "X", 4, -1, 0), described(1, "gpu", "X", 5, -1, 0), false},
        {"same UUID", described(0, "gpu", "X", -1, 9, 0), described(1, "gpu", "Y", -1, 9, 1), true},
        {"other UUID", described(0, "gpu", "X", -1, 8, 0), described(1, "gpu", "X", -1, 9, 0), false},
        {"by name", described(0, "gpu", "X", 4, -1, 0), described(1, "gpu", "X", -1, -1, 0), true},
        {"second of a name", described(0, "gpu", "X", -1, -1, 0), described(1, "gpu", "X", -1, -1, 1), false},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++)
        cr_expect_eq(dcli_found_same(&rows[n].a, &rows[n].b), rows[n].same, "%s", rows[n].what);
}

Test(device_list, defaults_are_gpus_else_the_cpus_of_one_platform)
{
    const struct {
        const char *what;
        cl_device_type type[3];
        int platform[3];
        bool is_default[3];
    } rows[] = {
        {"GPU and CPU", {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR}, {0, 1, 2}, {0, 1, 1}},
        {"CPUs only", {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CPU}, {0, 0, 1}, {1, 1, 0}},
        {"custom first", {CL_DEVICE_TYPE_CUSTOM, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CPU}, {0, 1, 1}, {0, 1, 1}},
        {"none", {CL_DEVICE_TYPE_CUSTOM, CL_DEVICE_TYPE_CUSTOM, CL_DEVICE_TYPE_CUSTOM}, {0, 1, 1}, {0, 0, 0}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        dcli_found found[3];
        for (int n = 0; n < 3; n++) {
            found[n] = described(rows[r].platform[n], "", "", -1, -1, 0);
            found[n].type = rows[r].type[n];
        }
        dcli_mark_defaults(found, 3);
        for (int n = 0; n < 3; n++)
            cr_expect_eq(found[n].info.is_default, rows[r].is_default[n], "%s, device %d", rows[r].what, n);
    }
}

Test(device_open, tells_about_itself)
{
    dcli_device *device = test_open(0);
    const dcl_device_info *info = dcli_device_about(device);
    cr_expect_eq(info->number, 0);
    cr_expect(strstr(dcli_device_kind(device), info->name), "%s", dcli_device_kind(device));
    cr_expect(strstr(dcli_device_kind(device), "driver "), "%s", dcli_device_kind(device));
    cr_expect_eq(dcli_device_is_gpu(device), strcmp(info->kind, "gpu") == 0 || strcmp(info->kind, "accelerator") == 0);
    if (strcmp(info->kind, "cpu") == 0)
        cr_expect(dcli_device_in_place(device), "a CPU uses host memory in place");
    dcli_device_close(device);
    device = test_open(DCLI_OPEN_AS_GPU);
    cr_expect(dcli_device_is_gpu(device));
    dcli_device_close(device);
    cr_expect_eq(dcli_device_open(-1, NULL, &device), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "there is no device -1"), "%s", dcl_error());
}
