/* cli/moves_text.c - print the moves of a body in a terminal. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/amount.h"
#include "cli/heat.h"
#include "cli/palette.h"
#include "cli/picture.h"
#include "cli/shape.h"

enum { MOST_LINES = 30, BAR = 32, MOST_ROWS = 24 };

static void print_header(const cli_moves *moves)
{
    char shape[CLI_SHAPE_BYTES], bytes[CLI_AMOUNT_BYTES];
    printf("%s\n", moves->body);
    for (int a = 0; a < moves->array_count; a++) {
        const cli_moved_array *array = &moves->array[a];
        printf("  %s: %s %s, %s\n", array->name, cli_shape_print(&array->grid, shape), dcl_type_name(array->grid.type),
               array->text);
    }
    printf("%s in %" PRId64 " blocks between %d nodes\n\n", cli_amount(moves->bytes, bytes), moves->blocks,
           moves->nodes);
}

static void print_node(const cli_canvas *canvas, int node)
{
    const cli_colour *colour = cli_node_colour(node);
    if (canvas->colour)
        printf("\033[38;5;%d;48;5;%dm%7d\033[0m", colour->terminal_ink, colour->terminal, node);
    else
        printf("%7d", node);
}

/* Print a line per move, with a bar whose length is its share of the largest. */
static void print_lines(const cli_moves *moves, const cli_canvas *canvas)
{
    char bytes[CLI_AMOUNT_BYTES];
    printf("%7s     %7s %11s\n", "from", "to", "");
    for (int m = 0; m < moves->move_count; m++) {
        const cli_move *move = &moves->move[m];
        print_node(canvas, moves->node[move->from]);
        fputs(" --> ", stdout);
        print_node(canvas, moves->node[move->to]);
        printf(" %11s  ", cli_amount(move->bytes, bytes));
        int length = 1 + (int)((double)move->bytes / (double)moves->largest * (BAR - 1));
        for (int k = 0; k < length; k++)
            putchar('=');
        putchar('\n');
    }
}

/* Shade of a cell: 0: nothing; 1..9: ninths of the largest. */
static int shade(const cli_heat *heat, int from, int to)
{
    int64_t bytes = heat->bytes[from][to];
    return bytes == 0 ? 0 : 1 + (int)((double)(bytes - 1) / (double)heat->largest * 9);
}

static void print_shade(const cli_canvas *canvas, int number)
{
    static const int backgrounds[] = {231, 195, 153, 117, 111, 75, 69, 33, 26, 18};
    if (canvas->colour)
        printf("\033[38;5;%d;48;5;%dm%2c\033[0m", number < 5 ? 16 : 231, backgrounds[number],
               number == 0 ? '.' : '0' + number);
    else
        printf("%2c", number == 0 ? '.' : '0' + number);
}

static void print_heat(const cli_moves *moves, const cli_canvas *canvas)
{
    char bytes[CLI_AMOUNT_BYTES];
    cli_heat heat;
    int room = (canvas->columns - 10) / 2, most = room < MOST_ROWS ? room : MOST_ROWS;
    cli_heat_make(moves, most > 4 ? most : 4, &heat);
    if (heat.nodes > 1)
        printf("1 row or column = %d nodes; the first one's number\n", heat.nodes);
    printf("%7s to\n", "from");
    for (int from = 0; from < heat.size; from++) {
        print_node(canvas, moves->node[from * heat.nodes]);
        for (int to = 0; to < heat.size; to++)
            print_shade(canvas, shade(&heat, from, to));
        putchar('\n');
    }
    printf("\n. nothing, 1 to 9 up to");
    for (int number = 1; number <= 9; number++)
        printf("%s %s", number > 1 ? "," : "", cli_amount((heat.largest * number - 1) / 9 + 1, bytes));
    putchar('\n');
}

void cli_moves_draw(const cli_moves *moves)
{
    cli_canvas canvas = cli_canvas_of_stdout();
    print_header(moves);
    if (moves->move_count == 0)
        puts("Nothing moves.");
    else if (moves->move_count <= MOST_LINES)
        print_lines(moves, &canvas);
    else
        print_heat(moves, &canvas);
}
