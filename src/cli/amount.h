/* cli/amount.h - format bytes and times for people. */
#ifndef CLI_AMOUNT_H
#define CLI_AMOUNT_H

#include <stdint.h>

enum { CLI_AMOUNT_BYTES = 24, CLI_TIME_BYTES = 24 };

/** "96 B", "1.5 KiB", "12 MiB": at most four digits before the unit. @return text_out */
const char *cli_amount(int64_t bytes, char text_out[CLI_AMOUNT_BYTES]);
/** "850 ns", "1.25 ms": three digits. @return text_out */
const char *cli_time(int64_t ns, char text_out[CLI_TIME_BYTES]);
/** Decimal digits of a number that is not negative. */
int cli_digits(int64_t number);

#endif
