/* cli/utf8.h - recognise UTF-8 characters beyond ASCII. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

/** Length in bytes of the character beyond ASCII at `at`, in a text that ends with '\0'; 0 if it is not valid UTF-8:
 *  truncated, overlong, half of a surrogate pair or above U+10FFFF. Source: RFC 3629, section 4. */
int cli_utf8_bytes(const unsigned char *at);

/** Replace by question marks, in place, what could move a terminal's cursor, or hide or reorder other text: control
 *  characters, Unicode's controls of layout and direction, and bytes that are not UTF-8. Source: The Unicode Standard 15,
 *  23.2 and 23.3; ECMA-48, 5.3 (C1). */
void cli_utf8_clean(char *text);
/** Number of bytes of the first characters of a text that take at most `most` bytes. */
int cli_utf8_fit(const char *text, int most);

#endif
