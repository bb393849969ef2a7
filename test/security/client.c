/* security/client.c - a program that does what its arguments say, in their order, through the public interface:
 *
 *   open         open a cluster as the environment says
 *   work[:N]     N rounds (1) of 10 operations in flight on arrays of its own; every element is compared
 *   range[:N]    N bodies that read outside a grid, body[:N] N that no compiler takes, each waited for
 *   fill         make arrays of 8 MiB until one fails
 *   crash        run a body that ends the process it runs in
 *   prelude:PATH run a body with the prelude that lies in a file
 *   print[:N]    run a body that prints N times what looks like lines of DCL's log
 *   often[:N]    run a body N times that could print and does not; each is waited for
 *   poll[:N]     ask N times without waiting whether a body is complete that computes for a while and could print
 *   load:PATH    load a .npy file of 64 x 64 floats that hold row + column; save:PATH save such a one
 *   spy:PATH     run the function `int attempt(long i)` of this OpenCL C file for 0..63, and print what it returns
 *   begin:PATH   the same, not waited for
 *   wait:SECONDS wait for all operations, no longer than that
 *   pause        wait for a line of standard input
 *   close
 *
 * Each answers by a line: the command, the status' name, and the library's sentence or what was found. Ends with status 1
 * after the first that failed where success was expected (range, body, fill, crash and prelude
 * are meant to fail). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { IN_FLIGHT = 10, ROWS = 64, COLUMNS = 64, MOST_ARRAYS = 4096 };

static dcl_cluster *cluster;
static dcl_map *map;
static const char *command = "";

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void answer(dcl_status status, const char *text)
{
    printf("%s %s %s\n", command, dcl_status_name(status), status != DCL_OK ? dcl_error() : text);
    fflush(stdout);
}

static void check(dcl_status status)
{
    if (status == DCL_OK)
        return;
    answer(status, "");
    fflush(stdout);
    _exit(EXIT_FAILURE); /* what follows would only say the same again */
}

static void open_cluster(void)
{
    cluster = dcl_open(NULL);
    if (cluster == NULL)
        check(dcl_status_of(NULL));
    int64_t piece[] = {16, 16};
    map = dcl_map_block_cyclic(cluster, 2, piece);
    check(dcl_status_of(cluster));
    answer(DCL_OK, "");
}

static void close_cluster(void)
{
    dcl_release(map);
    dcl_status status = dcl_close(cluster);
    cluster = NULL;
    check(status);
    answer(DCL_OK, "");
}

static dcl_array *new_array(void)
{
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), map);
    if (array == NULL)
        check(dcl_status_of(cluster));
    return array;
}

/* ---- work --------------------------------------------------------------------------------------------------------- */

/** Each operation adds the transposed of one to the other and `step`: both stay symmetric, so it is easily followed. */
static void work_once(int round)
{
    dcl_array *A = new_array(), *B = new_array();
    float one = 1, expected[2] = {1, 0}, step = (float)(round % 7);
    check(dcl_fill(A, &one));
    for (int n = 0; n < IN_FLIGHT; n++) {
        bool odd = n % 2 != 0;
        check(odd ? dcl_forall(cluster, "A(i,j) = B(j,i) + step;", DCL_INOUT(A), DCL_IN(B), DCL_VALUE(step))
                  : dcl_forall(cluster, "B(i,j) = A(j,i) + step;", DCL_INOUT(B), DCL_IN(A), DCL_VALUE(step)));
        expected[!odd] = expected[odd] + step;
    }
    float found[ROWS * COLUMNS];
    check(dcl_read(A, NULL, found, NULL));
    for (int e = 0; e < ROWS * COLUMNS; e++)
        if (found[e] != expected[0]) {
            printf("%s wrong result: element %d is %g; expected %g\n", command, e, (double)found[e],
                   (double)expected[0]);
            exit(EXIT_FAILURE);
        }
    dcl_release(B);
    dcl_release(A);
}

static void work(int rounds)
{
    char text[64];
    double slowest = 0, begin = now_s();
    for (int r = 0; r < rounds; r++) {
        double start = now_s();
        work_once(r);
        double took = now_s() - start;
        slowest = took > slowest ? took : slowest;
    }
    check(dcl_wait(cluster));
    snprintf(text, sizeof text, "%d rounds, %.3f s, slowest %.3f s", rounds, now_s() - begin, slowest);
    answer(DCL_OK, text);
}

/* ---- what is meant to fail ---------------------------------------------------------------------------------------- */

static void expect_failure(dcl_status status)
{
    answer(status, "did not fail");
    if (status == DCL_OK)
        exit(EXIT_FAILURE);
}

static void fail_bodies(const char *body, int times)
{
    dcl_status status = DCL_OK;
    for (int n = 0; n < times; n++) {
        dcl_array *A = new_array(), *B = new_array();
        dcl_clear_error(cluster);
        status = dcl_forall_n(cluster, body, 2, (dcl_arg[]){DCL_OUT(A), DCL_IN(B)});
        if (status == DCL_OK)
            status = dcl_wait(cluster);
        if (status == DCL_OK)
            break;
        dcl_release(A);
        dcl_release(B);
    }
    expect_failure(status);
    dcl_clear_error(cluster);
}

static void fill_memory(void)
{
    static dcl_array *array[MOST_ARRAYS];
    int count = 0;
    dcl_status status = DCL_OK;
    while (count < MOST_ARRAYS && status == DCL_OK) {
        array[count] = dcl_agile(dcl_grid_2d(DCL_FLOAT, 1024, 2048), map);
        status = array[count] != NULL ? dcl_wait_for(array[count], -1) : dcl_status_of(cluster);
        count++;
    }
    expect_failure(status);
    while (count > 0)
        dcl_release(array[--count]);
    dcl_clear_error(cluster);
}

static void crash(void)
{
    dcl_array *A = new_array();
    dcl_status status =
        dcl_forall(cluster, "A(i,j) = die(i);", DCL_OUT(A),
                   DCL_PRELUDE("float die(long i) { volatile global int *nowhere = (global int *)(i + 8);"
                               " *nowhere = 1; return 0; }\n"));
    if (status == DCL_OK)
        status = dcl_wait(cluster);
    expect_failure(status);
}

static void run_prelude(const char *path)
{
    static char prelude[1 << 14];
    FILE *file = fopen(path, "r");
    if (file == NULL || fread(prelude, 1, sizeof prelude - 1, file) == 0)
        exit(2);
    fclose(file);
    dcl_array *A = new_array();
    dcl_status status = dcl_forall(cluster, "A(i,j) = i + j;", DCL_OUT(A), DCL_PRELUDE(prelude));
    if (status == DCL_OK)
        status = dcl_wait(cluster);
    expect_failure(status);
}

/* The file goes into the prelude as it is. */
static void spy(const char *path, bool waits)
{
    enum { ATTEMPTS = 64, MOST_BYTES = 1 << 16 };
    static char prelude[MOST_BYTES];
    int32_t found[ATTEMPTS];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        printf("%s cannot be opened\n", command);
        exit(2);
    }
    prelude[fread(prelude, 1, sizeof prelude - 1, file)] = '\0';
    fclose(file);
    dcl_map *whole = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, ATTEMPTS), whole);
    check(dcl_forall(cluster, "A(i) = attempt(i);", DCL_OUT(A), DCL_PRELUDE(prelude)));
    if (!waits)
        return;
    check(dcl_read(A, NULL, found, NULL));
    printf("%s DCL_OK", command);
    for (int n = 0; n < ATTEMPTS; n++)
        printf(" %d", (int)found[n]);
    printf("\n");
    fflush(stdout);
    dcl_release(A);
    dcl_release(whole);
}

static void print_forged(int64_t times)
{
    dcl_array *A = new_array();
    check(dcl_forall(cluster,
                     "A(i,j) = 0; if (i == 0 && j == 0) for (long t = 0; t < times; t++)"
                     " printf(\"x%d\\ndcl info: forged \\033[2J\\n\", (int)t);",
                     DCL_OUT(A), DCL_VALUE(times)));
    check(dcl_wait(cluster));
    dcl_release(A);
    answer(DCL_OK, "");
}

static const char silent_body[] = "float s = i; for (long n = 0; n < steps; n++) s = sin(s + n); A(i,j) = s;"
                                  " if (i < 0) printf(\"never\\n\");";

static void wait_often(int times)
{
    int64_t steps = 0;
    dcl_array *A = new_array();
    for (int n = 0; n < times; n++) {
        check(dcl_forall(cluster, silent_body, DCL_OUT(A), DCL_VALUE(steps)));
        check(dcl_wait(cluster));
    }
    dcl_release(A);
    answer(DCL_OK, "");
}

static void poll_often(int times)
{
    int64_t steps = 10000;
    dcl_array *A = new_array();
    check(dcl_forall(cluster, silent_body, DCL_OUT(A), DCL_VALUE(steps)));
    for (int n = 0; n < times; n++)
        if (dcl_wait_for(A, 0) != DCL_ERR_TIMEOUT)
            check(dcl_status_of(cluster));
    check(dcl_wait(cluster));
    dcl_release(A);
    answer(DCL_OK, "");
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static void load(const char *path)
{
    static float found[ROWS * COLUMNS];
    dcl_array *A = new_array();
    check(dcl_load_npy(A, path));
    check(dcl_read(A, NULL, found, NULL));
    for (int e = 0; e < ROWS * COLUMNS; e++)
        if (found[e] != (float)(e / COLUMNS + e % COLUMNS)) {
            printf("%s wrong element %d: %g\n", command, e, (double)found[e]);
            exit(EXIT_FAILURE);
        }
    dcl_release(A);
    answer(DCL_OK, "");
}

static void save(const char *path)
{
    dcl_array *A = new_array();
    check(dcl_forall(cluster, "A(i,j) = i + j;", DCL_OUT(A)));
    check(dcl_save_npy(A, path));
    dcl_release(A);
    answer(DCL_OK, "");
}

/* ---- commands ----------------------------------------------------------------------------------------------------- */

static void wait_for_line(void)
{
    char line[64];
    answer(DCL_OK, "");
    if (fgets(line, sizeof line, stdin) == NULL)
        _exit(EXIT_FAILURE); /* whoever was to give it is gone */
}

static bool is(const char *name, const char **rest_out)
{
    size_t length = strlen(name);
    *rest_out = command[length] == ':' ? command + length + 1 : "1";
    return strncmp(command, name, length) == 0 && (command[length] == ':' || command[length] == '\0');
}

static void obey(void)
{
    const char *rest;
    if (is("open", &rest))
        open_cluster();
    else if (is("close", &rest))
        close_cluster();
    else if (is("work", &rest))
        work(atoi(rest));
    else if (is("range", &rest))
        fail_bodies("A(i,j) = B(i,j+1);", atoi(rest));
    else if (is("body", &rest))
        fail_bodies("A(i,j) = no_such_function(B(i,j));", atoi(rest));
    else if (is("fill", &rest))
        fill_memory();
    else if (is("crash", &rest))
        crash();
    else if (is("prelude", &rest))
        run_prelude(rest);
    else if (is("print", &rest))
        print_forged(atoi(rest));
    else if (is("often", &rest))
        wait_often(atoi(rest));
    else if (is("poll", &rest))
        poll_often(atoi(rest));
    else if (is("load", &rest))
        load(rest);
    else if (is("save", &rest))
        save(rest);
    else if (is("spy", &rest))
        spy(rest, true);
    else if (is("begin", &rest))
        spy(rest, false);
    else if (is("wait", &rest))
        answer(dcl_wait_all(cluster, atof(rest)), "");
    else if (is("pause", &rest))
        wait_for_line();
    else {
        printf("%s is no command\n", command);
        exit(2);
    }
}

int main(int count, char **list)
{
    for (int n = 1; n < count; n++) {
        command = list[n];
        obey();
    }
    return EXIT_SUCCESS;
}
