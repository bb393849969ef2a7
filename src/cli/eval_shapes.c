/* cli/eval_shapes.c - derive direction, shape and type of the arrays from body and files. */
#include "cli/eval_request.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/body_text.h"
#include "cli/eval_results.h"
#include "cli/report.h"
#include "cli/shape.h"

/* Report an array that the body does not name; suggest a name that differs only in case. */
static int not_there(const char *body, const cli_operand *operand)
{
    char name[CLI_NAME_BYTES];
    for (const char *at = cli_body_next_call(body, name); at != NULL; at = cli_body_next_call(at, name))
        if (strcasecmp(name, operand->name) == 0)
            return cli_fail("%s=%s is given, but the body has %s(...), not %s(...); capital letters count: write both "
                            "alike",
                            operand->name, operand->path, name, operand->name);
    return cli_fail("%s=%s is given, but the body has no %s(...); expected every array to occur in the body with "
                    "subscripts; leave it out or correct the name",
                    operand->name, operand->path, operand->name);
}

/* Whether a reduction or scan starts an output from the neutral element: scans and pictures always, others without a file. */
static bool starts_anew(const cli_request *request, const cli_operand *operand)
{
    return request->kind == DCL_CALL_IS_SCAN ||
           (request->kind == DCL_CALL_IS_REDUCTION && (operand->image || !operand->load));
}

/* Whether a letter of the body is an index: no name of an argument, and no variable of the body. */
static bool is_index(const cli_request *request, char letter)
{
    const char name[2] = {letter, '\0'};
    return cli_body_mentions(request->body, name) && !cli_request_has(request, name) &&
           !cli_body_declares(request->body, name) && !cli_body_assigns(request->body, name);
}

/* Whether a body reduces into arrays: it updates an output by a word such as max=, or at other subscripts than plain
 * indices, or it has an index that is no subscript of the output. */
static bool reduces_into_arrays(const cli_request *request)
{
    cli_update update;
    for (const char *at = request->body; (at = cli_body_next_update(request->body, at, &update)) != NULL;) {
        if (!cli_request_has(request, update.name))
            continue;
        if (update.word || !update.plain)
            return true;
        for (const char *letter = "ijklmnop"; *letter != '\0'; letter++)
            if (strchr(update.indices, *letter) == NULL && is_index(request, *letter))
                return true;
    }
    return false;
}

static int use(const cli_request *request, const char *const names[], cli_operand *operand)
{
    dcl_use use = {0};
    if (dcl_body_use(request->body, request->operand_count, names, operand->name, &use) != DCL_OK)
        return cli_library_failed();
    if (use.rank == 0 || (!use.read && !use.written))
        return not_there(request->body, operand);
    if (operand->grid.rank > 0 && operand->grid.rank != use.rank)
        return cli_fail("the shape given for %s has %d %s; expected %d, as many as the body gives it subscripts",
                        operand->name, operand->grid.rank, operand->grid.rank == 1 ? "axis" : "axes", use.rank);
    operand->access = !use.written ? DCL_ACCESS_IN : use.read ? DCL_ACCESS_INOUT : DCL_ACCESS_OUT;
    operand->load =
        operand->access == DCL_ACCESS_IN || (operand->access == DCL_ACCESS_INOUT && access(operand->path, F_OK) == 0);
    if (use.written && starts_anew(request, operand)) {
        operand->access = DCL_ACCESS_OUT;
        operand->load = false;
    }
    return CLI_OK;
}

static int check_image_is_output(const cli_operand *operand)
{
    if (!operand->image || operand->access == DCL_ACCESS_OUT)
        return CLI_OK;
    return cli_fail(
        "the body reads %s, but %s is a picture; pictures can only be written: expected a .npy file, or a body "
        "that only assigns to %s",
        operand->name, operand->path, operand->name);
}

/* Check that the outputs that are pictures can be ones, before the work is done. */
static int check_images(const cli_request *request)
{
    bool any = false;
    for (int n = 0; n < request->operand_count; n++) {
        const cli_operand *operand = &request->operand[n];
        any |= operand->image;
        if (operand->image && dcl_image_check(&operand->grid, operand->path, &request->image) != DCL_OK)
            return cli_library_failed();
    }
    if (request->image_given && !any)
        return cli_fail(
            "--bits and --grey are for pictures, but no array is saved as one; expected a file that ends in "
            ".png or .pgm");
    return CLI_OK;
}

static int check_values(const cli_request *request)
{
    for (int n = 0; n < request->value_count; n++)
        if (!cli_body_mentions(request->body, request->value_name[n]) &&
            (request->over == NULL || !cli_body_mentions(request->over, request->value_name[n])))
            return cli_fail(
                "--set %s is given, but the body has no %s; expected every value to occur in the body or in "
                "--over; leave it out or correct the name",
                request->value_name[n], request->value_name[n]);
    return CLI_OK;
}

static int check_against_file(const cli_operand *operand, const dcl_grid *file)
{
    char given[CLI_SHAPE_BYTES], found[CLI_SHAPE_BYTES];
    const dcl_grid *grid = &operand->grid;
    if (grid->rank > 0 && (grid->rank != file->rank ||
                           memcmp(grid->extent, file->extent, (size_t)file->rank * sizeof file->extent[0]) != 0))
        return cli_fail("%s is given the shape %s; expected %s, the shape in %s; leave the shape out", operand->name,
                        cli_shape_print(grid, given), cli_shape_print(file, found), operand->path);
    if (grid->type != 0 && grid->type != file->type)
        return cli_fail("%s is given the type %s; expected %s, the type in %s; leave the type out", operand->name,
                        dcl_type_name(grid->type), dcl_type_name(file->type), operand->path);
    return CLI_OK;
}

static int inspect(cli_operand *operand)
{
    dcl_npy_info info;
    if (dcl_npy_inspect(operand->path, &info) != DCL_OK)
        return cli_library_failed();
    int status = check_against_file(operand, &info.grid);
    if (status != CLI_OK)
        return status;
    operand->grid = info.grid;
    operand->fortran = info.fortran_order;
    return CLI_OK;
}

/* The default element type: that of the first input, else the first given one, else float. */
static dcl_type default_type(const cli_request *request)
{
    dcl_type given = 0;
    for (int n = 0; n < request->operand_count; n++) {
        if (request->operand[n].load)
            return request->operand[n].grid.type;
        if (given == 0)
            given = request->operand[n].grid.type;
    }
    return given != 0 ? given : DCL_FLOAT;
}

/* Report a failed inference: the library's sentence names the array without a shape; here we add how to give one. */
static int not_inferred(const cli_request *request)
{
    cli_library_failed();
    for (int n = 0; n < request->operand_count; n++) {
        const cli_operand *operand = &request->operand[n];
        char missing[CLI_NAME_BYTES + 32];
        snprintf(missing, sizeof missing, "the shape of %s is unknown", operand->name);
        if (strstr(dcl_error(), missing) != NULL)
            return cli_fail("the shape of %s is given as %s=%s:SHAPE, such as 100x200", operand->name, operand->name,
                            operand->path);
    }
    return CLI_FAILURE;
}

static int infer(cli_request *request, const char *const names[])
{
    dcl_grid grids[CLI_MAX_ARGUMENTS];
    bool complete = true;
    for (int n = 0; n < request->operand_count; n++) {
        if (request->operand[n].grid.type == 0)
            request->operand[n].grid.type = default_type(request);
        grids[n] = request->operand[n].grid;
        complete = complete && grids[n].rank > 0;
    }
    if (!complete && dcl_body_infer(request->body, request->operand_count, names, grids) != DCL_OK)
        return not_inferred(request);
    for (int n = 0; n < request->operand_count; n++)
        request->operand[n].grid = grids[n];
    return CLI_OK;
}

/* Check that an output can be written before the work is done. */
static int check_writable(const cli_operand *operand)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(operand->path, '/');
    size_t length = slash != NULL ? (size_t)(slash - operand->path) + 1 : 0;
    if (length >= sizeof folder)
        return cli_fail("the path of %s has %zu bytes; expected fewer than %d", operand->name, strlen(operand->path),
                        PATH_MAX);
    if (length > 0) {
        memcpy(folder, operand->path, length);
        folder[length] = '\0';
    }
    struct stat info;
    if (stat(operand->path, &info) == 0 && !S_ISREG(info.st_mode))
        return cli_fail("%s=%s is not a file but something else; expected a file to write or a new name", operand->name,
                        operand->path);
    if (access(folder, W_OK | X_OK) != 0)
        return cli_fail("%s=%s cannot be written: folder %s: %s; expected a folder that you may write to",
                        operand->name, operand->path, folder, strerror(errno));
    return CLI_OK;
}

static int check_outputs(const cli_request *request)
{
    int outputs = 0;
    for (int n = 0; n < request->operand_count; n++) {
        const cli_operand *operand = &request->operand[n];
        if (operand->access == DCL_ACCESS_IN)
            continue;
        outputs++;
        for (int m = 0; m < n; m++)
            if (request->operand[m].access != DCL_ACCESS_IN && strcmp(operand->path, request->operand[m].path) == 0)
                return cli_fail("%s and %s are both saved to %s; expected a file each", request->operand[m].name,
                                operand->name, operand->path);
        int status = request->explain ? CLI_OK : check_writable(operand);
        if (status != CLI_OK)
            return status;
    }
    if (request->operand_count == 0 && request->result_count == 0)
        return cli_fail("there is no array, and the body reduces nothing; expected NAME=FILE for each array behind the "
                        "body, or a reduction such as sum += i;");
    if (outputs == 0 && request->result_count == 0)
        return cli_fail("the body assigns to none of the arrays given; expected an assignment such as %s(i) = ...; "
                        "with NAME=FILE for the array assigned to, or a reduction such as sum += %s(i);",
                        request->operand[0].name, request->operand[0].name);
    return CLI_OK;
}

int cli_request_resolve(cli_request *request)
{
    const char *names[CLI_MAX_ARGUMENTS];
    for (int n = 0; n < request->operand_count; n++)
        names[n] = request->operand[n].name;
    request->kind = request->scan != NULL          ? DCL_CALL_IS_SCAN
                    : reduces_into_arrays(request) ? DCL_CALL_IS_REDUCTION
                                                   : DCL_CALL_IS_BODY;
    int status = CLI_OK;
    for (int n = 0; n < request->operand_count && status == CLI_OK; n++) {
        status = use(request, names, &request->operand[n]);
        if (status == CLI_OK)
            status = check_image_is_output(&request->operand[n]);
    }
    if (status == CLI_OK)
        status = check_values(request);
    for (int n = 0; n < request->operand_count && status == CLI_OK; n++)
        if (request->operand[n].load)
            status = inspect(&request->operand[n]);
    if (status == CLI_OK)
        status = cli_results_find(request);
    if (status == CLI_OK)
        status = check_outputs(request);
    if (status == CLI_OK)
        status = infer(request, names);
    return status == CLI_OK ? check_images(request) : status;
}
