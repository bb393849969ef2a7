/* net/table.h - how messages are described: the one table that packing, checking and documentation follow. */
#ifndef DCLI_NET_TABLE_H
#define DCLI_NET_TABLE_H

#include "net/message.h"

typedef enum dcli_field_kind {                    /* on the wire        in the struct */
                               DCLI_FIELD_INT,    /* integer            int */
                               DCLI_FIELD_INT64,  /* integer            int64_t */
                               DCLI_FIELD_BITS,   /* integer >= 0       uint64_t, any value */
                               DCLI_FIELD_BOOL,   /* boolean            bool */
                               DCLI_FIELD_STRING, /* string             const char * */
                               DCLI_FIELD_SENTENCE, /* string             const char *, cut when packed if it is too long */
                               DCLI_FIELD_INLINE,  /* array of integers  int64_t[most], the first `count` used */
                               DCLI_FIELD_NUMBERS, /* array of integers  int64_t *, to `count` of them */
                               DCLI_FIELD_RECORDS  /* array of arrays    struct *, to `count` of them */
} dcli_field_kind;

/** How many items an INLINE field has. */
typedef enum dcli_count_kind {
    DCLI_COUNT_OWN,  /* any up to `most`; the number is in a field of its own, which is not sent */
    DCLI_COUNT_SAME, /* as many as the field before, whose number it shares */
    DCLI_COUNT_FIXED /* always `most` */
} dcli_count_kind;

typedef struct dcli_record dcli_record;

/** A field of a message or of a struct in one. */
typedef struct dcli_field {
    const char *name;
    dcli_field_kind kind;
    uint16_t offset;
    dcli_count_kind count_kind;
    uint16_t count;           /* offset of the number of items, an int */
    uint16_t count_copy;      /* second place it is stored at when unpacked; 0: none */
    int most;                 /* bytes of a string, items of an array */
    int64_t minimum, maximum; /* of an integer, or of each in an array */
    const dcli_record *record;
    const char *about;
} dcli_field;

/** Fields from `required` on may be left out from the end: they are then 0, false, "" or empty. Packing leaves out all
 *  that are. */
struct dcli_record {
    const char *name;
    size_t bytes;
    int field_count, required;
    const dcli_field *field;
    bool payload; /* a second frame may follow */
    const char *about;
};

/** By kind; [0] is unused. Offsets are from the union of dcli_message. */
extern const dcli_record dcli_message_table[DCLI_MSG_KIND_COUNT];

/** Version, kind and epoch come before a message's fields. */
enum { DCLI_HEAD_ITEMS = 3 };

/** What was wrong with a field, and where: noted from the inside out while functions return false. */
typedef struct dcli_fault {
    char what[200]; /* "is 9; expected 0..8" */
    bool no_memory; /* that is all; the sentence is recorded already */
    int depth;
    struct {
        const char *name;
        int64_t index; /* -1: none */
    } trail[DCLI_MOST_DEPTH];
} dcli_fault;

/** @return false. */
bool dcli_fault_what(dcli_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
bool dcli_fault_range(dcli_fault *fault, int64_t value, const dcli_field *field) __attribute__((cold));
bool dcli_fault_where(dcli_fault *fault, const char *name, int64_t index) __attribute__((cold));
/** Record it: "operation[3].kind of a message OPERATIONS is 9; expected 1..8; remedy". @return status. */
dcl_status dcli_fault_record(const dcli_fault *fault, dcl_status status, const char *message, const char *remedy)
    __attribute__((cold));

#endif
