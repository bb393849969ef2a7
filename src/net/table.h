/* net/table.h - the description of messages: packing, checking and documentation all follow the one table. */
#ifndef DCLI_NET_TABLE_H
#define DCLI_NET_TABLE_H

#include "net/message.h"

/** The type of a field: in the struct, and on the wire. */
typedef enum dcli_field_kind {
    DCLI_FIELD_INT,      /* int; on the wire an integer */
    DCLI_FIELD_INT64,    /* int64_t; on the wire an integer */
    DCLI_FIELD_BITS,     /* uint64_t, any value; on the wire an integer >= 0 */
    DCLI_FIELD_BOOL,     /* bool; on the wire a boolean */
    DCLI_FIELD_STRING,   /* const char *; on the wire a string */
    DCLI_FIELD_SENTENCE, /* const char *, cut when packed if it is too long; on the wire a string */
    DCLI_FIELD_INLINE,   /* int64_t[most], the first `count` used; on the wire an array of integers */
    DCLI_FIELD_NUMBERS,  /* int64_t *, to `count` of them; on the wire an array of integers */
    DCLI_FIELD_RECORDS   /* a pointer to `count` structs; on the wire an array of arrays */
} dcli_field_kind;

/** How the length of an INLINE field is determined. */
typedef enum dcli_count_kind {
    DCLI_COUNT_OWN,  /* any length up to `most`; it is stored in a field of its own, which is not sent */
    DCLI_COUNT_SAME, /* the same length as the field before, whose count it shares */
    DCLI_COUNT_FIXED /* always `most` items */
} dcli_count_kind;

typedef struct dcli_record dcli_record;

/** A field of a message, or of a struct inside a message. */
typedef struct dcli_field {
    const char *name;
    dcli_field_kind kind;
    uint16_t offset;
    dcli_count_kind count_kind;
    uint16_t count;           /* offset of the number of items, an int */
    uint16_t count_copy;      /* offset of a second place for that number when unpacked; 0: none */
    int most;                 /* most bytes of a string, or items of an array */
    int64_t minimum, maximum; /* range of an integer, or of each integer in an array */
    const dcli_record *record;
    const char *about;
} dcli_field;

/** A message or a struct inside one. Fields from `required` on are optional: packing omits them from the end if they
 *  are 0, false, "" or empty. */
struct dcli_record {
    const char *name;
    size_t bytes;
    int field_count, required;
    const dcli_field *field;
    bool payload; /* a second frame may follow */
    const char *about;
};

/** The table of messages by kind; [0] is unused. Offsets are from the union of dcli_message. */
extern const dcli_record dcli_message_table[DCLI_MSG_KIND_COUNT];

/** Version, kind and epoch, which precede a message's fields. */
enum { DCLI_HEAD_ITEMS = 3 };

/** Description of an invalid field: recorded from the inside out while functions return false. */
typedef struct dcli_fault {
    char what[200]; /* "is 9; expected 0..8" */
    bool no_memory; /* the failure is a lack of memory, already recorded */
    int depth;
    struct {
        const char *name;
        int64_t index; /* index in an array; -1: the field is not in one */
    } trail[DCLI_MOST_DEPTH];
} dcli_fault;

/** Record in words what is wrong with a field. @return false. */
bool dcli_fault_what(dcli_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/** Record that the value of a field is out of its range. @return false. */
bool dcli_fault_range(dcli_fault *fault, int64_t value, const dcli_field *field) __attribute__((cold));
/** Add the name of the field that contains the fault, with its index in an array (-1: it is not in one); from the inside
 *  out. @return false. */
bool dcli_fault_where(dcli_fault *fault, const char *name, int64_t index) __attribute__((cold));
/** Record the error: "operation[3].kind of a message OPERATIONS is 9; expected 1..8; remedy". @return status. */
dcl_status dcli_fault_record(const dcli_fault *fault, dcl_status status, const char *message, const char *remedy)
    __attribute__((cold));

#endif
