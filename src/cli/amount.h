/* cli/amount.h - format numbers of bytes for people. */
#ifndef CLI_AMOUNT_H
#define CLI_AMOUNT_H

#include <stdint.h>

enum { CLI_AMOUNT_BYTES = 24 };

/** "96 B", "1.5 KiB", "12 MiB": at most four digits before the unit. @return text_out */
const char *cli_amount(int64_t bytes, char text_out[CLI_AMOUNT_BYTES]);
/** Decimal digits of a number that is not negative. */
int cli_digits(int64_t number);

#endif
