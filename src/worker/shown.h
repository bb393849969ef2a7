/* worker/shown.h - what the nodes of one host show each other: memory of parts, read in place.
 *
 * Many parts may lie in one memfd. Its descriptor goes along with the first part that a peer is told of; the peer maps all of
 * it, once, and keeps the mapping until it is told that the memory was given back. */
#ifndef DCLI_WORKER_SHOWN_H
#define DCLI_WORKER_SHOWN_H

#include "worker/peer.h"

/** Tell peers from now on when memory that they know is given back. A process, with its device. */
void dcli_show_begin(dcli_worker *worker);
/** The opposite, before the device is closed. */
void dcli_show_end(dcli_worker *worker);
/** Show the others our part. */
dcl_status dcli_show_part(dcli_worker *worker, const dcli_held *held);

/** A peer of this host shows its part of a storage. */
dcl_status dcli_take_part(dcli_worker *worker, const dcli_received *received);
/** A peer has given memory back. */
dcl_status dcli_take_forget(dcli_worker *worker, int from, const dcli_msg_forget *forget);

#endif
