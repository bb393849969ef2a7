/* golden/bodies.c - see bodies.h. New bodies go to the end: a case names its body by the number. */
#include "golden/bodies.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const golden_body golden_bodies[] = {
    {"C(i) = A(i);", "C out int16 i; A in int16 i", .rank = 1, .shifts = true},
    {"C(i) = (i > 0 ? A(i-1) : 0) + (i < N0 - 1 ? A(i+1) : 0);", "C out int32 i; A in int32 i", .rank = 1},
    {"C(i) = A(s*i + t) + B(i);", "C out int64 i; A in int64 4i+4; B in int64 i", .rank = 1},
    {"C(i) = A(N0 - 1 - i) + 1;", "C out int8 i; A in int8 i", .rank = 1},
    {"C(i) = A(i + 1);", "C out float i; A in float i", .rank = 1},
    {"C(i) += A(i); D(i) = D(i) + C(i);", "C inout double i; D inout double i; A in double i", .rank = 1, .shifts = true},
    {"C(i) = A(X(i)) + 1;", "C out float i; A at float 3i+2; X in int64 i", .rank = 1, .most = 500},
    {"C(i) = A(i,i) + B(i);", "C out int32 i; A in int32 i,i; B in int32 i", .rank = 1, .most = 60},
    {"float sum = 0; for (long q = 0; q < K; q++) sum += A(i,q) * B(q); C(i) = sum;",
     "C out float i; A rows float i,K; B all float K", .rank = 1, .most = 300},
    {"C(dcl_item(0)) = A(dcl_item(0)) - B(dcl_item(0));", "C out int32 i; A in int32 i; B move int32 i", .rank = 1,
     .shifts = true, .tiles = true},

    {"C(i,j) = A(i,j) + B(i,j);", "C out float i,j; A in float i,j; B in float i,j", .rank = 2, .shifts = true},
    {"C(i,j) = A(i,j) + B(j,i);", "C out double i,j; A in double i,j; B in double j,i", .rank = 2, .shifts = true},
    {"C(j,i) = A(i,j) * B(j,i) - A(i,j);", "C out int32 j,i; A in int32 i,j; B in int32 j,i", .rank = 2, .shifts = true},
    {"C(i,j) = i > 0 && i < N0 - 1 && j > 0 && j < N1 - 1 ? A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1) - 4*A(i,j) : A(i,j);",
     "C out float i,j; A in float i,j", .rank = 2},
    {"C(i,j) = A(2*i + 1, 3*j) + B(j,i);", "C out int16 i,j; A in int16 2i+2,3j+1; B in int16 j,i", .rank = 2},
    {"C(i,j) = A(i) * B(j) + D(0,j);", "C out float i,j; A in float i; B in float j; D in float 2,j", .rank = 2},
    {"C(i,j) = A(i,j) + B(j,i); D(j,i) = A(i,j) - B(j,i);",
     "C out int64 i,j; D out int64 j,i; A in int64 i,j; B in int64 j,i", .rank = 2, .shifts = true},
    {"C(i,j) = a*C(i,j) + A(j,i);", "C inout double i,j; A in double j,i", .rank = 2, .shifts = true},
    {"if ((i + j) % 2 == 0) C(i,j) = A(j,i);", "C out uint8 i,j; A in uint8 j,i", .rank = 2},
    {"C(i,j) = A(i,j); if (i > j) D(j,i) = A(i,j) * 2;", "C out int32 i,j; D out int32 j,i; A in int32 i,j", .rank = 2},
    {"C(i,j) = A(i,j) + B(j,i);", "C out double i,j; A in int32 i,j; B in float j,i", .rank = 2, .shifts = true},
    {"C(i,j) = A(i + j);", "C out uint16 i,j; A in uint16 2i+40", .rank = 2, .most = 40},
    {"C(i,j) = A((7*i + 3*j) % N0, (i + j) % N1);", "C out uint32 i,j; A all uint32 i,j", .rank = 2, .most = 61},
    {"C(i,j) = A(i, (3*j + 1) % N1) + B((5*i + 1) % N0, j);", "C out int32 i,j; A rows int32 i,j; B columns int32 i,j",
     .rank = 2, .most = 61},
    {"float sum = 0; for (long q = 0; q < K; q++) sum += A(i,q) * B(q,j); C(i,j) = sum;",
     "C out float i,j; A rows float i,K; B columns float K,j", .rank = 2, .most = 61},
    {"long p = i > 0 ? i - 1 : i; C(i,j) = A(p, j) + A(i, j);", "C out int32 i,j; A halo1 int32 i,j", .rank = 2},
    {"long p = j < N1 - 1 ? j + 1 : j, q = i > 1 ? i - 2 : i; C(i,j) = A(i,p) - A(q,j);",
     "C out float i,j; A cross2 float i,j", .rank = 2},
    {"C(i,j) = A(i,j) + B(1 + j % 4, 1 + i % 3);", "C out int64 i,j; A in int64 i,j; B box int64 6,5", .rank = 2},
    {"long r = N0 - 1 - i; C(i,j) = A(r, j);", "C out int16 i,j; A function int16 i,j", .rank = 2, .most = 40},
    {"C(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1);", "C out float i,j; A in float i,j", .rank = 2},
    {"C(i,j) = A(i,j) * 3 + B(j,i);", "C out int32 i,j; A in int32 i,j; B kept int32 j,i", .rank = 2, .shifts = true},
    {"C(dcl_item(0), dcl_item(1)) = A(dcl_item(0), dcl_item(1)) - B(dcl_item(0), dcl_item(1));",
     "C out float i,j; A in float i,j; B move float i,j", .rank = 2, .shifts = true, .tiles = true},
    {"long x = dcl_item(0), y = dcl_item(1); C(x, y) = A(x, y) + (x - 1 >= A_low(0) ? A(x - 1, y) : 0) + (y + 1 < A_high(1) ? A(x, y + 1) : 0);",
     "C out float i,j; A halo1 float i,j", .rank = 2, .tiles = true},
    {"double y = square(A(j,i)); C(i,j) = y + A(j,i);", "C out double i,j; A in double j,i",
     .prelude = "static double square(double x) { return x * x; }", .rank = 2, .shifts = true},
    {"C(i,j) = (i + 2*j) + A(i,j);", "C out uint8 i,j; A in uint8 i,j", .rank = 2, .shifts = true},

    {"C(i,j,k) = A(k,i,j) - B(j,k,i);", "C out int32 i,j,k; A in int32 k,i,j; B in int32 j,k,i", .rank = 3, .shifts = true},
    {"C(k,i,j) = A(i,j,k) + B(k,j,i);", "C out double k,i,j; A in double i,j,k; B in double k,j,i", .rank = 3, .shifts = true},
    {"C(i,j,k) = i > 0 && k > 0 ? A(i-1,j,k-1) : B(k,j,i);", "C out float i,j,k; A in float i,j,k; B in float k,j,i", .rank = 3},
    {"C(i,j,k) += A(i,j,k);", "C inout int64 i,j,k; A in int64 i,j,k", .rank = 3, .shifts = true},
    {"C(i,j,k) = A(j) + B(k,1) * D(i);", "C out int32 i,j,k; A in int32 j; B in int32 k,3; D in int32 i", .rank = 3},
    {"C(dcl_item(0), dcl_item(1), dcl_item(2)) = 2 * A(dcl_item(0), dcl_item(1), dcl_item(2));",
     "C out int32 i,j,k; A move int32 i,j,k", .rank = 3, .shifts = true, .tiles = true},

    {"C(i,j,k,l) = A(l,k,j,i) + B(j,i,l,k);", "C out int32 i,j,k,l; A in int32 l,k,j,i; B in int32 j,i,l,k", .rank = 4, .shifts = true},
    {"C(l,i,k,j) = A(i,j,k,l) * 2;", "C out int16 l,i,k,j; A in int16 i,j,k,l", .rank = 4, .shifts = true},
    {"C(i,j,k,l) = j > 0 && l < N3 - 1 ? A(i,j-1,k,l+1) : A(i,j,k,l);", "C out float i,j,k,l; A in float i,j,k,l", .rank = 4},
};
/* clang-format on */
const int golden_body_count = (int)(sizeof golden_bodies / sizeof golden_bodies[0]);

static dcl_access access_named(const char *word)
{
    static const struct {
        const char *word;
        dcl_access access;
    } words[] = {{"out", DCL_ACCESS_OUT},       {"inout", DCL_ACCESS_INOUT},          {"all", DCL_ACCESS_IN_ALL},
                 {"rows", DCL_ACCESS_IN_ROWS},  {"columns", DCL_ACCESS_IN_COLUMNS},   {"kept", DCL_ACCESS_IN_KEPT},
                 {"halo1", DCL_ACCESS_IN_HALO}, {"cross2", DCL_ACCESS_IN_CROSS},      {"box", DCL_ACCESS_IN_BOX},
                 {"at", DCL_ACCESS_IN_AT},      {"function", DCL_ACCESS_IN_FUNCTION}, {"move", DCL_ACCESS_MOVE}};
    for (size_t n = 0; n < sizeof words / sizeof words[0]; n++)
        if (strcmp(words[n].word, word) == 0)
            return words[n].access;
    return DCL_ACCESS_IN;
}

int golden_operands(const golden_body *body, golden_operand out[GOLDEN_ARRAYS])
{
    char text[256], *rest = text;
    int count = 0;
    snprintf(text, sizeof text, "%s", body->operands);
    for (char *item; (item = strsep(&rest, ";")) != NULL;) {
        char access[16], type[16], axes[64], *axis = axes;
        golden_operand *operand = &out[count++];
        *operand = (golden_operand){.rank = 0};
        if (sscanf(item, " %1s %15s %15s %63s", operand->name, access, type, axes) != 4)
            abort();
        operand->access = access_named(access);
        operand->width = access[strlen(access) - 1] - '0';
        operand->type = dcl_type_named(type);
        for (char *word; (word = strsep(&axis, ",")) != NULL;)
            snprintf(operand->axis[operand->rank++], sizeof operand->axis[0], "%s", word);
    }
    return count;
}

static bool joins(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool golden_names(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length)
        if ((at == text || !joins(at[-1])) && !joins(at[length]))
            return true;
    return false;
}
