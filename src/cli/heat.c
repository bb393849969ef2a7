/* cli/heat.c - the matrix of bytes that move from one group of nodes to another, for a picture. */
#include "cli/heat.h"

void cli_heat_make(const cli_moves *moves, int most, cli_heat *heat_out)
{
    *heat_out = (cli_heat){.nodes = (moves->taking_part - 1) / most + 1};
    heat_out->size = (moves->taking_part - 1) / heat_out->nodes + 1;
    for (int m = 0; m < moves->move_count; m++) {
        const cli_move *move = &moves->move[m];
        int64_t *bytes = &heat_out->bytes[move->from / heat_out->nodes][move->to / heat_out->nodes];
        *bytes += move->bytes;
        heat_out->largest = *bytes > heat_out->largest ? *bytes : heat_out->largest;
    }
}
