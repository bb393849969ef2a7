/* cli/nearest.h - "did you mean". */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

/** Number of the word among `words` [count] that takes the fewest changes of a letter to become `word`; 0 for none. */
int cli_nearest(const char *word, int count, const char *const words[]);

#endif
