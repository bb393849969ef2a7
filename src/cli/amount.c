/* cli/amount.c - format numbers of bytes with a suitable unit. */
#include "cli/amount.h"

#include <inttypes.h>
#include <stdio.h>

const char *cli_amount(int64_t bytes, char text_out[CLI_AMOUNT_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(text_out, CLI_AMOUNT_BYTES, "%" PRId64 " B", bytes);
        return text_out;
    }
    double amount = (double)bytes / 1024;
    int unit = 0;
    while (amount >= 1024 && unit < 5) {
        amount /= 1024;
        unit++;
    }
    snprintf(text_out, CLI_AMOUNT_BYTES, amount < 100 ? "%.3g %s" : "%.0f %s", amount, units[unit]);
    return text_out;
}

int cli_digits(int64_t number)
{
    int count = 1;
    while ((number /= 10) > 0)
        count++;
    return count;
}
