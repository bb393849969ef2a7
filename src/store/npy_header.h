/* store/npy_header.h - the text at the start of a .npy file. */
#ifndef DCLI_STORE_NPY_HEADER_H
#define DCLI_STORE_NPY_HEADER_H

#include <dcl/array.h>

#include "base/text.h"

/** Append magic, version, length and dictionary, padded so that the data begins at a multiple of 64 bytes.
 *  info->data_start is ignored; it equals the length of the text. */
void dcli_npy_print_header(const dcl_npy_info *info, dcli_text *text);

/** Parse the dictionary of a header.
 *  @param path  for messages.
 *  @param info_out  all fields but data_start.
 *  @return DCL_OK or DCL_ERR_FILE. */
dcl_status dcli_npy_parse_header(const char *path, const char *header, size_t length, dcl_npy_info *info_out);

#endif
