/* cli/palette.c - the node colours: eight light hues with black text, then the same hues dark with white text, so
 * that two nodes of one hue differ in lightness. Source of the light ones, in their order, and of the grey: P. Tol,
 * Colour Schemes, SRON technical note SRON/EPS/TN/09-002, issue 3.2 (2021), scheme "light", made for cells with text
 * on them. */
#include "cli/palette.h"

/* clang-format off */
static const cli_colour colours[CLI_COLOURS] = {
    {"#77aadd", "#000000", 110, 16}, {"#ee8866", "#000000", 209, 16}, {"#eedd88", "#000000", 222, 16},
    {"#ffaabb", "#000000", 217, 16}, {"#99ddff", "#000000", 117, 16}, {"#44bb99", "#000000", 72, 16},
    {"#bbcc33", "#000000", 149, 16}, {"#aaaa00", "#000000", 142, 16},
    {"#24527f", "#ffffff", 24, 231}, {"#9a4420", "#ffffff", 130, 231}, {"#806412", "#ffffff", 94, 231},
    {"#a03a58", "#ffffff", 125, 231}, {"#126a85", "#ffffff", 30, 231}, {"#0c5c44", "#ffffff", 29, 231},
    {"#586800", "#ffffff", 64, 231}, {"#4c4c00", "#ffffff", 58, 231},
};
/* clang-format on */

const cli_colour *cli_node_colour(int node)
{
    static const cli_colour nobody = {"#eeeeee", "#777777", 254, 244};
    return node < 0 ? &nobody : &colours[node % CLI_COLOURS];
}
