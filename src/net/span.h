/* net/span.h - the bytes of a transfer between a driver and a server: how a box of a buffer is cut into chunks.
 *
 * A transfer carries `slices` slices of `rows` rows of `row_bytes` bytes, without gaps. Its chunks follow from these numbers
 * and from the largest size of a chunk, so both sides know them: a chunk is a part of one row, some whole rows of one
 * slice, or some whole slices. */
#ifndef DCLI_NET_SPAN_H
#define DCLI_NET_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"

/** A box of a buffer, in bytes and rows. A run of bytes has one slice of one row. */
typedef struct dcli_span {
    int64_t offset; /* of its first byte in the buffer */
    int64_t row_bytes, rows, slices;
    int64_t row_pitch, slice_pitch; /* bytes from a row, and from a slice, to the next one in the buffer */
} dcli_span;
enum { DCLI_SPAN_NUMBERS = 6 };

/** How a transfer between driver and server is to be done. DCLI_IN_PLACE: the driver can copy in the memory of the buffer. DCLI_STORED:
 *  it is held as a whole between the network and the device, for comparison. DCLI_IN_FINE_CHUNKS: see dcli_span_fine(). */
enum { DCLI_IN_CHUNKS, DCLI_IN_PLACE, DCLI_STORED, DCLI_IN_FINE_CHUNKS };

/* A transfer in fine chunks has eight of them at least, unless they would have fewer bytes than this. */
enum { DCLI_LEAST_CHUNK = 256 << 10, DCLI_LEAST_CHUNKS = 8 };

/* Most bytes that a driver sends before they are granted: of one write, and of all writes of a session that have not begun. */
enum { DCLI_EAGER_TRANSFER = 4 << 20, DCLI_EAGER_SESSION = 32 << 20 };

/* Transfers of more bytes, which is more than a chunk, may be copied by a driver of the same host: the server sends the memory of the buffer as the payload of one
 * DATA, for writes, too, and the driver answers with TAKEN when it has copied. */
enum { DCLI_PLACED_BYTES = 1 << 20 };

/* Bytes of all texts and binaries of which a server has made no program yet. */
enum { DCLI_MOST_CL_TEXT = 256 << 20 };

/* The number of the transfer of what kernels print, to the standard output of the program, and how many bytes of it a
 * server may send before the driver says that it has taken some. */
#define DCLI_OUTPUT_TRANSFER INT64_MAX
enum { DCLI_OUTPUT_AHEAD = 1 << 20 };

/** Read a span from the numbers of a message. @return false: it is empty, or not within `bytes` of a buffer. */
static inline bool dcli_span_read(const int64_t number[DCLI_SPAN_NUMBERS], int64_t bytes, dcli_span *span_out)
{
    dcli_span span = {number[0], number[1], number[2], number[3], number[4], number[5]};
    int64_t rows_end, slices_end, end;
    if (span.offset < 0 || span.row_bytes < 1 || span.rows < 1 || span.slices < 1 || span.row_pitch < 0 ||
        span.slice_pitch < 0 || (span.rows > 1 && span.row_pitch < span.row_bytes) ||
        !dcli_mul(span.rows - 1, span.row_pitch, &rows_end) ||
        !dcli_mul(span.slices - 1, span.slice_pitch, &slices_end) || !dcli_add(rows_end, span.row_bytes, &rows_end) ||
        (span.slices > 1 && span.slice_pitch < rows_end) || !dcli_add(rows_end, slices_end, &end) ||
        !dcli_add(end, span.offset, &end) || end > bytes)
        return false;
    *span_out = span;
    return true;
}

/** Bytes of the whole transfer. */
static inline int64_t dcli_span_bytes(const dcli_span *span) { return span->row_bytes * span->rows * span->slices; }

/** Most bytes of a fine chunk, if other chunks of the session have at most `most`. While the first chunk of a transfer is encrypted, sent and
 *  received, the stages after these have nothing to do, and so have the stages before the last ones at the end. Small
 *  chunks shorten that. They cost more, so they are for transfers that no others overlap. */
static inline int64_t dcli_span_fine(const dcli_span *span, int64_t most)
{
    const int64_t page = 4096, part = dcli_span_bytes(span) / DCLI_LEAST_CHUNKS;
    return dcli_min(most, dcli_max(DCLI_LEAST_CHUNK, (part + page - 1) / page * page));
}

/** Length of the chunk that begins at `offset` of the transfer, for chunks of at most `most` bytes. */
static inline int64_t dcli_span_chunk(const dcli_span *span, int64_t offset, int64_t most)
{
    int64_t slice_bytes = span->row_bytes * span->rows, in_row = offset % span->row_bytes,
            in_slice = offset % slice_bytes;
    if (in_row != 0 || span->row_bytes >= most)
        return dcli_min(most, span->row_bytes - in_row);
    if (in_slice != 0 || slice_bytes >= most)
        return dcli_min(most / span->row_bytes * span->row_bytes, slice_bytes - in_slice);
    return dcli_min(most / slice_bytes * slice_bytes, slice_bytes * span->slices - offset);
}

/** Where a chunk lies: a box of the buffer with the pitches of the span. */
typedef struct dcli_span_box {
    int64_t offset; /* of its first byte in the buffer */
    int64_t row_bytes, rows, slices;
} dcli_span_box;

static inline dcli_span_box dcli_span_box_of(const dcli_span *span, int64_t offset, int64_t length)
{
    int64_t slice_bytes = span->row_bytes * span->rows, slice = offset / slice_bytes, in_slice = offset % slice_bytes,
            row = in_slice / span->row_bytes, in_row = in_slice % span->row_bytes;
    dcli_span_box box = {.offset = span->offset + slice * span->slice_pitch + row * span->row_pitch + in_row,
                         .row_bytes = length,
                         .rows = 1,
                         .slices = 1};
    if (length >= slice_bytes && in_slice == 0) {
        box.row_bytes = span->row_bytes;
        box.rows = span->rows;
        box.slices = length / slice_bytes;
    } else if (length >= span->row_bytes && in_row == 0) {
        box.row_bytes = span->row_bytes;
        box.rows = length / span->row_bytes;
    }
    return box;
}

#endif
