/* cli/nearest.h - find the nearest word, for "did you mean". */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

/** Index of the word among `words` [count] with the smallest edit distance to `word`; 0 if `count` is 0. */
int cli_nearest(const char *word, int count, const char *const words[]);

#endif
