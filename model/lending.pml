/* lending.pml - nodes lend batches to each other. Included by movement.pml, whose words it uses.
 *
 * A node that wants work, the thief, asks another one, the victim: HUNGRY(n, q), "my question q; I know the operations
 * up to n". To each question there is one answer: LENT(operation, batch, q), or NOTHING(q). The thief computes into
 * memory of its own. To each LENT there is one answer: RESULT, or RETURNED, not computed. RECALL asks for a batch back.
 * Only the victim writes its part, and its operation ends only when every batch was run by itself, or its result is
 * committed. The number of the question is that of the attempt: with the thief and the batch it names one.
 *
 *   -DLEND      with lending; -DLENDABLE(n) which operations: none that writes other parts
 *   -DASKS=     how often one node asks another
 *   -DROOM=     questions and lent batches that a thief has memory for
 *   -DRECALLS=  how many batches are asked back, at most, by all victims together
 *   -DRETURNS   a thief may give back what it was lent without being asked
 *   -DDUPLICATE a link delivers one of these messages twice: that must be noticed, or be without effect
 */
#ifndef LEND

#define NOTHING_LENT true
#define OWN_BATCH_WAITS true
#define LENT_AT_REST true
#define LENDING(r)
#define LENDING_ALONE
#define REFUSAL
#define CHECK_END check_end()
#define CHOOSE_RECALLS
#define DONE_WITHOUT_LENT
#define NO_LENT_BATCH(x)
inline begin_operation() { skip }
inline next_own_batch() { batch[me]++ }
inline lose_lent() { skip }

#else

#ifndef ASKS
#define ASKS 2
#endif
#ifndef ROOM
#define ROOM 2
#endif
#ifndef RECALLS
#define RECALLS 1
#endif
#define NO_LENT_BATCH(x) for_whom[x] = NOBODY
#define BATCHES 3 /* of an operation, at most */
#define NOBODY P
#define ALL_BATCHES(n) (BIT(batches[n]) - 1)

mtype = { HUNGRY, NOTHING, LENT, RECALL, RESULT, RETURNED };
#define LINES (ROOM + 4) /* messages under way in a direction, at most: checked */
chan lane[N * N] = [LINES] of { mtype, byte /* operation */, byte /* batch */, byte /* question */, bool /* copy */ };
#define LANE(p, q) lane[(p)*N + (q)]

/* The victim. Of its current operation: */
byte over[P];              /* batches that have ended here, by its own run or by a commit */
byte lent[P];              /* batches that are lent, and not taken back */
byte recalled[P];          /* ... and asked back */
byte holder[P * BATCHES];  /* to whom, the last time, */
byte attempt[P * BATCHES]; /* ... and in answer to which question */
/* Of any operation: */
byte hungry[P * P];    /* the open question of a peer: its n; 0: none */
byte questions[P * P]; /* how many came from it */
chan unanswered[N] = [ASKS * (N - 1)] of { byte, byte, byte, byte }; /* thief, operation, batch, attempt; sorted */

/* The thief. */
bool asking[P * P]; /* a question is open */
byte asked[P * P];  /* how many there were: the number of the last */
byte room[P];       /* questions open and batches held */
chan bag[N] = [ROOM] of { byte, byte, byte, byte }; /* lent and not begun: victim, operation, batch, attempt */
byte for_whom[P], lent_op[P], lent_batch[P], lent_attempt[P]; /* the lent batch that it runs; for NOBODY: none */
byte recalls; /* how many are left */
#ifdef DUPLICATE
mtype copied; /* this kind of message comes twice, */
byte copies;  /* the first or the second that is sent */
bool refused;
#endif

hidden byte b_, a_, r_, legal_; /* scratch, used within one step */

/* Whether the batch of operation n that v lends to t reads anything in place, of v or of a third node. What v gathers
 * for t, and what has arrived at v as chunks, goes along with the batch. */
#define FAR_IN_PLACE(n, w, v, t) (READS(n, w, v) && PLACED(w, v) && ((w) == (t) || PLACED(w, t)))
#define IN_PLACE(n, v, t)                                                                                              \
    ((near[n] != NONE && PLACED(v, t)) || FAR_IN_PLACE(n, 0, v, t) || FAR_IN_PLACE(n, 1, v, t) ||                      \
     FAR_IN_PLACE(n, 2, v, t))

/* Batches of the current operation that nobody runs: the victim takes the first, and lends the last that may start. */
#ifdef BREAK_LENT_AND_RUN
#define WAITING_BATCHES (ALL_BATCHES(op[me]) & ~over[me])
#else
#define WAITING_BATCHES (ALL_BATCHES(op[me]) & ~(over[me] | lent[me]))
#endif
#define LENDABLE_BATCHES (ALL_BATCHES(op[me]) & ~(over[me] | lent[me] | (phase[me] != IDLE -> BIT(batch[me]) : 0)))
#define FIRST(set) ((set)&1 -> 0 : ((set)&2 -> 1 : 2))
#define OWN_BATCH_WAITS (batch[me] < batches[op[me]] && THIEF_IS_IDLE)
#define THIEF_IS_IDLE (for_whom[me] == NOBODY)

#ifdef BREAK_READY_WITHOUT_LENT
#define NOTHING_LENT true
#else
#define NOTHING_LENT (lent[me] == 0)
#endif

#ifdef BREAK_DONE_WITHOUT_LENT
#define DONE_WITHOUT_LENT                                                                                              \
    if                                                                                                                 \
    :: op[me] <= seen[me] && HAS_TASKS(op[me], me) && batch[me] == batches[op[me]] -> done[me] = op[me]                \
    :: else                                                                                                            \
    fi;
#else
#define DONE_WITHOUT_LENT
#endif

/* What is under way when all watermarks have reached the last operation was taken back: nobody waits for it. */
#define LENT_AT_REST THIEF_IS_IDLE

#ifdef DUPLICATE
#define CHOOSE_COPY                                                                                                    \
    if                                                                                                                 \
    :: copied = HUNGRY                                                                                                 \
    :: copied = NOTHING                                                                                                \
    :: copied = LENT                                                                                                   \
    :: copied = RECALL                                                                                                 \
    :: copied = RESULT                                                                                                 \
    :: copied = RETURNED                                                                                               \
    fi;                                                                                                                \
    select(copies : 1 .. 2);
#else
#define CHOOSE_COPY
#endif
#define CHOOSE_RECALLS                                                                                                 \
    select(recalls : 0 .. RECALLS);                                                                                    \
    CHOOSE_COPY

inline begin_operation()
{
    over[me] = 0;
    lent[me] = 0;
    recalled[me] = 0;
    for (b_ : 0 .. BATCHES - 1) {
        attempt[me * BATCHES + b_] = 0;
        holder[me * BATCHES + b_] = 0
    }
    skip
}

inline choose_own_batch()
{
    if
    :: phase[me] == IDLE && op[me] <= seen[me] && HAS_TASKS(op[me], me) ->
        batch[me] = (WAITING_BATCHES == 0 -> batches[op[me]] : FIRST(WAITING_BATCHES))
    :: else
    fi
}

inline next_own_batch()
{
    over[me] = over[me] | BIT(batch[me]);
    choose_own_batch()
}

/* ---- The victim. ---- */

/* A batch can be lent when it could start here, but for the batches before it: nothing is left to wait for when its
 * result comes. */
#ifdef BREAK_LENT_EARLY
#define MAY_LEND(r, b) true
#else
#define MAY_LEND(r, b) (INPUTS_OF(b, r) && OPERATION_MAY_START(r))
#endif
#ifdef BREAK_LENT_UNSEEN
#define THIEF_KNOWS(r) (hungry[PAIR(me, r)] != 0)
#else
#define THIEF_KNOWS(r) (hungry[PAIR(me, r)] >= op[me])
#endif

/* What v sends along it reads now. */
inline check_sent_along(r)
{
    x = b_ * (CELLS / batches[op[me]]);
    y = x + CELLS / batches[op[me]];
    for (z : 0 .. N - 1) {
        for (c : x .. y - 1) {
            assert(z != me || near[op[me]] == NONE || PLACED(me, r) ||
                   CELL(near[op[me]], z, c) == VERSION(near[op[me]], z, op[me]));
            assert(!READS(op[me], z, me) || !PLACED(z, me) || FAR_IN_PLACE(op[me], z, me, r) ||
                   CELL(far[op[me]], z, c) == VERSION(far[op[me]], z, op[me]))
        }
    }
}

inline tell(r, kind_, o_, bb_, aa_)
{
    assert(nfull(LANE(me, r)));
    LANE(me, r)!kind_(o_, bb_, aa_, false);
#ifdef DUPLICATE
    if
    :: copies == 1 && kind_ == copied ->
        copies = 0;
        LANE(me, r)!kind_(o_, bb_, aa_, true)
    :: copies > 1 && kind_ == copied -> copies--
    :: else
    fi
#endif
}

inline lend_batch(r, b)
{
    b_ = b;
    check_sent_along(r);
    lent[me] = lent[me] | BIT(b_);
    attempt[me * BATCHES + b_] = questions[PAIR(me, r)];
    holder[me * BATCHES + b_] = r;
    hungry[PAIR(me, r)] = 0;
    unanswered[me]!!r(op[me], b_, attempt[me * BATCHES + b_]);
    tell(r, LENT, op[me], b_, attempt[me * BATCHES + b_]);
    choose_own_batch();
    settle()
}

/* A batch whose thief reads something in place comes back by its answer only: others rely on this node's watermarks,
 * and must not overwrite what the thief still reads. Otherwise the victim takes the batch at once. */
#ifdef BREAK_TAKEN_IN_PLACE
#define COMES_BACK_AT_ONCE(n, r) true
#else
#define COMES_BACK_AT_ONCE(n, r) (!IN_PLACE(n, me, r))
#endif

inline take_back(b)
{
    recalls--;
    r_ = holder[me * BATCHES + b];
    tell(r_, RECALL, op[me], b, attempt[me * BATCHES + b]);
    if
    :: COMES_BACK_AT_ONCE(op[me], r_) ->
        lent[me] = lent[me] & ~BIT(b);
        choose_own_batch()
    :: else -> recalled[me] = recalled[me] | BIT(b)
    fi
}

#ifdef BREAK_LATE_RESULT
#define COUNTS (n == op[me] && !(over[me] & BIT(b_)))
#else
#define COUNTS                                                                                                         \
    (n == op[me] && (lent[me] & BIT(b_)) && holder[me * BATCHES + b_] == r_ &&                                         \
     attempt[me * BATCHES + b_] == a_)
#endif

#ifdef BREAK_COMMITTED_BY_THIEF
#define WRITES_RESULT(writer) (writer)
#else
#define WRITES_RESULT(writer) (!(writer))
#endif

/* Write the result of batch b_ of operation o_ to v's part. */
inline write_result(v, o_)
{
    x = b_ * (CELLS / batches[o_]);
    y = x + CELLS / batches[o_];
    for (c : x .. y - 1) {
        z = CELL(out[o_], v, c);
        assert(z == UNDEFINED || z < o_); /* nobody is writing it, nothing newer is there */
        CELL(out[o_], v, c) = o_
    }
}

inline take_answer(r)
{
    unanswered[me]??eval(r), eval(n), eval(b_), eval(a_);
    r_ = r;
    if
    :: COUNTS ->
        lent[me] = lent[me] & ~BIT(b_);
        recalled[me] = recalled[me] & ~BIT(b_);
        if
        :: kind == RESULT ->
            if
            :: WRITES_RESULT(false) && !(failed[me] & BIT(n)) -> write_result(me, n)
            :: else
            fi;
            over[me] = over[me] | BIT(b_);
            give_chunks_back(b_)
        :: else
        fi;
        choose_own_batch();
        settle()
    :: else /* late: dropped */
    fi
}

/* ---- The thief. ---- */

#ifdef BREAK_LENT_FROM_POOL
#define HAS_MEMORY (pool[me] < POOL)
#define USE_MEMORY pool[me]++
#define FREE_MEMORY pool[me]--
#else
#define HAS_MEMORY true
#define USE_MEMORY skip
#define FREE_MEMORY skip
#endif
#ifdef BREAK_LENT_LAST
#define ITS_TURN (op[me] > seen[me])
#else
#define ITS_TURN true
#endif

/* What the thief reads in place for the victim is what the victim would read. */
inline check_lent_reads(v, o_, b__)
{
    x = b__ * (CELLS / batches[o_]);
    y = x + CELLS / batches[o_];
    for (z : 0 .. N - 1) {
        for (c : x .. y - 1) {
            assert(z != v || near[o_] == NONE || !PLACED(v, me) ||
                   CELL(near[o_], z, c) == VERSION(near[o_], z, o_));
            assert(!FAR_IN_PLACE(o_, z, v, me) || CELL(far[o_], z, c) == VERSION(far[o_], z, o_))
        }
    }
}

inline end_lent()
{
    b_ = lent_batch[me];
    check_lent_reads(for_whom[me], lent_op[me], b_);
    FREE_MEMORY;
    if
    :: IS_LOST_TO_ME(for_whom[me])
    :: else ->
        if
        :: WRITES_RESULT(true) -> write_result(for_whom[me], lent_op[me])
        :: else
        fi;
        tell(for_whom[me], RESULT, lent_op[me], b_, lent_attempt[me])
    fi;
    room[me]--;
    for_whom[me] = NOBODY;
    lent_op[me] = 0;
    lent_batch[me] = 0;
    lent_attempt[me] = 0
}

/* ---- Messages. What no correct peer sends is refused, and its sender counts as lost. ---- */

#ifdef BREAK_UNNUMBERED
#define IS_NUMBERED(number) true
#else
#define IS_NUMBERED(number) (a_ == (number))
#endif
#define IS_LEGAL(r)                                                                                                    \
    ((kind == HUNGRY && hungry[PAIR(me, r)] == 0 && IS_NUMBERED(questions[PAIR(me, r)] + 1)) ||                        \
     (kind == NOTHING && asking[PAIR(me, r)] && IS_NUMBERED(asked[PAIR(me, r)])) ||                                    \
     (kind == LENT && asking[PAIR(me, r)] && IS_NUMBERED(asked[PAIR(me, r)]) && n <= seen[me]) ||                      \
     (kind == RECALL && a_ <= asked[PAIR(me, r)]) ||                                                                   \
     ((kind == RESULT || kind == RETURNED) && unanswered[me]??[eval(r), eval(n), eval(b_), eval(a_)]))

inline hear_lending(r)
{
    if
    :: kind == HUNGRY ->
        hungry[PAIR(me, r)] = n;
        questions[PAIR(me, r)]++
    :: kind == NOTHING ->
        asking[PAIR(me, r)] = false;
        room[me]--
    :: kind == LENT ->
        asking[PAIR(me, r)] = false;
        bag[me]!r(n, b_, a_)
    :: kind == RECALL ->
        if
        :: bag[me]??[eval(r), eval(n), eval(b_), eval(a_)] ->
            bag[me]??eval(r), eval(n), eval(b_), eval(a_);
            room[me]--;
#ifndef BREAK_RECALL_UNANSWERED
            tell(r, RETURNED, n, b_, a_)
#endif
        :: else /* begun, or answered already: its result is under way */
        fi
    :: kind == RESULT || kind == RETURNED -> take_answer(r)
    fi
}

#ifdef DUPLICATE
#define REFUSAL :: refused -> break
#define CHECK_END                                                                                                      \
    if                                                                                                                 \
    :: refused                                                                                                         \
    :: else -> check_end(); check_lending_end()                                                                        \
    fi
#else
#define REFUSAL
#define CHECK_END check_end(); check_lending_end()
#endif

inline receive_lending(r)
{
    LANE(r, me)?kind(n, b_, a_, bad);
    legal_ = IS_LEGAL(r);
#ifdef DUPLICATE
    if
    :: legal_ ->
        assert(!bad || kind == RECALL); /* a copy must not pass for a message */
        hear_lending(r)
    :: else ->
        assert(bad);
        refused = true
    fi;
#else
    assert(legal_);
    hear_lending(r);
#endif
    kind = 0; n = 0; bad = false
}

/* ---- Loss. ---- */

#ifdef LOSE
/* Forget the lost node in both roles. What it was lent is to be run here; what it has lent is of no use any more, but
 * what runs for it runs to its end. */
inline lose_lent()
{
    if
    :: me < N ->
        hungry[PAIR(me, LOSE)] = 0;
        for (b_ : 0 .. BATCHES - 1) {
            if
            :: (lent[me] & BIT(b_)) && holder[me * BATCHES + b_] == LOSE ->
#ifndef BREAK_LOST_THIEF
                lent[me] = lent[me] & ~BIT(b_);
                recalled[me] = recalled[me] & ~BIT(b_)
#endif
            :: else
            fi
        }
        do
        :: unanswered[me]??[LOSE, _, _, _] -> unanswered[me]??LOSE, _, _, _
        :: else -> break
        od;
#ifndef BREAK_LOST_VICTIM
        if
        :: asking[PAIR(me, LOSE)] ->
            asking[PAIR(me, LOSE)] = false;
            room[me]--
        :: else
        fi;
        do
        :: bag[me]??[LOSE, _, _, _] -> bag[me]??LOSE, _, _, _; room[me]--
        :: else -> break
        od;
#endif
        choose_own_batch()
    :: else
    fi
}
#else
inline lose_lent() { skip }
#endif

/* ---- The steps. ---- */

/* Asking before there is anything to lend would only be answered with NOTHING. */
#define HAS_TO_LEND(n, r) (LENDABLE(n) && HAS_TASKS(n, r))
#define WORTH_ASKING(r) (HAS_TO_LEND(seen[me], r) || (seen[me] > 1 && HAS_TO_LEND(seen[me] - 1, r)))

#ifdef BREAK_JOIN_FORGOTTEN
#define DROPS(r) NOT_JOINED(r)
#else
#define DROPS(r) false
#endif

#define IS_OTHER_NODE(r) (me < N && (r) < N && (r) != me)

#define LENDING(r)                                                                                                     \
    :: d_step {                                                                                                        \
        IS_OTHER_NODE(r) && !GONE(r) && nempty(LANE(r % N, me % N)) -> receive_lending(r); skip                        \
    }                                                                                                                  \
    :: d_step { IS_OTHER_NODE(r) && DROPS(r) && nempty(LANE(r % N, me % N)) -> LANE(r, me)?_, _, _, _, _ }             \
    :: d_step { /* a thief asks */                                                                                     \
        IS_OTHER_NODE(r) && !GONE(r) && !asking[PAIR(me, r)] && asked[PAIR(me, r)] < ASKS && room[me] < ROOM &&        \
        WORTH_ASKING(r) && STOP == 0 ->                                                                                \
        asking[PAIR(me, r)] = true;                                                                                    \
        asked[PAIR(me, r)]++;                                                                                          \
        room[me]++;                                                                                                    \
        tell(r, HUNGRY, seen[me], 0, asked[PAIR(me, r)])                                                               \
    }                                                                                                                  \
    :: d_step { /* a victim has nothing, or does not want to */                                                        \
        IS_OTHER_NODE(r) && !GONE(r) && hungry[PAIR(me, r)] != 0 ->                                                    \
        hungry[PAIR(me, r)] = 0;                                                                                       \
        tell(r, NOTHING, 0, 0, questions[PAIR(me, r)])                                                                 \
    }                                                                                                                  \
    LENDS(r, 0, !MAY_BE_LENT(1) && !MAY_BE_LENT(2)) LENDS(r, 1, !MAY_BE_LENT(2)) LENDS(r, 2, true)

#define MAY_BE_LENT(b) ((LENDABLE_BATCHES & BIT(b)) && EVERY_FOR(b, MAY_LEND))
/* ... or lends a batch. */
#define LENDS(r, b, is_last)                                                                                           \
    :: d_step {                                                                                                        \
        IS_OTHER_NODE(r) && !GONE(r) && hungry[PAIR(me, r)] != 0 && op[me] <= seen[me] && LENDABLE(op[me]) &&          \
        THIEF_KNOWS(r) && HAS_TASKS(op[me], me) && !KNOWN_FAILED(op[me]) && MAY_BE_LENT(b) && is_last ->               \
        lend_batch(r, b);                                                                                              \
        skip                                                                                                           \
    }

#define ASKS_BACK(b)                                                                                                   \
    :: d_step {                                                                                                        \
        me < N && recalls > 0 && (lent[me] & ~recalled[me] & BIT(b)) && !GONE(holder[me * BATCHES + b]) ->             \
        take_back(b); skip                                                                                             \
    }

#ifdef RETURNS
#define MAY_RETURN                                                                                                     \
    :: d_step {                                                                                                        \
        me < N && nempty(bag[me % N]) ->                                                                               \
        bag[me]?r_, n, b_, a_;                                                                                         \
        room[me]--;                                                                                                    \
        tell(r_, RETURNED, n, b_, a_);                                                                                 \
        n = 0                                                                                                          \
    }
#else
#define MAY_RETURN
#endif

#define LENDING_ALONE                                                                                                  \
    ASKS_BACK(0) ASKS_BACK(1) ASKS_BACK(2) MAY_RETURN                                                                  \
    :: d_step { /* a thief begins; its device runs one batch at a time */                                              \
        me < N && phase[me] == IDLE && THIEF_IS_IDLE && nempty(bag[me % N]) && HAS_MEMORY && ITS_TURN ->               \
        USE_MEMORY;                                                                                                    \
        bag[me]?for_whom[me], lent_op[me], lent_batch[me], lent_attempt[me];                                           \
        check_lent_reads(for_whom[me], lent_op[me], lent_batch[me]);                                                   \
        skip                                                                                                           \
    }                                                                                                                  \
    :: d_step { me < N && !THIEF_IS_IDLE -> end_lent(); skip }

#ifdef LOSE
#define KEEPS_FOR_LOST(x) (lost[x] && (asking[PAIR(x, LOSE)] || bag[x]??[LOSE, _, _, _]))
#else
#define KEEPS_FOR_LOST(x) false
#endif

/* A thief has memory for what it asked for and what it holds, and for no more; every question has its answer, or is
 * still under way. */
inline check_lending_end()
{
    for (x : 0 .. N - 1) {
        if
        :: IS_DEAD(x)
        :: else ->
            assert(for_whom[x] == NOBODY && lent[x] == 0 && !KEEPS_FOR_LOST(x));
            z = len(bag[x]);
            for (y : 0 .. N - 1) {
                if
                :: asking[PAIR(x, y)] ->
                    z++;
                    assert(IS_DEAD(y) || nempty(LANE(x, y)) || nempty(LANE(y, x)) || hungry[PAIR(y, x)])
                :: else
                fi
            }
            assert(room[x] == z)
        fi
    }
}

#endif
