/* test/kernel/spec.c - parameters of bodies in short text. */
#include "kernel/spec.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const roles[] = {"", "out", "in", "inout", "all", "rows", "columns", "value"};
static const char *const types[] = {"",       "int8",   "int16",  "int32", "int64", "uint8",
                                    "uint16", "uint32", "uint64", "half",  "float", "double"};

static int number_of(const char *word, const char *const words[], int count)
{
    for (int n = 1; n < count; n++)
        if (strcmp(word, words[n]) == 0)
            return n;
    return 0;
}

int test_spec(const char *spec, dcli_param params_out[])
{
    int count = 0;
    for (const char *at = spec; *at != '\0'; at += *at == ',') {
        char role[16] = "", name[64] = "", third[16] = "", fourth[16] = "float";
        sscanf(at, " %15[a-z] %63[^, ] %15[^, ] %15[^, ]", role, name, third, fourth);
        dcli_param *param = &params_out[count++];
        *param = (dcli_param){.access = (dcl_access)number_of(role, roles, 8)};
        bool result = strcmp(role, "result") == 0; /* "result s", or with its type: "result s int32" */
        bool keyed = strcmp(role, "keyed") == 0;   /* "keyed H 1 int32": a result with axes */
        param->access = result || keyed ? DCL_ACCESS_RESULT : param->access;
        cr_assert(param->access != 0, "no role in '%s'", at);
        memcpy(param->name, name, sizeof name);
        bool scalar = param->access == DCL_ACCESS_VALUE || (result && third[0] != '\0');
        param->rank = atoi(third);
        param->type = (dcl_type)number_of(scalar ? third : fourth, types, 12);
        at += strcspn(at, ",");
    }
    return count;
}

dcl_status test_parse(const char *spec, const char *text, dcli_body **body_out)
{
    dcli_param params[DCLI_MAX_PARAMS + 1];
    int count = test_spec(spec, params);
    return dcli_body_parse(text, "", count, params, body_out);
}

/* Put a subscript. @param axes  number of axes of the space and of inner axes. */
static void put_subscript(char *out, size_t capacity, const dcli_subscript *s, int space_rank, int axes)
{
    size_t length = strlen(out), start = length;
    bool plain = s->constant == 0;
    if (!plain)
        snprintf(out + length, capacity - length, "%" PRId64, s->constant);
    for (int m = 0; m < axes; m++) {
        length = strlen(out);
        char axis = m < space_rank ? 'x' : 't';
        int number = m < space_rank ? m : m - space_rank;
        if (s->coef[m] == 1)
            snprintf(out + length, capacity - length, "%s%c%d", length > start ? "+" : "", axis, number);
        else if (s->coef[m] != 0)
            snprintf(out + length, capacity - length, "%s%" PRId64 "*%c%d", length > start && s->coef[m] > 0 ? "+" : "",
                     s->coef[m], axis, number);
    }
    if (strlen(out) == start)
        snprintf(out + start, capacity - start, "0");
    length = strlen(out);
    if (s->clamped && s->low > INT64_MIN)
        length += (size_t)snprintf(out + length, capacity - length, " >= %" PRId64, s->low);
    if (s->clamped && s->high < INT64_MAX)
        length += (size_t)snprintf(out + length, capacity - length, " <= %" PRId64, s->high);
    if (s->beyond == DCLI_BEYOND_MIRROR)
        snprintf(out + length, capacity - length, " mirrored, %" PRId64, s->repeat);
    if (s->beyond == DCLI_BEYOND_NOTHING)
        snprintf(out + length, capacity - length, " or nothing");
    if (s->period != 0)
        snprintf(out + length, capacity - length, " mod %" PRId64, s->period);
}

char *test_accesses(const dcli_body *body, const dcli_scalar values[])
{
    enum { CAPACITY = 4096 };
    static const char *const reaches[] = {"", " all", " rows", " columns", " halo", " cross", " box", " function"};
    char *out = calloc(1, CAPACITY);
    for (int a = 0; a < body->access_count; a++) {
        const dcli_body_access *access = &body->access[a];
        dcli_subscripts subscripts;
        cr_assert_eq(dcli_body_subscripts(body, a, values, &subscripts), DCL_OK, "%s", dcl_error());
        snprintf(out + strlen(out), CAPACITY - strlen(out), "%s%s(", a > 0 ? "; " : "",
                 body->params[access->param].name);
        for (int d = 0; d < subscripts.rank && access->reach == DCLI_REACH_AFFINE; d++) {
            if (d > 0)
                strcat(out, ",");
            put_subscript(out, CAPACITY, &subscripts.axis[d], body->space_rank,
                          body->space_rank + subscripts.inner_rank);
        }
        for (int q = 0; q < subscripts.inner_rank; q++)
            snprintf(out + strlen(out), CAPACITY - strlen(out), "; t%d < %" PRId64, q, subscripts.inner_count[q]);
        snprintf(out + strlen(out), CAPACITY - strlen(out), ") %s%s%s%s", access->read ? "r" : "",
                 access->written ? "w" : "", access->conditional ? "c" : "", reaches[access->reach]);
        if (access->unit_axis >= 0)
            snprintf(out + strlen(out), CAPACITY - strlen(out), " u%d", access->unit_axis);
    }
    return out;
}
