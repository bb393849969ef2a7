/* remote/facts.c - answers: lists of facts, in as many messages as they need. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "remote/inside.h"

enum { FULL_BYTES = 400000, FULL_ITEMS = 16000, FACT_ITEMS = 6 };

void dcli_facts_begin(dcli_remote *remote, int64_t number)
{
    remote->facts.remote = remote;
    remote->facts.number = number;
    remote->facts.status = CL_SUCCESS;
    remote->facts.count = remote->facts.items = remote->facts.memory_count = 0;
    remote->facts.bytes = 0;
}

static dcl_status send_facts(dcli_facts *facts, cl_int status, bool more)
{
    dcli_remote *remote = facts->remote;
    dcli_message message = {
        .kind = DCLI_MSG_ANSWER,
        .epoch = remote->terms.session,
        .answer = {
            .number = facts->number, .status = status, .more = more, .fact_count = facts->count, .fact = facts->fact}};
    dcl_status sent = dcli_endpoint_send(remote->terms.endpoint, remote->terms.client, &message, NULL);
    for (int m = 0; m < facts->memory_count; m++)
        dcli_free(facts->memory[m]);
    facts->count = facts->items = facts->memory_count = 0;
    facts->bytes = 0;
    return sent;
}

static dcli_msg_fact *new_fact(dcli_facts *facts, int64_t key, size_t bytes, int items)
{
    if (facts->count > 0 &&
        (facts->count == DCLI_MOST_FACTS || facts->bytes + bytes > FULL_BYTES || facts->items + items > FULL_ITEMS))
        send_facts(facts, CL_SUCCESS, true); /* a connection that has ended is noticed by receiving */
    facts->bytes += bytes + 16;
    facts->items += FACT_ITEMS + items;
    dcli_msg_fact *fact = &facts->fact[facts->count++];
    *fact = (dcli_msg_fact){.key = key};
    return fact;
}

void dcli_fact_text(dcli_facts *facts, int64_t key, const char *text)
{
    size_t length = strnlen(text, DCLI_MOST_TEXT);
    char *copy = dcli_malloc(length + 1);
    if (copy == NULL) {
        facts->status = CL_OUT_OF_HOST_MEMORY;
        return;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    dcli_msg_fact *fact = new_fact(facts, key, length, 0);
    fact->text = facts->memory[facts->memory_count++] = copy;
}

void dcli_fact_bytes(dcli_facts *facts, int64_t key, const void *bytes, size_t length)
{
    size_t words = (length + 7) / 8;
    if (words > DCLI_MOST_FACT_WORDS)
        return;
    int64_t *word = dcli_calloc(words > 0 ? words : 1, sizeof *word);
    if (word == NULL) {
        facts->status = CL_OUT_OF_HOST_MEMORY;
        return;
    }
    if (length > 0)
        memcpy(word, bytes, length);
    dcli_msg_fact *fact = new_fact(facts, key, 9 * words, (int)words);
    fact->bytes = (int64_t)length;
    fact->word = facts->memory[facts->memory_count++] = word;
    fact->word_count = (int)words;
}

void dcli_fact_number(dcli_facts *facts, int64_t key, int64_t number)
{
    dcli_fact_bytes(facts, key, &number, sizeof number);
}

dcl_status dcli_facts_end(dcli_facts *facts, cl_int status)
{
    return send_facts(facts, status != CL_SUCCESS ? status : facts->status, false);
}

/* ---- questions ---- */

enum { MOST_PROPERTY = 8 * DCLI_MOST_FACT_WORDS };

/* @param bytes_out  [MOST_PROPERTY] @return whether the device has the property. */
static bool property_of(cl_device_id device, cl_device_info what, void *bytes_out, size_t *length_out)
{
    return clGetDeviceInfo(device, what, 0, NULL, length_out) == CL_SUCCESS && *length_out <= MOST_PROPERTY &&
           clGetDeviceInfo(device, what, *length_out, bytes_out, NULL) == CL_SUCCESS;
}

void dcli_facts_of_device(dcli_remote *remote, cl_device_id device, int64_t key, cl_device_id other)
{
    /* those of the specification, and of cl_nv_device_attribute_query */
    static const cl_device_info first[] = {0x1000, 0x4000}, last[] = {0x107f, 0x4006};
    char *bytes = dcli_malloc(2 * MOST_PROPERTY);
    if (bytes == NULL) {
        remote->facts.status = CL_OUT_OF_HOST_MEMORY;
        return;
    }
    for (int range = 0; range < 2; range++)
        for (cl_device_info what = first[range]; what <= last[range]; what++) {
            size_t length = 0, others = 0;
            if (what == CL_DEVICE_PLATFORM || what == CL_DEVICE_PARENT_DEVICE || what == CL_DEVICE_REFERENCE_COUNT)
                continue; /* of this process */
            if (property_of(device, what, bytes, &length) &&
                (other == NULL || !property_of(other, what, bytes + MOST_PROPERTY, &others) || others != length ||
                 memcmp(bytes, bytes + MOST_PROPERTY, length) != 0))
                dcli_fact_bytes(&remote->facts, key + what, bytes, length);
        }
    dcli_free(bytes);
}

/* Send all properties that the device has. The driver chooses which of them it shows. */
static dcl_status describe(dcli_remote *remote, int64_t number)
{
    dcli_facts_begin(remote, number);
    dcli_facts_of_device(remote, remote->device, 0, NULL);
    return dcli_facts_end(&remote->facts, CL_SUCCESS);
}

dcl_status dcli_remote_answer(dcli_remote *remote, const dcli_msg_query *query)
{
    return query->kind == DCLI_ASK_DEVICE   ? describe(remote, query->number)
           : query->kind == DCLI_ASK_BINARY ? dcli_program_binary(remote, query)
                                            : dcli_program_check(remote, query);
}
