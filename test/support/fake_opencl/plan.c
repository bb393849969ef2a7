/* support/fake_opencl/plan.c - parse the plan, count calls. */
#include "support/fake_opencl/plan.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int fake_opencl_calls(const char *function);
EXPORT const char *fake_opencl_function(int number);
EXPORT int fake_opencl_waits(void);

enum { MOST_RULES = 16, MOST_TAKES = 8, RULE_BYTES = 128, CLAIM_BYTES = 256 };

struct rule {
    fake_action action;
    fake_name name;
    int first;
    bool and_after; /* also the calls after it */
    int code;
};

#define X(name) #name
static const char *const names[FAKE_NAMES] = {FAKE_FUNCTIONS(X), "kernel", FAKE_PEER_FUNCTIONS(X),
                                              "clEnqueueAcquireExternalMemObjectsKHR"};
#undef X

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned serial; /* of the plan */
    struct rule rules[MOST_RULES];
    int rule_count;
    bool no_devices, no_platforms, no_registering, apart, gpu, peers, discrete;
    long apart_device; /* -1: all */
    int slow_ms, waits;
    struct {
        char name[64];
        int us, rate; /* one of them is 0 */
    } takes[MOST_TAKES];
    int take_count;
    char one[64];          /* word of programs that are all the same one; "": none */
    char text[RULE_BYTES]; /* the line with which programs begin; "": none */
    char claims[CLAIM_BYTES];
    int calls[FAKE_NAMES];
} plan = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int find_name(const char *name)
{
    for (int n = 0; n < FAKE_NAMES; n++)
        if (strcmp(names[n], name) == 0)
            return n;
    return -1;
}

static bool can_fail_later(int name)
{
    return name == FAKE_clEnqueueNDRangeKernel || name == FAKE_clEnqueueFillBuffer ||
           name == FAKE_clEnqueueCopyBuffer || name == FAKE_clEnqueueMarkerWithWaitList ||
           name == FAKE_clEnqueueReadBuffer || name == FAKE_clEnqueueWriteBuffer ||
           name == FAKE_clEnqueueReadBufferRect || name == FAKE_clEnqueueWriteBufferRect;
}

/* Parse which calls of a function a rule is for: "3" or "3+". @return false: it is neither. */
static bool read_number(const char *word, struct rule *rule)
{
    char *end;
    rule->first = (int)strtol(word, &end, 10);
    rule->and_after = *end == '+';
    return rule->first >= 1 && end != word && end[rule->and_after] == '\0';
}

static bool read_rule(const char *text, struct rule *rule)
{
    char action[16], name[64], number[16], more;
    int words = sscanf(text, "%15s %63s %15s %d %c", action, name, number, &rule->code, &more);
    int found = words >= 2 ? find_name(name) : -1;
    if (words < 3 || found < 0 || !read_number(number, rule))
        return false;
    rule->name = (fake_name)found;
    if (strcmp(action, "hang") == 0)
        rule->action = FAKE_HANG;
    else if (strcmp(action, "fail") == 0)
        rule->action = FAKE_FAIL;
    else if (strcmp(action, "late") == 0)
        rule->action = FAKE_LATE;
    else
        rule->action = FAKE_EVENT;
    if (rule->action == FAKE_HANG)
        return words == 3;
    if (rule->action == FAKE_LATE)
        return words == 4 && rule->code > 0 && can_fail_later(found);
    if (rule->action == FAKE_EVENT && (strcmp(action, "event") != 0 || !can_fail_later(found)))
        return false;
    return words == 4 && rule->code < 0 && found != FAKE_kernel;
}

/* Parse "takes NAME MS" or "rate NAME RATE", and add it to the plan. @return false: it is something else. */
static bool read_takes(const char *text)
{
    char name[64], more;
    int ms = 0, rate = 0;
    if (plan.take_count == MOST_TAKES || (sscanf(text, " takes %63s %d %c", name, &ms, &more) != 2 &&
                                          sscanf(text, " rate %63s %d %c", name, &rate, &more) != 2))
        return false;
    if (ms + rate < 1 || ms > INT_MAX / 1000)
        return false;
    snprintf(plan.takes[plan.take_count].name, sizeof plan.takes[0].name, "%s", name);
    plan.takes[plan.take_count].us = ms * 1000;
    plan.takes[plan.take_count++].rate = rate;
    return true;
}

static void add_rule(const char *text)
{
    char first[16] = "", second[64] = "", more, *end;
    int words = sscanf(text, "%15s %63s %c", first, second, &more);
    size_t claimed = strlen(plan.claims);
    if (words <= 0)
        return; /* an empty one */
    bool none = words == 2 && strcmp(first, "no") == 0;
    if (none && strcmp(second, "devices") == 0) {
        plan.no_devices = true;
    } else if (none && strcmp(second, "platforms") == 0) {
        plan.no_platforms = true;
    } else if (none && strcmp(second, "registering") == 0) {
        plan.no_registering = true;
    } else if (words == 1 && strcmp(first, "apart") == 0) {
        plan.apart = true;
        plan.apart_device = -1;
    } else if (words == 1 && strcmp(first, "gpu") == 0) {
        plan.gpu = true;
    } else if (words == 1 && strcmp(first, "discrete") == 0) {
        plan.discrete = true;
    } else if (words == 2 && strcmp(first, "apart") == 0 && (plan.apart_device = strtol(second, &end, 10)) >= 0 &&
               *end == '\0') {
        plan.apart = true;
    } else if (words == 1 && strcmp(first, "peers") == 0) {
        plan.peers = true;
    } else if (words == 2 && strcmp(first, "slow") == 0 && (plan.slow_ms = (int)strtol(second, &end, 10)) > 0 &&
               *end == '\0') {
        /* taken */
    } else if (read_takes(text)) {
        /* noted */
    } else if (words == 3 && strcmp(first, "text") == 0) {
        snprintf(plan.text, sizeof plan.text, "%s", strstr(text, "text ") + strlen("text "));
    } else if (words == 2 && strcmp(first, "one") == 0) {
        snprintf(plan.one, sizeof plan.one, "%s", second);
    } else if (words == 2 && strcmp(first, "claim") == 0 && claimed + strlen(second) + 2 < CLAIM_BYTES) {
        snprintf(plan.claims + claimed, CLAIM_BYTES - claimed, " %s", second);
    } else if (plan.rule_count < MOST_RULES && read_rule(text, &plan.rules[plan.rule_count])) {
        plan.rule_count++;
    } else {
        fprintf(stderr,
                "fake OpenCL: \"%s\" is no rule, or one too many; expected such as \"fail clCreateBuffer 3 -5\"\n",
                text);
        abort();
    }
}

void fake_plan_set(const char *text)
{
    pthread_mutex_lock(&plan.lock);
    plan.serial++;
    plan.rule_count = 0;
    plan.no_devices = plan.no_platforms = plan.no_registering = plan.apart = plan.gpu = plan.peers = false;
    plan.discrete = false;
    plan.slow_ms = plan.waits = plan.take_count = 0;
    plan.one[0] = '\0';
    plan.text[0] = '\0';
    plan.claims[0] = '\0';
    memset(plan.calls, 0, sizeof plan.calls);
    while (text != NULL && *text != '\0') {
        char rule[RULE_BYTES];
        size_t length = strcspn(text, ";");
        snprintf(rule, sizeof rule, "%.*s", (int)length, text);
        add_rule(rule);
        text += length + (text[length] == ';');
    }
    pthread_cond_broadcast(&plan.changed);
    pthread_mutex_unlock(&plan.lock);
}

fake_action fake_plan_meet(fake_name name, int *code_out)
{
    fake_action action = FAKE_PASS;
    pthread_mutex_lock(&plan.lock);
    int call = ++plan.calls[name];
    for (int n = 0; n < plan.rule_count; n++) {
        const struct rule *rule = &plan.rules[n];
        if (rule->name == name && (call == rule->first || (rule->and_after && call > rule->first))) {
            action = rule->action;
            *code_out = rule->code;
        }
    }
    pthread_mutex_unlock(&plan.lock);
    return action;
}

void fake_plan_hang(void)
{
    pthread_mutex_lock(&plan.lock);
    for (unsigned serial = plan.serial; serial == plan.serial;)
        pthread_cond_wait(&plan.changed, &plan.lock);
    pthread_mutex_unlock(&plan.lock);
}

static _Thread_local bool enqueues;

void fake_plan_enqueues(void) { enqueues = true; }

void fake_plan_wait(void)
{
    pthread_mutex_lock(&plan.lock);
    int ms = plan.slow_ms;
    plan.waits += enqueues;
    pthread_mutex_unlock(&plan.lock);
    if (ms > 0)
        nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

int fake_opencl_waits(void)
{
    pthread_mutex_lock(&plan.lock);
    int waits = plan.waits;
    pthread_mutex_unlock(&plan.lock);
    return waits;
}

int fake_plan_takes(const char *name, size_t amount)
{
    double us = 0;
    pthread_mutex_lock(&plan.lock);
    for (int n = 0; n < plan.take_count; n++)
        if (strncmp(plan.takes[n].name, name, strlen(plan.takes[n].name)) == 0)
            us = plan.takes[n].rate > 0 ? (double)amount / plan.takes[n].rate : plan.takes[n].us;
    pthread_mutex_unlock(&plan.lock);
    return us < INT_MAX ? (int)us : INT_MAX;
}

bool fake_plan_some_take(void)
{
    pthread_mutex_lock(&plan.lock);
    bool some = plan.take_count > 0;
    pthread_mutex_unlock(&plan.lock);
    return some;
}

static bool read_flag(const bool *flag)
{
    pthread_mutex_lock(&plan.lock);
    bool value = *flag;
    pthread_mutex_unlock(&plan.lock);
    return value;
}

bool fake_plan_no_devices(void) { return read_flag(&plan.no_devices); }

bool fake_plan_no_registering(void) { return read_flag(&plan.no_registering); }

bool fake_plan_some_apart(void) { return read_flag(&plan.apart); }

bool fake_plan_apart(int number)
{
    pthread_mutex_lock(&plan.lock);
    bool apart = plan.apart && (plan.apart_device < 0 || plan.apart_device == number);
    pthread_mutex_unlock(&plan.lock);
    return apart;
}

bool fake_plan_gpu(void) { return read_flag(&plan.gpu); }
bool fake_plan_discrete(void) { return read_flag(&plan.discrete); }

bool fake_plan_peers(void) { return read_flag(&plan.peers); }

bool fake_plan_no_platforms(void) { return read_flag(&plan.no_platforms); }

bool fake_plan_is_one(const char *text)
{
    pthread_mutex_lock(&plan.lock);
    bool is = plan.one[0] != '\0' && strstr(text, plan.one) != NULL;
    pthread_mutex_unlock(&plan.lock);
    return is;
}

void fake_plan_text(char *text_out, size_t bytes)
{
    pthread_mutex_lock(&plan.lock);
    snprintf(text_out, bytes, "%s", plan.text);
    pthread_mutex_unlock(&plan.lock);
}

void fake_plan_claims(char *text_out, size_t bytes)
{
    pthread_mutex_lock(&plan.lock);
    snprintf(text_out, bytes, "%s", plan.claims);
    pthread_mutex_unlock(&plan.lock);
}

int fake_opencl_calls(const char *function)
{
    int name = find_name(function);
    pthread_mutex_lock(&plan.lock);
    int calls = name < 0 ? -1 : plan.calls[name];
    pthread_mutex_unlock(&plan.lock);
    return calls;
}

const char *fake_opencl_function(int number) { return number >= 0 && number < FAKE_kernel ? names[number] : NULL; }
