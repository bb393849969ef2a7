/* cli/utf8.h - which bytes of a text are characters. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

/** Bytes of the character beyond ASCII that `at`, of a text that ends with '\0', begins with; 0 when it is not UTF-8: cut
 *  short, longer than need be, half of a surrogate pair or above U+10FFFF. Source: RFC 3629, section 4. */
int cli_utf8_bytes(const unsigned char *at);

#endif
