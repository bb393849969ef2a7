/* cli/eval_results.c - find, print and describe the values to which a body reduces arrays. */
#include "cli/eval_results.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/body_text.h"
#include "cli/json.h"
#include "cli/report.h"

static bool is_known(const cli_request *request, const char *name)
{
    if (cli_request_has(request, name))
        return true;
    for (int r = 0; r < request->result_count; r++)
        if (strcmp(request->result[r].name, name) == 0)
            return true;
    return cli_body_declares(request->body, name);
}

static dcl_type type_of_results(const cli_request *request)
{
    bool integers = request->operand_count > 0, unsigned_longs = true;
    for (int n = 0; n < request->operand_count; n++) {
        integers &= request->operand[n].grid.type < DCL_HALF;
        unsigned_longs &= request->operand[n].grid.type == DCL_UINT64;
    }
    return !integers ? DCL_DOUBLE : unsigned_longs ? DCL_UINT64 : DCL_INT64;
}

int cli_results_find(cli_request *request)
{
    char name[CLI_NAME_BYTES];
    for (const char *at = request->body; (at = cli_body_next_result(request->body, at, name)) != NULL;) {
        if (is_known(request, name))
            continue;
        if (request->result_count == CLI_MAX_RESULTS)
            return cli_fail("the body reduces more than %d values, %s among them; expected at most that many",
                            CLI_MAX_RESULTS, name);
        cli_result *result = &request->result[request->result_count++];
        *result = (cli_result){.type = type_of_results(request)};
        memcpy(result->name, name, sizeof name);
    }
    if (request->result_count > 0 && request->kind == DCL_CALL_IS_SCAN)
        return cli_fail("the body reduces to %s, but --scan is given; expected a statement such as P(%s) += ...; or no "
                        "--scan",
                        request->result[0].name, request->scan);
    if (request->result_count > 0)
        request->kind = DCL_CALL_IS_REDUCTION;
    for (int n = 0; n < request->operand_count && request->result_count > 0; n++)
        if (request->operand[n].access != DCL_ACCESS_IN)
            return cli_fail("the body reduces to %s and writes %s; expected one of them: run eval twice",
                            request->result[0].name, request->operand[n].name);
    return CLI_OK;
}

dcl_arg cli_result_arg(cli_result *result) { return dcl_arg_result(result->name, result->type, &result->value); }

static void print_value(const cli_result *result, FILE *file)
{
    char text[40];
    if (result->type == DCL_INT64) {
        fprintf(file, "%" PRId64, result->value.i);
    } else if (result->type == DCL_UINT64) {
        fprintf(file, "%" PRIu64, result->value.u);
    } else {
        int digits = 15;
        do
            snprintf(text, sizeof text, "%.*g", digits, result->value.f);
        while (digits++ < 17 && isfinite(result->value.f) && strtod(text, NULL) != result->value.f);
        fputs(text, file);
    }
}

void cli_results_lines(const cli_request *request, FILE *file)
{
    for (int r = 0; r < request->result_count; r++) {
        fprintf(file, "%s = ", request->result[r].name);
        print_value(&request->result[r], file);
        fputc('\n', file);
    }
}

void cli_results_json(const cli_request *request, FILE *file)
{
    fputs("\"results\": {", file);
    for (int r = 0; r < request->result_count; r++) {
        const cli_result *result = &request->result[r];
        const char *quote = result->type == DCL_DOUBLE && !isfinite(result->value.f) ? "\"" : "";
        fputs(r > 0 ? ", " : "", file);
        cli_json_string(file, result->name);
        fprintf(file, ": %s", quote);
        print_value(result, file);
        fputs(quote, file);
    }
    fputc('}', file);
}
