/* cli/utf8.h - recognise UTF-8 characters beyond ASCII. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

/** Length in bytes of the character beyond ASCII at `at`, in a text that ends with '\0'; 0 if it is not valid UTF-8:
 *  truncated, overlong, half of a surrogate pair or above U+10FFFF. Source: RFC 3629, section 4. */
int cli_utf8_bytes(const unsigned char *at);

#endif
