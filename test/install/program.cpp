// C++ with DCL: the macros of C, and overloads in place of _Generic. Built against the build tree by a test, and against an
// installed DCL by scripts/check-install.
#include <dcl.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

namespace
{
int failures = 0;

void check(bool good, const char *what)
{
    if (good)
        return;
    failures++;
    std::fprintf(stderr, "program_cpp: %s is wrong; %s\n", what, dcl_error());
}

void check(dcl_status status, const char *what) { check(status == DCL_OK, what); }

// Scalars: the type and the value that an argument has.
template <class T> void check_signed(T value, dcl_type type, const char *what)
{
    const dcl_arg arg = DCL_VALUE(value);
    check(arg.access == DCL_ACCESS_VALUE && arg.type == type && arg.value.i == static_cast<std::int64_t>(value) &&
              std::strcmp(arg.name, "value") == 0,
          what);
}

template <class T> void check_unsigned(T value, dcl_type type, const char *what)
{
    const dcl_arg arg = DCL_VALUE_AS("other", value);
    check(arg.type == type && arg.value.u == static_cast<std::uint64_t>(value) && std::strcmp(arg.name, "other") == 0,
          what);
}

template <class T> void check_floating(T value, dcl_type type, const char *what)
{
    const dcl_arg arg = DCL_VALUE(value);
    check(arg.type == type && arg.value.f == static_cast<double>(value), what);
}

template <class T> constexpr T most = std::numeric_limits<T>::max();
template <class T> constexpr T least = std::numeric_limits<T>::min();

void check_values()
{
    if (least<char> < 0)
        check_signed(least<char>, DCL_INT8, "DCL_VALUE of char");
    else
        check_unsigned(most<char>, DCL_UINT8, "DCL_VALUE of char");
    check_signed(least<signed char>, DCL_INT8, "DCL_VALUE of signed char");
    check_signed(least<short>, DCL_INT16, "DCL_VALUE of short");
    check_signed(least<int>, DCL_INT32, "DCL_VALUE of int");
    check_signed(least<long>, DCL_INT64, "DCL_VALUE of long");
    check_signed(least<long long>, DCL_INT64, "DCL_VALUE of long long");
    check_unsigned(true, DCL_UINT8, "DCL_VALUE of bool");
    check_unsigned(most<unsigned char>, DCL_UINT8, "DCL_VALUE of unsigned char");
    check_unsigned(most<unsigned short>, DCL_UINT16, "DCL_VALUE of unsigned short");
    check_unsigned(most<unsigned>, DCL_UINT32, "DCL_VALUE of unsigned");
    check_unsigned(most<unsigned long>, DCL_UINT64, "DCL_VALUE of unsigned long");
    check_unsigned(most<unsigned long long>, DCL_UINT64, "DCL_VALUE of unsigned long long");
    check_floating(0.1f, DCL_FLOAT, "DCL_VALUE of float");
    check_floating(0.1, DCL_DOUBLE, "DCL_VALUE of double");
}

int reads_same(void *user, const dcl_box *output, int most_boxes, dcl_box inputs_out[])
{
    ++*static_cast<int *>(user);
    if (most_boxes < 1)
        return -1;
    inputs_out[0] = *output;
    return 1;
}

// What the argument macros make of an array called x. Arguments are looked at here, and used below.
void check_arguments(dcl_array *x, dcl_array *y)
{
    const dcl_grid grid = dcl_grid_1d(DCL_INT32, 10);
    const dcl_box box = dcl_box_of(&grid);
    int calls = 0;
    const dcl_arg list[] = {DCL_OUT(y),
                            DCL_IN(x),
                            DCL_INOUT(x),
                            DCL_IN_ALL(x),
                            DCL_IN_ROWS(x),
                            DCL_IN_COLUMNS(x),
                            DCL_IN_KEPT(x),
                            DCL_IN_HALO(x, 1),
                            DCL_IN_CROSS(x, 1, 2L),
                            DCL_IN_BOX(x, &box),
                            DCL_IN_AT(x, 3, 5),
                            DCL_IN_FUNCTION(x, reads_same, &calls),
                            DCL_MOVE(y, x),
                            DCL_PRELUDE("int one(void) { return 1; }"),
                            DCL_GROUP(8, 2),
                            DCL_ITEMS(1)};
    const dcl_access access[] = {DCL_ACCESS_OUT,      DCL_ACCESS_IN,         DCL_ACCESS_INOUT,   DCL_ACCESS_IN_ALL,
                                 DCL_ACCESS_IN_ROWS,  DCL_ACCESS_IN_COLUMNS, DCL_ACCESS_IN_KEPT, DCL_ACCESS_IN_HALO,
                                 DCL_ACCESS_IN_CROSS, DCL_ACCESS_IN_BOX,     DCL_ACCESS_IN_AT,   DCL_ACCESS_IN_FUNCTION,
                                 DCL_ACCESS_MOVE,     DCL_ACCESS_PRELUDE,    DCL_ACCESS_GROUP,   DCL_ACCESS_ITEMS};
    for (std::size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        check(list[k].access == access[k], "an argument's access");
        if (k > 0 && k < 13)
            check(list[k].array == x && std::strcmp(list[k].name, "x") == 0, "an argument's array");
    }
    check(list[7].width_count == 1 && list[7].width[0] == 1, "DCL_IN_HALO");
    check(list[8].width_count == 2 && list[8].width[0] == 1 && list[8].width[1] == 2, "DCL_IN_CROSS");
    check(list[9].box == &box && list[10].first == 3 && list[10].last == 5, "DCL_IN_BOX, DCL_IN_AT");
    check(list[11].function == reads_same && list[11].user == &calls, "DCL_IN_FUNCTION");
    check(std::strcmp(list[12].of, "y") == 0, "DCL_MOVE");
    check(list[14].width_count == 2 && list[14].width[0] == 8 && list[15].width_count == 1, "DCL_GROUP, DCL_ITEMS");
    const dcl_arg named[] = {
        DCL_OUT_AS("n", x),          DCL_IN_AS("n", x),          DCL_INOUT_AS("n", x),
        DCL_IN_ALL_AS("n", x),       DCL_IN_ROWS_AS("n", x),     DCL_IN_COLUMNS_AS("n", x),
        DCL_IN_KEPT_AS("n", x),      DCL_IN_HALO_AS("n", x, 1),  DCL_IN_CROSS_AS("n", x, 1),
        DCL_IN_BOX_AS("n", x, &box), DCL_IN_AT_AS("n", x, 0, 1), DCL_IN_FUNCTION_AS("n", x, reads_same, nullptr),
        DCL_MOVE_AS("o", "n", x)};
    for (const dcl_arg &arg : named)
        check(std::strcmp(arg.name, "n") == 0 && arg.array == x, "an argument with a name of its own");
}

void check_sum(dcl_array *y, std::int64_t n, std::int64_t expected, const char *what)
{
    std::vector<std::int32_t> results(static_cast<std::size_t>(n));
    check(dcl_read(y, nullptr, results.data(), nullptr), what);
    std::int64_t sum = 0;
    for (std::int32_t result : results)
        sum += result;
    if (sum != expected)
        std::fprintf(stderr, "program_cpp: sum %lld; expected %lld\n", static_cast<long long>(sum),
                     static_cast<long long>(expected));
    check(sum == expected, what);
}

// One description is explained, reported and run, and counts what was explained.
void check_calls(dcl_cluster *cluster, dcl_array *x, dcl_array *y, std::int64_t n)
{
    const int factor = 3;
    dcl_counters planned, before, after;
    const dcl_box half = [n] {
        const std::int64_t start = 0, count = n / 2;
        return dcl_box_nd(1, &start, &count);
    }();
    check(dcl_forall(cluster, "x(i) = 2;", DCL_OUT(x)), "dcl_forall with one argument");
    check(dcl_explain(cluster, &planned, "y(i) = factor * x(999 - i);", DCL_OUT(y), DCL_IN(x), DCL_VALUE(factor)),
          "dcl_explain");
    check(dcl_stats(cluster, DCL_ALL_NODES, &before), "dcl_stats");
    check(dcl_forall(cluster, "y(i) = factor * x(999 - i);", DCL_OUT(y), DCL_IN(x), DCL_VALUE(factor)), "dcl_forall");
    check(dcl_stats(cluster, DCL_ALL_NODES, &after), "dcl_stats");
    check(after.bytes_moved - before.bytes_moved == planned.bytes_moved && planned.tasks > 0, "what dcl_explain said");
    check_sum(y, n, 6 * n, "dcl_forall");
    check(dcl_forall_over(cluster, &half, "y(i) = x(i);", DCL_INOUT(y), DCL_IN(x)), "dcl_forall_over");
    check_sum(y, n, 4 * n, "dcl_forall_over");
    dcl_report *report = dcl_explain_report(cluster, "y(i) = x(i);", DCL_OUT(y), DCL_IN(x));
    check(report != nullptr && report->array_count == 2, "dcl_explain_report");
    dcl_report_release(report);
    check(dcl_forall_tiles(cluster, "const long t = dcl_item(0); y(t) = x(t) + 5;", DCL_OUT(y), DCL_IN(x)),
          "dcl_forall_tiles");
    check_sum(y, n, 7 * n, "dcl_forall_tiles");
    check(dcl_explain_tiles(cluster, &planned, "y(dcl_item(0)) = 1;", DCL_OUT(y)), "dcl_explain_tiles");
    check(dcl_call_explain(DCL_CALL_COPY(x, y), DCL_ALL_NODES, &planned), "DCL_CALL_COPY explained");
    check(dcl_call_run(DCL_CALL_COPY(x, y)), "DCL_CALL_COPY");
    check_sum(y, n, 2 * n, "DCL_CALL_COPY");
    check(dcl_call_explain(DCL_CALL_MOVE(x, nullptr, 0), DCL_ALL_NODES, &planned), "DCL_CALL_MOVE");
    const std::vector<dcl_arg> arguments = {DCL_OUT(y), DCL_IN_AS("input", x)};
    check(dcl_forall_n(cluster, "y(i) = 4 * input(i);", static_cast<int>(arguments.size()), arguments.data()),
          "dcl_forall_n");
    check_sum(y, n, 8 * n, "dcl_forall_n");
}

// Reductions, scans and loop nests.
void check_reductions(dcl_cluster *cluster, dcl_array *x, dcl_array *y, std::int64_t n)
{
    long sum = 0;
    int high = 0;
    std::int64_t where[1] = {-1};
    check(dcl_forall(cluster, "x(i) = i == 70 ? 9 : 1;", DCL_OUT(x)), "dcl_forall before reductions");
    check(dcl_reduce(cluster, "sum += x(i); high max= x(i);", DCL_RESULT(sum), DCL_RESULT(high), DCL_RESULT_AT(where),
                     DCL_IN(x), DCL_FAST),
          "dcl_reduce");
    check(sum == n + 8 && high == 9 && where[0] == 70, "what dcl_reduce found");
    check(DCL_RESULT_AT(y).array == y, "DCL_RESULT_AT of an array");
    check(dcl_scan(cluster, "y(i) += x(i);", DCL_OUT(y), DCL_IN(x), DCL_ALONG("i"), DCL_EXCLUSIVE), "dcl_scan");
    check_sum(y, n, n * (n - 1) / 2 + 8 * (n - 71), "dcl_scan");
    check(dcl_loops(cluster, "for (i = 0; i < n; i++) y[n-1-i] = 2 * x[i];", DCL_OUT(y), DCL_IN(x), DCL_VALUE(n)),
          "dcl_loops");
    check_sum(y, n, 2 * (n + 8), "dcl_loops");
}
} // namespace

// Memory of the program in a loop nest: type and rank come from the variable.
void check_memory(dcl_cluster *cluster)
{
    const double in[2][3] = {{1, 2, 3}, {4, 5, 6}};
    std::vector<float> out(6);
    long whole[2] = {5, 6};
    const int n = 2, m = 3;
    check(dcl_loops(cluster,
                    "for (i = 0; i < n; i++) { whole[i] += i; for (j = 0; j < m; j++) out[i][j] = 2 * in[i][j]; }",
                    DCL_HOST_OUT_AS("out", out.data(), n, m), DCL_HOST_IN(in, n, m), DCL_HOST_INOUT(whole, n),
                    DCL_VALUE(n), DCL_VALUE(m)),
          "dcl_loops");
    check(out[0] == 2 && out[5] == 12 && whole[0] == 5 && whole[1] == 7, "what dcl_loops has computed");
}

int main()
{
    const std::int64_t n = 1000, piece[] = {64};
    check_values();
    dcl_cluster *cluster = dcl_open(nullptr);
    if (cluster == nullptr) {
        std::fprintf(stderr, "program_cpp: %s\n", dcl_error());
        return 1;
    }
    dcl_map *map = dcl_map_block_cyclic(cluster, 1, piece);
    dcl_array *x = dcl_agile(dcl_grid_1d(DCL_INT32, n), map);
    dcl_array *y = dcl_agile(dcl_grid_1d(DCL_INT32, n), map);
    check_arguments(x, y);
    check_calls(cluster, x, y, n);
    check_reductions(cluster, x, y, n);
    check_memory(cluster);
    std::printf("program_cpp: %d nodes: %d failures\n", dcl_node_count(cluster), failures);
    dcl_release(y);
    dcl_release(x);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return failures == 0 ? 0 : 1;
}
