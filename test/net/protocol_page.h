/* test/net/protocol_page.h - docs/protocol.md, as the table of messages gives it. */
#ifndef TEST_NET_PROTOCOL_PAGE_H
#define TEST_NET_PROTOCOL_PAGE_H

/** The text of docs/protocol.md. Freed with dcli_free(). */
char *protocol_page(void);

#endif
