/* movement.pml - how data moves between nodes: the protocol of src/workqueue, for spin.
 *
 * N nodes and the program's host, one more peer under the same rules, run a program of K operations (programs.pml).
 * A storage has one part per node, a part has CELLS cells, and a cell holds the number of the operation that wrote
 * it last. What a reader must find is known from the program alone, so every packing, reading and committing is an
 * assertion. Nothing here stands for the C code's data structures: only what is waited for, and who is told.
 *
 *   -DN= nodes   -DPOOL= chunks a node can hold   -DW= outputs per pair not yet committed
 *   -DMEDIUM= 0 send, 1 in place, 2 in place from lower to higher numbers only
 *   -DCOPIES    a batch may copy what it reads in place when it starts, and read it no more
 *   -DEAGER     a peer's word (watermarks, grants, credits) is known at once; data still travels (see docs/model.md)
 *   -DCLOSE_EARLY   the program may close after any operation
 *   -DFAIL_OP= -DFAIL_NODE=   tasks of that operation on that node may fail, at their start or in the middle
 *   -DLOSE=     this node may be lost, at any time; the others notice it at any time after
 *   -DLEND      nodes lend batches to each other (lending.pml), with its own parameters
 *   -DJOIN= -DJOIN_AT=   this node takes part only from that operation on
 *   -DBREAK_...     one rule left out: spin must find an error
 */
#ifndef N
#define N 2
#endif
#ifndef POOL
#define POOL 1
#endif
#ifndef W
#define W 1
#endif
#ifndef MEDIUM
#define MEDIUM 0
#endif
#ifndef FAIL_OP
#define FAIL_OP 0
#define FAIL_NODE 0
#endif

#define HOST N
#define P (N + 1)
#define ALL_NODES ((1 << N) - 1)
#define THE_HOST (1 << N)

#include "programs.pml"

#ifndef ON
#define ON(s, p) true /* storage s has a part on node p */
#endif

#if defined(LEND) && !defined(LENDABLE)
#define LENDABLE(n) ((n) == 1)
#endif

#define NONE STORAGES /* a storage that nobody owns: its tables stay zero */
#define BUSY 254      /* a cell while a task writes it */
#define UNDEFINED 255 /* a cell whose writer failed in the middle */

#define PLACED(p, q) (MEDIUM == 1 || (MEDIUM == 2 && (p) < (q)))
#define PAIR(p, q) ((p)*P + (q))
#define BIT(n) (1 << (n))

#if N == 2
#define EVERY(condition) (condition(0) && condition(1) && condition(2))
#define EVERY_FOR(q, condition) (condition(0, q) && condition(1, q) && condition(2, q))
#define EACH(option) option(0) option(1) option(2)
#else
#define EVERY(condition) (condition(0) && condition(1) && condition(2) && condition(3))
#define EVERY_FOR(q, condition) (condition(0, q) && condition(1, q) && condition(2, q) && condition(3, q))
#define EACH(option) option(0) option(1) option(2) option(3)
#endif

/* ---- The program, and what follows from it for everyone alike: set once by init, then constant. ----
 * Hidden variables are no part of a state. That is sound because the search goes depth first: init computes them
 * anew for each choice of a program, and the choice itself is part of the state. */
#define ROW (K + 2)
hidden byte who[ROW], batches[ROW], pieces[ROW], near[ROW], far[ROW], from[ROW], out[ROW], second[ROW], to[ROW];
hidden byte shared[ROW];

hidden byte t_upto_[P * P * ROW], u_upto_[P * P * ROW]; /* chunks of T(m, p->q), U(m, q->p) with m <= n */
hidden byte t_op_[P * P * STREAM], u_op_[P * P * STREAM];  /* operation of a pair's i-th chunk */
hidden byte grant_op_[P * STREAM], grant_from_[P * STREAM], grants[P]; /* a peer's chunks in (operation, batch) order */
hidden byte version_[(STORAGES + 1) * P * ROW];  /* last operation before n that writes p's part */
hidden byte own_write_[(STORAGES + 1) * P * ROW]; /* ... by tasks of p itself */
hidden byte far_write_[(STORAGES + 1) * P * ROW]; /* ... by outputs that arrive at p */
hidden byte far_read_[(STORAGES + 1) * P * P * ROW]; /* last operation before n whose T(m, p->q) is of that storage */
hidden byte share_parts_[P * P];  /* one of the two reads the other's part in place at some time */
hidden byte depends_[ROW]; /* the earlier operations whose failure is a failure of n */
hidden byte writers_[STORAGES + 1];

#define T_UPTO(p, q, n) t_upto_[PAIR(p, q) * ROW + (n)]
#define U_UPTO(q, p, n) u_upto_[PAIR(q, p) * ROW + (n)]
#define T_OP(p, q, i) t_op_[PAIR(p, q) * STREAM + (i)]
#define U_OP(q, p, i) u_op_[PAIR(q, p) * STREAM + (i)]
#define GRANT_OP(q, i) grant_op_[(q)*STREAM + (i)]
#define GRANT_FROM(q, i) grant_from_[(q)*STREAM + (i)]
#define SHARE_PARTS(p, q) share_parts_[PAIR(p, q)]
#define VERSION(s, p, n) version_[((s)*P + (p)) * ROW + (n)]
#define OWN_WRITE(s, p, n) own_write_[((s)*P + (p)) * ROW + (n)]
#define FAR_WRITE(s, p, n) far_write_[((s)*P + (p)) * ROW + (n)]
#define FAR_READ(s, p, q, n) far_read_[((s)*P * P + PAIR(p, q)) * ROW + (n)]

/* The bits of `from` and `to`: for a node the distance round the ring of nodes, for the host the node itself. */
#define HITS(set, p, q) ((p) < N && (((set) >> ((q) == HOST -> (p) : ((p) + N - (q)) % N)) & 1))
#define HAS_TASKS(n, q) ((who[n] >> (q)) & 1)
#define READS(n, p, q)                                                                                                 \
    (HAS_TASKS(n, q) && far[n] != NONE && (p) != (q) && HITS(from[n], p, q) && ON(far[n], p))
#define WRITES_FAR(n, q, p)                                                                                            \
    (HAS_TASKS(n, q) && second[n] != NONE && (p) != (q) && HITS(to[n], p, q) && ON(second[n], p))
#define SENDS(n, p, q) (READS(n, p, q) && !PLACED(p, q))

/* ---- What changes: everything below is indexed by peer, or by pair. ---- */
mtype = { DATA, OUTPUT };
chan wire[P * (P - 1)] = [POOL + W] of { mtype, byte /* operation */, byte /* version */, bool /* failed */ };
#define WIRE(p, q) wire[(p) * (P - 1) + (q) - ((q) > (p) -> 1 : 0)]

#define IDLE 0
#define RUNNING 1 /* reading its inputs, writing its part */
#define WRITING 2 /* computed; outputs for others still to be sent */
#define ENDED 3

byte cell[(STORAGES + 1) * N * CELLS];
#define CELL(s, p, c) cell[((s)*N + (p)) * CELLS + (c)]

byte seen[P];               /* operations whose descriptor has come */
byte op[P], batch[P], phase[P]; /* the batch next to start, or running */
byte pool[P], next_grant[P];
byte granted[P * P], packed[P * P], got[P * P];      /* T(p->q): at q, at p, at q */
byte sent[P * P], arrived[P * P], committed[P * P]; /* U(q->p): at q, at p, at p */
byte done[P], ready[P];     /* the watermarks */
byte failed[P];             /* bit n: this peer knows that operation n failed */
byte told[P];               /* ... and has said so, with its ready[n] */
byte last;                  /* 1 + the program's last operation, once the host has said STOP */
bool closed;                /* the program has made its last call */
byte injected;              /* bit n: a task of n did fail */
byte chosen[ROW];           /* for PROGRAM_ANY: the kind of each operation */
#ifdef LOSE
bool dead;    /* node LOSE is no more: it takes no step, its part stays as it is */
bool lost[P]; /* this peer has noticed it */
#define IS_LOST_TO_ME(r) ((r) == LOSE && lost[me])
#define IS_DEAD(r) ((r) == LOSE && dead)
#define NAMES_LOST(s) ((s) != NONE && ON(s, LOSE))
/* An operation that cannot be done without the lost node: it names an array with a part there. */
#define MISSES(n) (NAMES_LOST(near[n]) || NAMES_LOST(far[n]) || NAMES_LOST(out[n]) || NAMES_LOST(second[n]))
#else
#define IS_LOST_TO_ME(r) false
#define IS_DEAD(r) false
#endif

/* The news that a node joins comes with the first operation in which it takes part. Until then nobody waits for it, and
 * what it sends is kept. */
#ifdef JOIN
#define NOT_JOINED(r) ((r) == JOIN && seen[me] < JOIN_AT)
#else
#define NOT_JOINED(r) false
#endif
#define GONE(r) (IS_LOST_TO_ME(r) || NOT_JOINED(r))
#ifdef BREAK_OUTCOME_LATE
byte unreported[P]; /* bit n: a task of n failed, and its node works on without knowing */
#endif
#ifdef BREAK_LATE_FAILURE
byte sticky[P]; /* bit s: storage s is failed, whatever the order of the news */
#endif

/* Nodes tell failures to the host, which passes them on to all, once each. Two nodes of which one reads the other's part
 * in place tell each other directly, together with their watermarks. All other watermarks matter only to the host, which
 * has heard a node's failures before them. What is still on its way when the session closes concerns nobody. */
#define AT_ONE_LINK(r) (me == HOST || (r) == HOST)
#ifdef BREAK_MARKS_WITHOUT_FAILURES
#define SAYS_FAILURES(r) AT_ONE_LINK(r)
#define MARKS_COME(r) true
#else
#define SAYS_FAILURES(r) (AT_ONE_LINK(r) || SHARE_PARTS(me, r))
#define MARKS_COME(r) (SAYS_FAILURES(r) || !(told[r] & ~failed[me]))
#endif
#ifdef BREAK_FAILURE_NOT_PASSED_ON
#define PASSES_ON false
#else
#define PASSES_ON (me == HOST)
#endif
#define NEWS_OF_FAILURES(r)                                                                                            \
    ((SAYS_FAILURES(r) && (told[r] & ~failed[me])) || (PASSES_ON && (told[r] & ~told[me])))

/* A peer's word to another: the latest of its grants, credits, watermarks with the failures told, and STOP. A line of
 * such messages in order is the same as hearing the latest of all at any time, since each only grows. */
#ifdef EAGER
#define GRANTED(q) granted[PAIR(me, q)]
#define CREDITED(p) RETURNED(me, p)
#define DONE(r) done[r]
#define READY(r) (told[r] & ~failed[me] -> 0 : ready[r]) /* not before the failures told with it are heard */
#define STOP last
#else
byte heard_grants[P * P], heard_credits[P * P], heard_done[P * P], heard_ready[P * P], heard_last[P];
#define GRANTED(q) heard_grants[PAIR(me, q)]
#define CREDITED(p) heard_credits[PAIR(me, p)]
#define DONE(r) ((r) == me -> done[me] : heard_done[PAIR(me, r)])
#define READY(r) ((r) == me -> ready[me] : heard_ready[PAIR(me, r)])
#define STOP heard_last[me]
#endif

hidden byte x, y, z, s, c, m, truth; /* scratch, used within one step */

/* ---- The rules. `me` decides; n is the operation in question, r any other peer. ---- */

#define BATCH_NEEDS(n, b, p) (T_UPTO(p, me, (n)-1) + (SENDS(n, p, me) -> (shared[n] -> 1 : (b) + 1) : 0))
#define BATCH_OWES(n, p) (U_UPTO(me, p, (n)-1) + (WRITES_FAR(n, me, p) -> (batch[me] + 1) * pieces[n] : 0))

/* Outputs of r on storage s of operations before n are in me's part. */
#define OUTPUTS_IN(s, r, n) (GONE(r) || committed[PAIR(r, me)] >= U_UPTO(r, me, FAR_WRITE(s, me, n)))

/* r has read, or has been sent, all that operations before n read of me's part of storage s. */
#ifdef BREAK_WRITE_IGNORES_PACKED
#define PACKED_FOR(s, r, n) true
#else
#define PACKED_FOR(s, r, n) (packed[PAIR(me, r)] >= T_UPTO(me, r, FAR_READ(s, me, r, n)))
#endif
#ifdef BREAK_WRITE_IGNORES_DONE
#define READ_BY(s, r, n) true
#else
#define READ_BY(s, r, n) (DONE(r) >= FAR_READ(s, me, r, n))
#endif
#ifdef BREAK_LOST_READS_ON
#define READS_NO_MORE(r) false
#else
#define READS_NO_MORE(r) GONE(r)
#endif
#define READERS_THROUGH(s, r, n) (READS_NO_MORE(r) -> true : READERS_WHO_ARE_THERE(s, r, n))
#define READERS_WHO_ARE_THERE(s, r, n) (PLACED(me, r) -> READ_BY(s, r, n) : PACKED_FOR(s, r, n))

/* The read rule. */
#ifdef BREAK_READ_IGNORES_READY
#define READABLE(n, r) true
#else
#define READABLE(n, r) (GONE(r) || !READS(n, r, me) || !PLACED(r, me) || READY(r) >= VERSION(far[n], r, n))
#endif

#define INPUTS_OF(b, r) (GONE(r) || got[PAIR(r, me)] >= BATCH_NEEDS(op[me], b, r))
#define INPUTS_HERE(r) INPUTS_OF(batch[me], r)
#define OPERATION_MAY_START(r)                                                                                         \
    (READABLE(op[me], r) && OUTPUTS_IN(near[op[me]], r, op[me]) && OUTPUTS_IN(out[op[me]], r, op[me]) &&               \
     READERS_THROUGH(out[op[me]], r, op[me]))
#define MAY_START(r) (INPUTS_HERE(r) && OPERATION_MAY_START(r))

#ifdef BREAK_LATE_FAILURE
#define READS_STORAGE(n) ((near[n] != NONE -> BIT(near[n]) : 0) | (far[n] != NONE -> BIT(far[n]) : 0))
#define KNOWN_FAILED(n) ((failed[me] & BIT(n)) || (sticky[me] & READS_STORAGE(n)))
#else
#define KNOWN_FAILED(n) (failed[me] & (depends_[n] | BIT(n)))
#endif

#ifdef BREAK_NO_DRAIN
#define DRAINED(r) true
#define WORTH_GRANTING(n) (!KNOWN_FAILED(n))
#else
#define DRAINED(r) INPUTS_HERE(r)
#define WORTH_GRANTING(n) true
#endif

/* Packing the next chunk of T(n, me->q). */
#define PACK_OP(q) T_OP(me, q, packed[PAIR(me, q)])
#ifdef BREAK_PACK_EARLY
#define OWN_WRITES_DONE(q) true
#else
#define OWN_WRITES_DONE(q) (op[me] > OWN_WRITE(far[PACK_OP(q)], me, PACK_OP(q)))
#endif
#define MAY_PACK(r, q) OUTPUTS_IN(far[PACK_OP(q)], r, PACK_OP(q))

/* Committing the next output from q. Nothing of the operation itself is waited for. */
#define COMMIT_OP(q) U_OP(q, me, committed[PAIR(q, me)])
#ifdef BREAK_COMMIT_ORDER
#define EARLIER_OUTPUTS_IN(s, r, n) true
#else
#define EARLIER_OUTPUTS_IN(s, r, n) OUTPUTS_IN(s, r, n)
#endif
#ifdef BREAK_COMMIT_WAITS_OWN
#define OWN_OPERATION_PACKED(r, n) (packed[PAIR(me, r)] >= T_UPTO(me, r, n))
#else
#define OWN_OPERATION_PACKED(r, n) true
#endif
#ifdef BREAK_COMMIT_IGNORES_READERS
#define COMMIT_AFTER_READERS(s, r, n) true
#else
#define COMMIT_AFTER_READERS(s, r, n) READERS_THROUGH(s, r, n)
#endif
#define MAY_COMMIT(r, q)                                                                                               \
    (COMMIT_AFTER_READERS(second[COMMIT_OP(q)], r, COMMIT_OP(q)) &&                                                    \
     EARLIER_OUTPUTS_IN(second[COMMIT_OP(q)], r, COMMIT_OP(q)) && OWN_OPERATION_PACKED(r, COMMIT_OP(q)))

#ifdef BREAK_NO_CREDIT
#define RETURNED(q, p) 0
#else
#define RETURNED(q, p) committed[PAIR(q, p)] /* a commit is also the credit for the next */
#endif

#ifdef BREAK_READY_EARLY
#define ALL_OUTPUTS_IN(r) true
#else
#define ALL_OUTPUTS_IN(r) (GONE(r) || committed[PAIR(r, me)] >= U_UPTO(r, me, ready[me] + 1))
#endif

/* Whether me's batches of operation n have ended. *done* says less: they read no other part any more. */
#ifdef BREAK_READY_WITH_DONE
#define HAS_ENDED(n) (n <= done[me])
#else
#define HAS_ENDED(n) (n < op[me])
#endif

/* Whether a batch that starts now and copies is the last one of its operation to read other parts. */
#ifdef BREAK_DONE_FIRST
#define READS_LAST (batch[me] == 0)
#elif defined(LEND)
#define READS_LAST ((over[me] | BIT(batch[me])) == ALL_BATCHES(op[me]))
#else
#define READS_LAST (batch[me] == batches[op[me]] - 1)
#endif

/* Whether the running batch reads other parts until it ends. */
#ifdef BREAK_DONE_EARLY
#define READS_ON true
#define MAY_READ_ON !READS_LAST
#else
#define READS_ON (done[me] < op[me])
#define MAY_READ_ON true
#endif

/* ---- What follows from a fact: deterministic, part of the step that establishes it. ---- */

/* `peer` hears that operation n failed. */
inline learn_failure(peer, n)
{
    failed[peer] = failed[peer] | BIT(n);
#ifdef BREAK_LATE_FAILURE
    sticky[peer] = sticky[peer] | (out[n] != NONE -> BIT(out[n]) : 0) | (second[n] != NONE -> BIT(second[n]) : 0);
#endif
}

inline learn_failures(peer, set)
{
    for (m : 1 .. K) {
        if
        :: (set & BIT(m)) && !(failed[peer] & BIT(m)) -> learn_failure(peer, m)
        :: else
        fi
    }
}

inline hear_failures(r)
{
    if
    :: SAYS_FAILURES(r) -> learn_failures(me, told[r])
    :: else
    fi;
    if
    :: PASSES_ON -> told[me] = told[me] | told[r]
    :: else
    fi
}

inline receive(r)
{
    if
    :: kind == DATA ->
        assert(n == T_OP(r, me, got[PAIR(r, me)]) && n <= seen[me]);
        got[PAIR(r, me)]++;
        if
        :: bad -> learn_failure(me, n)
        :: else -> assert(v == VERSION(far[n], r, n))
        fi
    :: kind == OUTPUT -> /* perhaps before its descriptor: it waits in the pair's buffer */
        assert(n == U_OP(r, me, arrived[PAIR(r, me)]));
        arrived[PAIR(r, me)]++;
        assert(arrived[PAIR(r, me)] - committed[PAIR(r, me)] <= W);
        if
        :: bad -> learn_failure(me, n)
        :: else -> assert(v == n)
        fi
    fi
}

inline send(r, kind_, n_, v_, bad_)
{
    assert(nfull(WIRE(me, r)));
    WIRE(me, r)!kind_(n_, v_, bad_)
}

#ifndef EAGER
/* Hearing is a step, and leaves a trace, only where it can matter: lines that nobody listens to multiply the states. */
#define CLOSING (me == HOST -> closed : STOP != 0)
#define HEEDS_CREDITS(r) (CLOSING || sent[PAIR(me, r)] < U_UPTO(me, r, K))
#ifdef JOIN
#define HEEDS_MARKS(r) (CLOSING || SHARE_PARTS(me, r) || me == HOST)
#else
#define HEEDS_MARKS(r) (CLOSING || SHARE_PARTS(me, r))
#endif
#define NEWS(r)                                                                                                        \
    (GRANTED(r) != granted[PAIR(me, r)] || (HEEDS_CREDITS(r) && CREDITED(r) != RETURNED(me, r)) ||                     \
     (HEEDS_MARKS(r) && MARKS_COME(r) && (DONE(r) != done[r] || READY(r) != ready[r])) || NEWS_OF_FAILURES(r) ||       \
     ((r) == HOST && STOP != last))
#define HEAR(r)                                                                                                        \
    :: d_step { r != me && !GONE(r) && NEWS(r) -> hear(r) }

inline hear(r)
{
    if
    :: r == HOST -> heard_last[me] = last
    :: else
    fi;
    heard_grants[PAIR(me, r)] = granted[PAIR(me, r)];
    if
    :: HEEDS_CREDITS(r) -> heard_credits[PAIR(me, r)] = RETURNED(me, r)
    :: else
    fi;
    if
    :: HEEDS_MARKS(r) && MARKS_COME(r) ->
        assert(heard_done[PAIR(me, r)] <= done[r] && heard_ready[PAIR(me, r)] <= ready[r]);
        heard_done[PAIR(me, r)] = done[r];
        heard_ready[PAIR(me, r)] = ready[r]
    :: else
    fi;
    hear_failures(r);
    skip
}
#elif FAIL_OP || defined(LOSE)
#define HEAR(r)                                                                                                        \
    :: d_step { r != me && !GONE(r) && NEWS_OF_FAILURES(r) -> hear_failures(r); skip }
#else
#define HEAR(r)
#endif

#include "lending.pml"

/* Pass operations without own batches; move and publish the watermarks. What a failure means for an operation is said
 * also by nodes that have no tasks in it: those that have may read good parts only, and not have heard. */
inline settle()
{
    do
    :: op[me] <= seen[me] && ((batch[me] == batches[op[me]] && NOTHING_LENT) || !HAS_TASKS(op[me], me)) ->
#ifndef BREAK_ONLY_TASKS_TELL
        if
        :: KNOWN_FAILED(op[me]) -> learn_failure(me, op[me])
        :: else
        fi;
#endif
#ifdef BREAK_LATE_FAILURE
        if
        :: !(failed[me] & BIT(op[me])) -> sticky[me] = sticky[me] & ~(out[op[me]] != NONE -> BIT(out[op[me]]) : 0)
        :: else
        fi;
#endif
        done[me] = op[me];
        op[me]++;
        batch[me] = 0;
        begin_operation()
    :: else -> break
    od;
    DONE_WITHOUT_LENT
    do
    :: HAS_ENDED(ready[me] + 1) && EVERY(ALL_OUTPUTS_IN) ->
        ready[me]++;
#ifndef BREAK_ONLY_TASKS_TELL
        if
        :: failed[me] & depends_[ready[me]] -> learn_failure(me, ready[me])
        :: else
        fi;
#endif
#ifdef BREAK_FAILURE_NOT_FORWARDED /* told only by the node where it happened */
        told[me] = told[me] | (me == FAIL_NODE -> failed[me] & BIT(ready[me]) : 0)
#else
        told[me] = told[me] | (failed[me] & BIT(ready[me]))
#endif
    :: else -> break
    od;
    skip /* a deterministic step may not end in a loop */
}

/* The cells [x, y) of me's running batch. */
#define BATCH_CELLS(n) x = batch[me] * (CELLS / batches[n]); y = x + CELLS / batches[n]

inline check_reads(at_end)
{
    BATCH_CELLS(op[me]);
    for (z : 0 .. N - 1) {
        for (c : x .. y - 1) {
            assert(z != me || near[op[me]] == NONE || (at_end && near[op[me]] == out[op[me]]) ||
                   CELL(near[op[me]], z, c) == VERSION(near[op[me]], z, op[me]))
        }
        for (c : (shared[op[me]] -> 0 : x) .. (shared[op[me]] -> CELLS : y) - 1) {
            assert(!READS(op[me], z, me) || !PLACED(z, me) || (at_end && !READS_ON) ||
                   CELL(far[op[me]], z, c) == VERSION(far[op[me]], z, op[me]))
        }
    }
}

inline write_own(check_before, value)
{
    if
    :: out[op[me]] != NONE && me != HOST ->
        BATCH_CELLS(op[me]);
        for (c : x .. y - 1) {
            z = CELL(out[op[me]], me, c);
            assert(check_before);
            CELL(out[op[me]], me, c) = value
        }
    :: else
    fi
}

#define OWES_NOTHING(p) (GONE(p) || sent[PAIR(me, p)] >= BATCH_OWES(op[me], p))

/* What this batch reads of z has come: it always has, unless z is lost. */
#ifdef LOSE
#define CAME(z, b) (got[PAIR(z, me)] > T_UPTO(z, me, op[me] - 1) + (shared[op[me]] -> 0 : (b)))
#else
#define CAME(z, b) true
#endif

inline give_chunks_back(b)
{
    for (z : 0 .. N - 1) {
        if
        :: SENDS(op[me], z, me) && CAME(z, b) ->
#ifdef BREAK_NO_DRAIN
            pool[me] = (pool[me] > 0 -> pool[me] - 1 : 0)
#else
            assert(pool[me] > 0);
            pool[me]--
#endif
        :: else
        fi
    }
}

/* A batch ends when all its outputs are out: its chunks are given back only then, scratch outputs lie among them. */
inline finish_when_sent()
{
    if
    :: EVERY(OWES_NOTHING) ->
        if
        :: !shared[op[me]] || batch[me] == batches[op[me]] - 1 -> give_chunks_back(batch[me])
        :: else
        fi;
        phase[me] = IDLE;
        next_own_batch();
        settle()
    :: else
    fi
}

/* ---- The steps of a peer. ---- */

#ifdef BREAK_LATE_CHUNK
#define LISTENS(r) true
#else
#define LISTENS(r) !GONE(r)
#endif
#define RECEIVE(r)                                                                                                     \
    :: d_step {                                                                                                        \
        r != me && nempty(WIRE(r, me)) && LISTENS(r) ->                                                                              \
        WIRE(r, me)?kind(n, v, bad);                                                                                   \
        receive(r);                                                                                                    \
        kind = 0; n = 0; v = 0; bad = false                                                                            \
    }

#define PACK(q)                                                                                                        \
    :: d_step {                                                                                                        \
        q != me && !GONE(q) && GRANTED(q) > packed[PAIR(me, q)] && PACK_OP(q) <= seen[me] && OWN_WRITES_DONE(q) &&                 \
        EVERY_FOR(q, MAY_PACK) ->                                                                                      \
        pack(q)                                                                                                        \
    }

inline pack(q)
{
    m = PACK_OP(q);
    z = packed[PAIR(me, q)] - T_UPTO(me, q, m - 1);
    packed[PAIR(me, q)]++;
    if
    :: failed[me] & (depends_[m] | BIT(m)) -> send(q, DATA, m, 0, true) /* empty: it carries the error */
    :: else ->
        x = (shared[m] -> 0 : z * (CELLS / batches[m]));
        y = (shared[m] -> CELLS : x + CELLS / batches[m]);
        for (c : x .. y - 1) {
            assert(CELL(far[m], me, c) == VERSION(far[m], me, m))
        }
        send(q, DATA, m, VERSION(far[m], me, m), false)
    fi
}

#define COMMIT(q)                                                                                                      \
    :: d_step {                                                                                                        \
        q != me && !GONE(q) && arrived[PAIR(q, me)] > committed[PAIR(q, me)] && COMMIT_OP(q) <= seen[me] &&                        \
        op[me] >= COMMIT_OP(q) && EVERY_FOR(q, MAY_COMMIT) ->                                                          \
        commit(q)                                                                                                      \
    }

inline commit(q)
{
    m = COMMIT_OP(q);
    if
    :: failed[me] & BIT(m) /* nothing to write; the order is kept */
    :: else ->
        x = (committed[PAIR(q, me)] - U_UPTO(q, me, m - 1)) * (CELLS / (batches[m] * pieces[m]));
        for (c : x .. x + CELLS / (batches[m] * pieces[m]) - 1) {
            z = CELL(second[m], me, c);
            assert(z == UNDEFINED || z < m); /* nobody is writing it, nothing newer is there */
            CELL(second[m], me, c) = m
        }
    fi;
    committed[PAIR(q, me)]++;
    settle()
}

#define EMIT(p)                                                                                                        \
    :: d_step {                                                                                                        \
        phase[me] == WRITING && !OWES_NOTHING(p) && sent[PAIR(me, p)] - CREDITED(p) < W ->                             \
        sent[PAIR(me, p)]++;                                                                                           \
        send(p, OUTPUT, op[me], op[me], (failed[me] & BIT(op[me])) != 0);                                              \
        finish_when_sent()                                                                                             \
    }

#ifdef BREAK_GRANT_ORDER /* a pair's chunks in order, but the pairs regardless of each other */
#define GRANT(p)                                                                                                       \
    :: d_step {                                                                                                        \
        granted[PAIR(p, me)] < T_UPTO(p, me, K) && T_OP(p, me, granted[PAIR(p, me)]) <= seen[me] && pool[me] < POOL -> \
        pool[me]++;                                                                                                    \
        granted[PAIR(p, me)]++                                                                                         \
    }
#else
#define GRANT(p)                                                                                                       \
    :: d_step {                                                                                                        \
        next_grant[me] < grants[me] && GRANT_FROM(me, next_grant[me]) == p && !GONE(p) &&                                          \
        GRANT_OP(me, next_grant[me]) <= seen[me] && pool[me] < POOL && WORTH_GRANTING(GRANT_OP(me, next_grant[me])) -> \
        pool[me]++;                                                                                                    \
        next_grant[me]++;                                                                                              \
        granted[PAIR(p, me)]++                                                                                         \
    }
#endif

#ifdef LOSE
#ifdef BREAK_LOST_OUTPUT_IGNORED
#define OUTPUT_MISSING(n) false
#else
#define OUTPUT_MISSING(n) (WRITES_FAR(n, LOSE, me) && committed[PAIR(LOSE, me)] < U_UPTO(LOSE, me, n))
#endif

#ifdef BREAK_LOST_GOES_ON
#define UNFINISHED(n) false
#else
#define UNFINISHED(n) ((n) >= op[me] && HAS_TASKS(n, me))
#endif
#ifdef BREAK_LOST_HEALED /* a later overwrite makes it good, as with other failures */
#define NEVER_AGAIN false
#else
#define NEVER_AGAIN true
#endif

/* me learns that the node is lost. Memory granted to it comes back; what it will not send or read any more is waited for by
 * nobody; and what cannot be done any more has failed: not what has ended here, but for outputs that did not come. */
inline notice()
{
    lost[me] = true;
    assert(pool[me] >= granted[PAIR(LOSE, me)] - got[PAIR(LOSE, me)]);
    pool[me] = pool[me] - (granted[PAIR(LOSE, me)] - got[PAIR(LOSE, me)]);
    for (z : 1 .. K) {
        if
        :: MISSES(z) && (z > seen[me] -> NEVER_AGAIN : UNFINISHED(z) || OUTPUT_MISSING(z)) ->
            learn_failure(me, z)
        :: else
        fi
    }
    if
    :: phase[me] == WRITING -> finish_when_sent()
    :: else
    fi;
    lose_lent();
    settle()
}

/* Chunks of the lost node are passed over. */
#define LOSSES                                                                                                         \
    :: d_step { dead && me != LOSE && !lost[me] && phase[me] != ENDED -> notice(); skip }                              \
    :: d_step {                                                                                                        \
        lost[me] && next_grant[me] < grants[me] && GRANT_FROM(me, next_grant[me]) == LOSE &&                           \
        GRANT_OP(me, next_grant[me]) <= seen[me] -> next_grant[me]++                                                   \
    }                                                                                                                  \
    :: d_step { me == LOSE && !dead && phase[me] != ENDED -> dead = true };                                            \
        break
#define HAS_COME(r) (!SENDS(op[me], r, me) || got[PAIR(r, me)] >= BATCH_NEEDS(op[me], batch[me], r))
#else
#define LOSSES
#define HAS_COME(r) true
#endif

#define BATCH_WAITS (phase[me] == IDLE && op[me] <= seen[me] && OWN_BATCH_WAITS)
#define MAY_FAIL(n) (FAIL_OP == (n) && FAIL_NODE == me)

/* The read rule and the write rule hold. */
#define BATCH_STARTS (BATCH_WAITS && !KNOWN_FAILED(op[me]) && EVERY(MAY_START))

inline start_batch()
{
#ifdef MUST_SKIP /* every node reads what may have failed from where it failed */
    assert(!(BIT(op[me]) & MUST_SKIP) || !injected);
#endif
    assert(EVERY(HAS_COME));
    check_reads(false);
    write_own((z == UNDEFINED || z < op[me]), BUSY);
    phase[me] = RUNNING
}

/* What is left of a failed or skipped batch: its outputs go out empty. */
inline skip_batch()
{
    learn_failure(me, op[me]);
#ifdef BREAK_SKIP_SENDS_NOTHING
    for (z : 0 .. P - 1) {
        sent[PAIR(me, z)] = BATCH_OWES(op[me], z)
    }
#endif
    phase[me] = WRITING;
    finish_when_sent()
}

#define THROUGH(r) (GONE(r) || DONE(r) >= seen[me] && READY(r) >= seen[me])
#define CREDITS_HOME(r) (GONE(r) || CREDITED(r) == sent[PAIR(me, r)])
#ifdef BREAK_STOP_AT_ONCE
#define AT_REST true
#else
#define AT_REST (EVERY(THROUGH) && EVERY(CREDITS_HOME) && LENT_AT_REST)
#endif

#ifdef JOIN /* a node joins when everything before is over, and takes no step earlier */
#define MAY_CALL (!closed && seen[me] < K && (seen[me] + 1 != JOIN_AT || EVERY(THROUGH)))
#else
#define MAY_CALL (!closed && seen[me] < K)
#endif

proctype Peer(byte me)
{
    mtype kind;
    byte n, v;
    bool bad;

#ifdef JOIN
    me != JOIN || seen[HOST] >= JOIN_AT;
#endif
    do
    :: d_step { /* the host makes a call; elsewhere a descriptor arrives, whenever it likes */
        (me == HOST -> MAY_CALL : seen[me] < seen[HOST]) ->
        seen[me]++;
        if
        :: me == HOST && seen[me] == K -> closed = true
        :: else
        fi;
        settle()
    }
#ifdef CLOSE_EARLY
    :: d_step { me == HOST && !closed -> closed = true }
#endif
    LOSSES
    EACH(RECEIVE)
    EACH(HEAR)
    EACH(PACK)
    EACH(COMMIT)
    EACH(EMIT)
    EACH(GRANT)
    EACH(LENDING)
    LENDING_ALONE
    :: d_step { BATCH_STARTS && MAY_READ_ON -> start_batch(); skip }
#if defined(COPIES) || defined(BREAK_DONE_EARLY)
    :: d_step {
        BATCH_STARTS && READS_LAST ->
        start_batch();
        done[me] = op[me];
        settle()
    }
#endif
    :: d_step { /* end of computing; a task may have failed on the way */
        phase[me] == RUNNING ->
        check_reads(true);
        write_own((z == BUSY), op[me]);
        phase[me] = WRITING;
        finish_when_sent()
    }
#if FAIL_OP
    :: d_step {
        phase[me] == RUNNING && MAY_FAIL(op[me]) ->
        injected = injected | BIT(op[me]);
        write_own((z == BUSY), UNDEFINED);
#ifdef BREAK_OUTCOME_LATE
        phase[me] = WRITING;
        unreported[me] = unreported[me] | BIT(op[me]);
        finish_when_sent()
    }
    :: d_step {
        unreported[me] ->
        learn_failures(me, unreported[me]);
        told[me] = told[me] | unreported[me];
        unreported[me] = 0
    }
#else
        skip_batch()
    }
#endif
    :: d_step { /* no memory to start with */
        BATCH_WAITS && MAY_FAIL(op[me]) && EVERY(DRAINED) ->
        injected = injected | BIT(op[me]);
        skip_batch()
    }
#endif
#if FAIL_OP || defined(LOSE)
    :: d_step { BATCH_WAITS && KNOWN_FAILED(op[me]) && EVERY(DRAINED) -> skip_batch() }
#endif
    :: d_step { /* the program closes: it waits for everyone first, then says so */
        me == HOST && closed && last == 0 && AT_REST ->
        last = seen[me] + 1;
        phase[me] = ENDED
    }
    :: d_step { me != HOST && phase[me] == IDLE && STOP == seen[me] + 1 && AT_REST -> phase[me] = ENDED }
    :: phase[me] == ENDED -> break
    REFUSAL
    od
}

/* ---- The tables, from the program. ---- */

#define OP(n, who_, batches_, near__, far__, from__, out__, second__, to__, pieces__, shared__)                        \
    who[n] = who_; batches[n] = batches_; near[n] = near__; far[n] = far__; from[n] = from__; out[n] = out__;          \
    second[n] = second__; to[n] = to__; pieces[n] = pieces__; shared[n] = shared__;

/* What operation m does to p's part of storage s. */
#define WRITES_OWN(m, s, p) (out[m] == (s) && (p) < N && HAS_TASKS(m, p))
#define SOMEONE_WRITES(m, s, p)                                                                                        \
    (second[m] == (s) && (WRITES_FAR(m, 0, p) || WRITES_FAR(m, 1, p) || WRITES_FAR(m, 2, p) || WRITES_FAR(m, P - 1, p)))

inline tabulate_streams()
{
    for (x : 0 .. P - 1) {
        grants[x] = 0;
        for (y : 0 .. P - 1) {
            SHARE_PARTS(x, y) = 0;
            for (m : 1 .. K) {
                if
                :: (READS(m, x, y) && PLACED(x, y)) || (READS(m, y, x) && PLACED(y, x)) -> SHARE_PARTS(x, y) = 1
                :: else
                fi
            }
        }
        for (m : 1 .. K) {
            for (y : 0 .. P - 1) {
                T_UPTO(y, x, 0) = 0;
                T_UPTO(y, x, m) = T_UPTO(y, x, m - 1);
                U_UPTO(x, y, 0) = 0;
                U_UPTO(x, y, m) = U_UPTO(x, y, m - 1)
            }
            for (z : 0 .. batches[m] - 1) {
                for (y : 0 .. P - 1) {
                    if
                    :: SENDS(m, y, x) && (z == 0 || !shared[m]) ->
                        GRANT_OP(x, grants[x]) = m;
                        GRANT_FROM(x, grants[x]) = y;
                        grants[x]++;
                        assert(grants[x] <= STREAM && T_UPTO(y, x, m) < STREAM);
                        T_OP(y, x, T_UPTO(y, x, m)) = m;
                        T_UPTO(y, x, m)++
                    :: else
                    fi;
                    if
                    :: WRITES_FAR(m, x, y) ->
                        for (c : 1 .. pieces[m]) {
                            assert(U_UPTO(x, y, m) < STREAM);
                            U_OP(x, y, U_UPTO(x, y, m)) = m;
                            U_UPTO(x, y, m)++
                        }
                    :: else
                    fi
                }
            }
        }
    }
}

inline tabulate_storages()
{
    for (s : 0 .. STORAGES - 1) {
        for (x : 0 .. P - 1) {
            VERSION(s, x, 1) = 0;
            OWN_WRITE(s, x, 1) = 0;
            FAR_WRITE(s, x, 1) = 0;
            for (m : 1 .. K) {
                OWN_WRITE(s, x, m + 1) = (WRITES_OWN(m, s, x) -> m : OWN_WRITE(s, x, m));
                FAR_WRITE(s, x, m + 1) = (SOMEONE_WRITES(m, s, x) -> m : FAR_WRITE(s, x, m));
                VERSION(s, x, m + 1) = (WRITES_OWN(m, s, x) || SOMEONE_WRITES(m, s, x) -> m : VERSION(s, x, m));
                for (y : 0 .. P - 1) {
                    FAR_READ(s, x, y, 1) = 0;
                    FAR_READ(s, x, y, m + 1) = (far[m] == s && READS(m, x, y) -> m : FAR_READ(s, x, y, m))
                }
            }
        }
    }
}

/* Which failures an operation inherits: those of the writers of what it reads, back to the last full overwrite. */
inline tabulate_failures()
{
    for (s : 0 .. STORAGES) {
        writers_[s] = 0
    }
    for (m : 1 .. K) {
        depends_[m] = (near[m] != NONE -> writers_[near[m]] : 0) | (far[m] != NONE -> writers_[far[m]] : 0);
        for (s : 0 .. STORAGES - 1) {
            z = 0;
            y = 0; /* parts */
            for (x : 0 .. N - 1) {
                y = y + (ON(s, x) -> 1 : 0);
                z = z + (VERSION(s, x, m + 1) == m -> 1 : 0)
            }
            if
            :: z == y && near[m] != s && far[m] != s -> writers_[s] = BIT(m)
            :: z > 0 && !(z == y && near[m] != s && far[m] != s) -> writers_[s] = writers_[s] | BIT(m)
            :: z == 0
            fi
        }
    }
}

#ifdef LOSE
#define MAY_BE_LOST(n) (dead && MISSES(n))
/* Who noticed when decides what has failed, among what may have. */
#define RIGHTLY_FAILED(set) ((set) == truth || (dead && ((set) & ~truth) == 0))
/* The program takes for good what it has not been told to be failed, and what has no part on a lost node. */
#define BAD(s) (dead -> failed[HOST] : truth)
#define IS_LOST(s) (dead && ON(s, LOSE))
#else
#define MAY_BE_LOST(n) false
#define RIGHTLY_FAILED(set) ((set) == truth)
#define BAD(s) truth
#define IS_LOST(s) false
#endif

inline check_pair(p, q)
{
    assert(p == q || empty(WIRE(p, q)));
    assert(arrived[PAIR(p, q)] == sent[PAIR(p, q)] && committed[PAIR(p, q)] == sent[PAIR(p, q)]);
    assert(packed[PAIR(p, q)] == granted[PAIR(p, q)] && got[PAIR(p, q)] == packed[PAIR(p, q)]);
    assert(got[PAIR(p, q)] == T_UPTO(p, q, seen[HOST]) && sent[PAIR(p, q)] == U_UPTO(p, q, seen[HOST]))
}

/* Everyone has ended: nothing is left over, and all agree with what the program order says. */
inline check_end()
{
    truth = 0;
    for (m : 1 .. K) {
        truth = truth | (m <= seen[HOST] && ((injected & BIT(m)) || (truth & depends_[m]) || MAY_BE_LOST(m)) -> BIT(m) : 0)
    }
    for (x : 0 .. P - 1) {
        assert(IS_DEAD(x) || (phase[x] == ENDED && pool[x] == 0 && RIGHTLY_FAILED(failed[x])));
        for (y : 0 .. P - 1) {
            if
            :: IS_DEAD(x) || IS_DEAD(y)
            :: else -> check_pair(x, y)
            fi
        }
    }
    for (s : 0 .. STORAGES - 1) {
        for (x : 0 .. N - 1) {
            for (c : 0 .. CELLS - 1) {
                assert(IS_LOST(s) || (BAD(s) & BIT(VERSION(s, x, seen[HOST] + 1))) ||
                       CELL(s, x, c) == VERSION(s, x, seen[HOST] + 1))
            }
        }
    }
}

init
{
#ifdef PROGRAM_ANY
    byte choice;
    CHOOSE_PROGRAM
#endif
    CHOOSE_RECALLS
    d_step {
        THE_PROGRAM
        tabulate_streams();
        tabulate_storages();
        tabulate_failures();
        for (x : 0 .. P - 1) {
            op[x] = 1;
            NO_LENT_BATCH(x)
        }
#ifdef JOIN
        op[JOIN] = JOIN_AT;
        seen[JOIN] = JOIN_AT - 1;
        done[JOIN] = JOIN_AT - 1;
        ready[JOIN] = JOIN_AT - 1
#endif
    }
    atomic {
        run Peer(0);
        run Peer(1);
#if N == 3
        run Peer(2);
#endif
        run Peer(HOST)
    }
    d_step { _nr_pr == 1 -> CHECK_END }
}
