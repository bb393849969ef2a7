/* fleet/addresses.h - the list of worker addresses that a program is given (DCL_WORKERS). */
#ifndef DCLI_FLEET_ADDRESSES_H
#define DCLI_FLEET_ADDRESSES_H

#include "net/keys.h"
#include "net/message.h"

enum { DCLI_MOST_CALLS = 64 };

typedef struct dcli_worker_address {
    char text[DCLI_MOST_ADDRESS + 1]; /* the address as tcp://host:port */
    char key[DCLI_KEY_HEX];           /* public key of the worker; "": look it up in the key folder */
} dcli_worker_address;

/** Parse addresses separated by commas, or the name of a file with one address per line, optionally followed by `key=`
 *  and 64 hexadecimal digits; '#' begins a comment.
 *  @param list_out  [DCLI_MOST_CALLS].
 *  @return number of addresses, at least 1; or -1: DCL_ERR_INVALID or DCL_ERR_FILE (with the line). */
int dcli_addresses_read(const char *workers, dcli_worker_address list_out[]);

#endif
