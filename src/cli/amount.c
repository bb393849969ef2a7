/* cli/amount.c - format bytes and times with a suitable unit. */
#include "cli/amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

const char *cli_time(int64_t ns, char text_out[CLI_TIME_BYTES])
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    int u = 0;
    while (u < 3 && (double)(ns < 0 ? -ns : ns) < units[u].ns)
        u++;
    snprintf(text_out, CLI_TIME_BYTES, "%.3g %s", (double)ns / units[u].ns, units[u].unit);
    if (strchr(text_out, 'e') != NULL) /* 1000 and more */
        snprintf(text_out, CLI_TIME_BYTES, "%.0f %s", (double)ns / units[u].ns, units[u].unit);
    return text_out;
}

int cli_digits(int64_t number)
{
    int count = 1;
    while ((number /= 10) > 0)
        count++;
    return count;
}
