// C++ against an installed DCL: the functions below the C macros, and overloads in place of _Generic.
#include <dcl.h>

#include <cstdint>
#include <cstdio>
#include <vector>

static int failed(const char *what)
{
    std::fprintf(stderr, "program_cpp: %s: %s\n", what, dcl_error());
    return 1;
}

int main()
{
    const std::int64_t n = 1000, piece[] = {64};
    dcl_cluster *cluster = dcl_open(nullptr);
    if (cluster == nullptr)
        return failed("dcl_open");
    dcl_map *map = dcl_map_block_cyclic(cluster, 1, piece);
    dcl_array *x = dcl_agile(dcl_grid_1d(DCL_INT32, n), map);
    dcl_array *y = dcl_agile(dcl_grid_1d(DCL_INT32, n), map);

    std::vector<std::int32_t> values(n), results(n);
    for (std::int64_t i = 0; i < n; i++)
        values[i] = static_cast<std::int32_t>(7 * i % 1009);
    dcl_write(x, nullptr, values.data(), nullptr);

    const std::vector<dcl_arg> arguments = {DCL_OUT(y), DCL_IN_AS("input", x), dcl_arg_signed("factor", DCL_INT32, 3)};
    if (dcl_forall_n(cluster, "y(i) = factor * input(999 - i);", static_cast<int>(arguments.size()), arguments.data()))
        return failed("dcl_forall_n");
    if (dcl_read(y, nullptr, results.data(), nullptr) != DCL_OK)
        return failed("dcl_read");
    for (std::int64_t i = 0; i < n; i++)
        if (results[i] != 3 * values[n - 1 - i]) {
            std::fprintf(stderr, "program_cpp: y(%d) is %d; expected %d\n", static_cast<int>(i), results[i],
                         3 * values[n - 1 - i]);
            return 1;
        }
    std::printf("program_cpp: %d nodes: y is right\n", dcl_node_count(cluster));
    dcl_release(y);
    dcl_release(x);
    dcl_release(map);
    return dcl_close(cluster) == DCL_OK ? 0 : failed("dcl_close");
}
