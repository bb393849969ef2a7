/* test/worker/catalog_test.c - bodies that are forgotten: every peer has those that its operations run, whatever it
 * hears twice and whoever is lost or joins. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "segment/random.h"
#include "worker/catalog.h"

enum { NODES = 4, FIRST_NODES = 3, TEXTS = 5, WORDS = 400, ROUNDS = 200, NOBODY = -1 };

/* What the host says to all: a body, or a FORALL. */
typedef struct word {
    int64_t kernel, operation; /* operation 0: this is the body */
    int text;
    int64_t forgotten[DCLI_MOST_FORGOTTEN];
    int forgotten_count;
} word;

/* A body that the host has not forgotten. */
typedef struct known {
    int64_t number, last_operation;
    int text;
} known;

typedef struct peer {
    dcli_catalog catalog;
    bool there;
    int heard;        /* words */
    int64_t complete; /* operations that have ended here */
} peer;

typedef struct scene {
    test_random random;
    dcli_plan_terms terms;
    dcli_process_data *process_data; /* as of threads of one process */
    dcli_node_ways ways[NODES + 1];
    word word[WORDS];
    int word_count;
    known known[WORDS];
    int known_count;
    int64_t kernels, operations;
    int text_of[WORDS + 1]; /* by number */
    peer peer[NODES];
} scene;

static int draw(scene *scene, int below) { return (int)test_between(&scene->random, 0, below - 1); }

static const char *text_number(int text)
{
    static char body[40];
    snprintf(body, sizeof body, "C(i) = A(15 - i) + %d;", text);
    return body;
}

static int64_t complete(const scene *scene)
{
    int64_t least = scene->operations;
    for (int p = 0; p < NODES; p++)
        if (scene->peer[p].there)
            least = dcli_min(least, scene->peer[p].complete);
    return least;
}

/* ---- a peer ------------------------------------------------------------------------------------------------------- */

static void hear_body(peer *peer, int64_t number, int text, int forgotten_count, int64_t forgotten[])
{
    dcli_msg_parameter parameters[] = {{.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_INT32, .rank = 1},
                                       {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_INT32, .rank = 1}};
    dcli_msg_kernel message = {.kernel = number,
                               .over = "",
                               .text = text_number(text),
                               .prelude = "",
                               .parameter_count = 2,
                               .parameter = parameters,
                               .forgotten_count = forgotten_count,
                               .forgotten = forgotten};
    dcli_kernel *kernel;
    dcli_kernels_forget(&peer->catalog.kernels, &message);
    if (dcli_kernels_find(&peer->catalog.kernels, number) == NULL)
        cr_assert_eq(dcli_kernels_add(&peer->catalog.kernels, &message, &kernel), DCL_OK, "%s", dcl_error());
}

static void hear_operation(peer *peer, int64_t number, int64_t kernel)
{
    dcli_msg_operand operands[] = {{.storage = 0}, {.storage = 1}};
    dcli_msg_operation descriptor = {
        .number = number, .kind = DCLI_OP_FORALL, .kernel = kernel, .operand_count = 2, .operand = operands};
    dcli_entry *entry;
    if (number <= peer->catalog.entries.last_operation)
        return; /* said again */
    cr_assert_eq(dcli_catalog_add(&peer->catalog, &descriptor, &entry), DCL_OK, "%s", dcl_error());
    cr_assert_not_null(dcli_catalog_plan(&peer->catalog, entry, peer->catalog.self), "%s", dcl_error());
}

static void hear_next(scene *scene, peer *peer)
{
    if (peer->heard == scene->word_count)
        return;
    word *word = &scene->word[peer->heard++];
    if (word->operation == 0)
        hear_body(peer, word->kernel, word->text, word->forgotten_count, word->forgotten);
    else
        hear_operation(peer, word->operation, word->kernel);
}

static void end_first(scene *scene, peer *peer)
{
    dcli_entry *entry = peer->catalog.entries.first;
    if (entry == NULL)
        return;
    const char *wanted = text_number(scene->text_of[entry->kernel->number]);
    cr_assert_str_eq(entry->operation.body->text, wanted, "operation %" PRId64, entry->operation.number);
    cr_assert_eq(dcli_entry_plan(entry, peer->catalog.self)->shared->body, entry->operation.body);
    peer->complete = entry->operation.number;
    dcli_catalog_retire(&peer->catalog, entry);
}

static void begin(scene *scene, int p)
{
    peer *peer = &scene->peer[p];
    dcli_catalog_init(&peer->catalog, p, &scene->terms, scene->process_data, 1 << 20);
    peer->there = true;
    for (int storage = 0; storage < 2; storage++) {
        dcli_msg_operand operand = {.storage = storage};
        dcli_msg_operation made = {.kind = DCLI_OP_CREATE,
                                   .operand_count = 1,
                                   .operand = &operand,
                                   .type = DCL_INT32,
                                   .rank = 1,
                                   .extent = {16},
                                   .map = "block",
                                   .map_nodes = FIRST_NODES,
                                   .tile_bytes = 1 << 20,
                                   .block_bytes = 1 << 20};
        cr_assert_eq(dcli_catalog_know(&peer->catalog, &made), DCL_OK, "%s", dcl_error());
    }
}

/* ---- the host ----------------------------------------------------------------------------------------------------- */

/* A new body. Some that run no more are forgotten. */
static void say_body(scene *scene)
{
    word *word = &scene->word[scene->word_count++];
    *word = (struct word){.kernel = ++scene->kernels, .text = draw(scene, TEXTS)};
    for (int k = scene->known_count - 1; k >= 0; k--)
        if (scene->known[k].last_operation <= complete(scene) && draw(scene, 2) == 0) {
            word->forgotten[word->forgotten_count++] = scene->known[k].number;
            scene->known[k] = scene->known[--scene->known_count];
        }
    scene->known[scene->known_count++] = (known){.number = word->kernel, .text = word->text};
    scene->text_of[word->kernel] = word->text;
}

static void say_operation(scene *scene)
{
    if (scene->known_count == 0)
        return;
    known *run = &scene->known[draw(scene, scene->known_count)];
    run->last_operation = ++scene->operations;
    scene->word[scene->word_count++] = (word){.kernel = run->number, .operation = scene->operations};
}

/* Nodes below the lost one get all messages again that may not be complete. */
static void lose(scene *scene, int p)
{
    int again = 0;
    scene->peer[p].there = false;
    for (int w = 0; w < scene->word_count; w++)
        if (scene->word[w].operation > 0 && scene->word[w].operation <= complete(scene))
            again = w + 1;
    again = draw(scene, again + 1); /* or more */
    for (int q = 0; q < NODES; q++)
        scene->peer[q].heard = (int)dcli_min(scene->peer[q].heard, again);
}

static void join(scene *scene, int p)
{
    for (int q = 0; q < NODES; q++)
        while (scene->peer[q].there && scene->peer[q].complete < scene->operations) {
            hear_next(scene, &scene->peer[q]);
            end_first(scene, &scene->peer[q]);
        }
    begin(scene, p);
    peer *peer = &scene->peer[p];
    peer->heard = scene->word_count;
    peer->complete = peer->catalog.entries.last_operation = scene->operations;
    for (int k = scene->known_count - 1; k >= 0; k--)
        hear_body(peer, scene->known[k].number, scene->known[k].text, 0, NULL);
}

/* All has been heard and has ended: the bodies that the host knows, and no others. */
static void expect_known(scene *scene, peer *peer)
{
    int count = 0;
    while (peer->heard < scene->word_count)
        hear_next(scene, peer);
    while (peer->catalog.entries.first != NULL)
        end_first(scene, peer);
    for (int b = 0; b < 256; b++)
        for (const dcli_kernel *kernel = peer->catalog.kernels.kernel[b]; kernel != NULL; kernel = kernel->next)
            count++;
    for (int k = 0; k < scene->known_count; k++)
        cr_assert_not_null(dcli_kernels_find(&peer->catalog.kernels, scene->known[k].number));
    cr_assert_eq(count, scene->known_count, "node %d has %d bodies; expected %d", peer->catalog.self, count,
                 scene->known_count);
}

static void run_round(uint64_t seed)
{
    static scene scene; /* too large for a thread's stack */
    scene = (struct scene){.random = seed};
    scene.terms = (dcli_plan_terms){.node_count = NODES, .ways = scene.ways};
    scene.terms.batch_bytes = scene.terms.chunk_bytes = scene.terms.pool_bytes = 1 << 20;
    scene.process_data = dcli_process_data_open(NODES);
    cr_assert_not_null(scene.process_data);
    for (int p = 0; p < FIRST_NODES; p++)
        begin(&scene, p);
    int loss = draw(&scene, WORDS), joined = draw(&scene, WORDS);
    while (scene.word_count < WORDS) {
        if (loss >= 0 && scene.word_count >= loss) {
            lose(&scene, draw(&scene, FIRST_NODES));
            loss = NOBODY;
        }
        if (joined >= 0 && scene.word_count >= joined) {
            join(&scene, NODES - 1);
            joined = NOBODY;
        }
        if (draw(&scene, 4) == 0)
            say_body(&scene);
        else
            say_operation(&scene);
        for (int n = 0; n < 8; n++) {
            peer *peer = &scene.peer[draw(&scene, NODES)];
            if (peer->there && draw(&scene, 2) == 0)
                hear_next(&scene, peer);
            else if (peer->there)
                end_first(&scene, peer);
        }
    }
    for (int p = 0; p < NODES; p++) {
        if (scene.peer[p].there)
            expect_known(&scene, &scene.peer[p]);
        dcli_catalog_free(&scene.peer[p].catalog);
    }
    dcli_process_data_close(scene.process_data);
}

Test(catalog, forgets_what_is_not_used_through_losses_and_joins)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        run_round(seed);
}

/* Peer 0 of a scene, which knows body 1 and has operation 1 open. */
static dcli_catalog *begin_alone(scene *scene)
{
    *scene = (struct scene){.random = 1};
    scene->terms = (dcli_plan_terms){.node_count = NODES, .ways = scene->ways};
    scene->terms.batch_bytes = scene->terms.chunk_bytes = scene->terms.pool_bytes = 1 << 20;
    scene->process_data = dcli_process_data_open(NODES);
    cr_assert_not_null(scene->process_data);
    begin(scene, 0);
    hear_body(&scene->peer[0], 1, 1, 0, NULL);
    hear_operation(&scene->peer[0], 1, 1);
    return &scene->peer[0].catalog;
}

static void end_alone(scene *scene)
{
    dcli_catalog_free(&scene->peer[0].catalog);
    dcli_process_data_close(scene->process_data);
}

Test(catalog, repeats_what_is_open)
{
    static scene scene;
    dcli_catalog *catalog = begin_alone(&scene);
    const dcli_entry *like = catalog->entries.first;
    dcli_entry *entry;
    int64_t uses = dcli_entry_plan(like, 0)->uses, runs = like->kernel->uses;
    cr_assert_eq(dcli_catalog_repeat(catalog, like, 2, &entry), DCL_OK, "%s", dcl_error());
    cr_expect_eq(entry->operation.number, 2);
    cr_expect_eq(catalog->entries.last, entry);
    cr_expect_eq(entry->kernel, like->kernel);
    cr_expect_eq(like->kernel->uses, runs + 1);
    cr_expect_eq(dcli_entry_plan(entry, 0), dcli_entry_plan(like, 0));
    cr_expect_eq(dcli_entry_plan(like, 0)->uses, uses + 1);
    for (int k = 0; k < 2; k++) {
        cr_expect_eq(entry->held[k], like->held[k]);
        cr_expect_eq(entry->operation.operand[k].writes, k == 0);
    }
    cr_expect(dcli_box_equal(&entry->operation.box, &like->operation.box));
    dcli_catalog_retire(catalog, catalog->entries.first);
    cr_expect_eq(dcli_entry_plan(entry, 0)->uses, uses, "the plan is held by the second one");
    end_alone(&scene);
}

Test(catalog, repeats_nothing_that_was_released_or_forgotten_or_has_replicas)
{
    static scene scene;
    dcli_catalog *catalog = begin_alone(&scene);
    dcli_entry *like = catalog->entries.first, *entry;
    like->held[1]->released = true;
    cr_expect_eq(dcli_catalog_repeat(catalog, like, 2, &entry), DCL_ERR_INVALID, "a storage was released");
    like->held[1]->released = false;
    like->operation.operand[1].generation = 1;
    cr_expect_eq(dcli_catalog_repeat(catalog, like, 2, &entry), DCL_ERR_INVALID, "replicas may have changed");
    like->operation.operand[1].generation = 0;
    hear_body(&scene.peer[0], 2, 2, 1, (int64_t[]){1});
    cr_expect_eq(dcli_catalog_repeat(catalog, like, 2, &entry), DCL_ERR_INVALID, "its body was forgotten");
    cr_expect_eq(catalog->entries.last, like);
    end_alone(&scene);
}

/* An operation of a body that was forgotten is none that a program can make, also while earlier ones still run it. */
Test(catalog, refuses_what_was_forgotten)
{
    static scene scene;
    dcli_catalog *catalog = begin_alone(&scene);
    hear_body(&scene.peer[0], 2, 2, 1, (int64_t[]){1});
    dcli_msg_operand operands[] = {{.storage = 0}, {.storage = 1}};
    dcli_msg_operation descriptor = {
        .number = 2, .kind = DCLI_OP_FORALL, .kernel = 1, .operand_count = 2, .operand = operands};
    dcli_entry *entry;
    cr_assert_not_null(dcli_kernels_find(&catalog->kernels, 1));
    cr_expect_eq(dcli_catalog_add(catalog, &descriptor, &entry), DCL_ERR_PROTOCOL);
    dcli_catalog_retire(catalog, catalog->entries.first);
    cr_expect_null(dcli_kernels_find(&catalog->kernels, 1));
    cr_expect_eq(catalog->plans.count, 0);
    cr_expect_eq(dcli_catalog_add(catalog, &descriptor, &entry), DCL_ERR_PROTOCOL);
    end_alone(&scene);
}
