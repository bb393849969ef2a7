/* resmap/map_text.h - the grammar of maps. Pure functions. */
#ifndef DCLI_RESMAP_MAP_TEXT_H
#define DCLI_RESMAP_MAP_TEXT_H

#include "resmap/layout.h"

/** Parse a rule for a cluster of `node_count` nodes; grammar at dcl_map_parse(). If the text lists no nodes, the map
 *  uses all of them. tile_bytes, block_bytes, small_bytes of the result are 0. @param rule_out  holds references to its
 *  tables: drop them with dcli_map_rule_release(). @return DCL_OK; DCL_ERR_NOMEM; DCL_ERR_INVALID, whose
 *  sentence has the column, the text there and the expected one. */
dcl_status dcli_map_rule_parse(const char *text, int node_count, dcli_map_rule *rule_out);
/** As dcli_map_rule_parse(), but if the text lists no nodes, the map uses those of `others`, a rule of which nothing
 *  else is used. */
dcl_status dcli_map_rule_parse_over(const char *text, int node_count, const dcli_map_rule *others,
                                    dcli_map_rule *rule_out);
/** Print a rule, as snprintf() does. dcli_map_rule_parse() parses the text to an equal rule. */
size_t dcli_map_rule_print(const dcli_map_rule *rule, char *text_out, size_t capacity);

#endif
