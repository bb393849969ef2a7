/* lending.pml - nodes lend batches to each other. Included by movement.pml, whose words it uses.
 *
 * A node that wants work, the thief, asks another one, the victim: HUNGRY(n, q), "my question q; I know the operations
 * up to n". To each question there is one answer: LENT(operation, loans, q), or NOTHING(q). A loan is one or several
 * batches that follow each other. The thief runs them together, and computes into memory of its own. To each loan there
 * is one answer: RESULT, or RETURNED, not computed. RECALL asks for a loan back. Only the victim writes its part, and its
 * operation ends only when every batch was run by itself, or its result is committed. The number of the question is that
 * of the attempt: with the thief and the batches it names a loan.
 *
 *   -DLEND      with lending; -DLENDABLE(n) which operations: none that writes other parts
 *   -DASKS=     how often one node asks another
 *   -DMANY=     batches that a LENT has, at most: in one loan, or in several
 *   -DROOM=     batches that a thief has memory for: those that it holds, and MANY for each open question
 *   -DRECALLS=  how many loans are asked back, at most, by all victims together
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
#ifndef MANY
#define MANY 1
#endif
#ifndef ROOM
#define ROOM (2 * MANY)
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
chan lane[N * N] = [LINES] of { mtype, byte /* operation */, byte /* batches */, byte /* question */, bool /* copy */ };
#define LANE(p, q) lane[(p)*N + (q)]

/* A loan is the set of its batches. LENT also says how the batches are divided into loans: all together, each apart, or
 * two and one. */
#define APART BIT(BATCHES)
#define IN_PAIRS BIT(BATCHES + 1)
#define COUNT(set) (((set)&1) + (((set) >> 1) & 1) + (((set) >> 2) & 1))

/* The victim. Of its current operation: */
byte over[P];              /* batches that have ended here, by its own run or by a commit */
byte lent[P];              /* batches that are lent, and not taken back */
byte recalled[P];          /* ... and asked back */
byte holder[P * BATCHES];  /* to whom, the last time, */
byte attempt[P * BATCHES]; /* ... and in answer to which question, */
byte loan[P * BATCHES];    /* ... in which loan */
/* Of any operation: */
byte hungry[P * P];    /* the open question of a peer: its n; 0: none */
byte questions[P * P]; /* how many came from it */
chan unanswered[N] = [ASKS * (N - 1) * MANY] of { byte, byte, byte, byte }; /* thief, operation, loan, attempt; sorted */

/* The thief. */
bool asking[P * P]; /* a question is open */
byte asked[P * P];  /* how many there were: the number of the last */
byte room[P];       /* batches held, and MANY for each open question */
chan bag[N] = [ROOM] of { byte, byte, byte, byte }; /* lent and not begun: victim, operation, loan, attempt */
byte for_whom[P], lent_op[P], lent_loan[P], lent_attempt[P]; /* the loan that it runs; for NOBODY: none */
byte recalls; /* how many are left */
#ifdef DUPLICATE
mtype copied; /* this kind of message comes twice, */
byte copies;  /* the first or the second that is sent */
bool refused;
#endif

hidden byte b_, a_, r_, l_, legal_; /* scratch, used within one step */

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
        holder[me * BATCHES + b_] = 0;
        loan[me * BATCHES + b_] = 0
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

/* The cells [x, y) of a loan of operation o_: its batches follow each other. */
inline loan_cells(set, o_)
{
    x = FIRST(set) * (CELLS / batches[o_]);
    y = x + COUNT(set) * (CELLS / batches[o_])
}

/* What v sends along it reads now. */
inline check_sent_along(r, set)
{
    loan_cells(set, op[me]);
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

/* Note a loan that is part of a LENT. */
inline note_loan(r, set)
{
    if
    :: set != 0 ->
        for (b_ : 0 .. BATCHES - 1) {
            if
            :: (set) & BIT(b_) ->
                attempt[me * BATCHES + b_] = questions[PAIR(me, r)];
                holder[me * BATCHES + b_] = r;
                loan[me * BATCHES + b_] = set
            :: else
            fi
        }
        unanswered[me]!!r(op[me], set, questions[PAIR(me, r)])
    :: else
    fi
}

/* The n-th loan of a LENT of a set of batches; 0: it has no such loan. */
#define TOGETHER(set, n) ((n) == 0 -> (set)&7 : 0)
#define SINGLE(set, n) ((set)&BIT(n))
#define PAIRED(set, n) ((n) == 0 -> (set)&3 : ((n) == 1 -> (set)&4 : 0))
#define LOAN_OF(set, n) ((set)&APART -> SINGLE(set, n) : ((set)&IN_PAIRS -> PAIRED(set, n) : TOGETHER(set, n)))

inline lend_batches(r, set)
{
    check_sent_along(r, (set)&7);
    lent[me] = lent[me] | ((set)&7);
    for (c : 0 .. BATCHES - 1) {
        l_ = LOAN_OF(set, c);
        note_loan(r, l_)
    }
    hungry[PAIR(me, r)] = 0;
    tell(r, LENT, op[me], set, questions[PAIR(me, r)]);
    choose_own_batch();
    settle()
}

/* A loan whose thief reads something in place comes back by its answer only: others rely on this node's watermarks,
 * and must not overwrite what the thief still reads. Otherwise the victim takes the loan at once. */
#ifdef BREAK_TAKEN_IN_PLACE
#define COMES_BACK_AT_ONCE(n, r) true
#else
#define COMES_BACK_AT_ONCE(n, r) (!IN_PLACE(n, me, r))
#endif

#ifdef BREAK_HALF_TAKEN_BACK
#define TAKEN_BACK_WITH(b) BIT(b)
#else
#define TAKEN_BACK_WITH(b) loan[me * BATCHES + (b)]
#endif

inline take_back(b)
{
    recalls--;
    r_ = holder[me * BATCHES + b];
    tell(r_, RECALL, op[me], loan[me * BATCHES + b], attempt[me * BATCHES + b]);
    if
    :: COMES_BACK_AT_ONCE(op[me], r_) ->
        lent[me] = lent[me] & ~TAKEN_BACK_WITH(b);
        choose_own_batch()
    :: else -> recalled[me] = recalled[me] | loan[me * BATCHES + b]
    fi
}

/* Whether an answer to loan l_ is the one to the loan that its first batch is in. */
#ifdef BREAK_LATE_RESULT
#define COUNTS (n == op[me] && !(over[me] & l_))
#else
#define COUNTS                                                                                                         \
    (n == op[me] && (lent[me] & l_ & -l_) && holder[me * BATCHES + FIRST(l_)] == r_ &&                                 \
     attempt[me * BATCHES + FIRST(l_)] == a_)
#endif

#ifdef BREAK_COMMITTED_BY_THIEF
#define WRITES_RESULT(writer) (writer)
#else
#define WRITES_RESULT(writer) (!(writer))
#endif

/* Write the result of loan l_ of operation o_ to v's part. */
inline write_result(v, o_)
{
    loan_cells(l_, o_);
    for (c : x .. y - 1) {
        z = CELL(out[o_], v, c);
        assert(z == UNDEFINED || z < o_); /* nobody is writing it, nothing newer is there */
        CELL(out[o_], v, c) = o_
    }
}

#ifdef BREAK_HALF_COMMITTED
#define COMMITTED(set) BIT(FIRST(set))
#else
#define COMMITTED(set) (set)
#endif

inline take_answer(r)
{
    unanswered[me]??eval(r), eval(n), eval(l_), eval(a_);
    r_ = r;
    if
    :: COUNTS ->
        lent[me] = lent[me] & ~COMMITTED(l_);
        recalled[me] = recalled[me] & ~l_;
        if
        :: kind == RESULT ->
            if
            :: WRITES_RESULT(false) && !(failed[me] & BIT(n)) -> write_result(me, n)
            :: else
            fi;
            over[me] = over[me] | COMMITTED(l_);
            for (b_ : 0 .. BATCHES - 1) {
                if
                :: COMMITTED(l_) & BIT(b_) -> give_chunks_back(b_)
                :: else
                fi
            }
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
inline check_lent_reads(v, o_, set)
{
    loan_cells(set, o_);
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
    l_ = lent_loan[me];
    check_lent_reads(for_whom[me], lent_op[me], l_);
    FREE_MEMORY;
    if
    :: IS_LOST_TO_ME(for_whom[me])
    :: else ->
        if
        :: WRITES_RESULT(true) -> write_result(for_whom[me], lent_op[me])
        :: else
        fi;
        tell(for_whom[me], RESULT, lent_op[me], l_, lent_attempt[me])
    fi;
    room[me] = room[me] - COUNT(l_);
    for_whom[me] = NOBODY;
    lent_op[me] = 0;
    lent_loan[me] = 0;
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
     ((kind == RESULT || kind == RETURNED) && unanswered[me]??[eval(r), eval(n), eval(l_), eval(a_)]))

inline hear_lending(r)
{
    if
    :: kind == HUNGRY ->
        hungry[PAIR(me, r)] = n;
        questions[PAIR(me, r)]++
    :: kind == NOTHING ->
        asking[PAIR(me, r)] = false;
        room[me] = room[me] - MANY
    :: kind == LENT ->
        asking[PAIR(me, r)] = false;
        room[me] = room[me] - MANY + COUNT(l_);
        assert(COUNT(l_) <= MANY);
        for (c : 0 .. BATCHES - 1) {
            if
            :: LOAN_OF(l_, c) != 0 -> bag[me]!r(n, LOAN_OF(l_, c), a_)
            :: else
            fi
        }
    :: kind == RECALL ->
        if
        :: bag[me]??[eval(r), eval(n), eval(l_), eval(a_)] ->
            bag[me]??eval(r), eval(n), eval(l_), eval(a_);
            room[me] = room[me] - COUNT(l_);
#ifndef BREAK_RECALL_UNANSWERED
            tell(r, RETURNED, n, l_, a_)
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
    LANE(r, me)?kind(n, l_, a_, bad);
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
            room[me] = room[me] - MANY
        :: else
        fi;
        do
        :: bag[me]??[LOSE, _, _, _] -> bag[me]??LOSE, _, l_, _; room[me] = room[me] - COUNT(l_)
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
        IS_OTHER_NODE(r) && !GONE(r) && !asking[PAIR(me, r)] && asked[PAIR(me, r)] < ASKS && room[me] + MANY <= ROOM && \
        WORTH_ASKING(r) && STOP == 0 ->                                                                                \
        asking[PAIR(me, r)] = true;                                                                                    \
        asked[PAIR(me, r)]++;                                                                                          \
        room[me] = room[me] + MANY;                                                                                    \
        tell(r, HUNGRY, seen[me], 0, asked[PAIR(me, r)])                                                               \
    }                                                                                                                  \
    :: d_step { /* a victim has nothing, or does not want to */                                                        \
        IS_OTHER_NODE(r) && !GONE(r) && hungry[PAIR(me, r)] != 0 ->                                                    \
        hungry[PAIR(me, r)] = 0;                                                                                       \
        tell(r, NOTHING, 0, 0, questions[PAIR(me, r)])                                                                 \
    }                                                                                                                  \
    LENDS(r, 1, !MAY_BE_LENT(1) && !MAY_BE_LENT(2)) LENDS(r, 2, !MAY_BE_LENT(2)) LENDS(r, 4, true)                     \
    LENDS_MANY(r)

#define MAY_BE_LENT(b) ((LENDABLE_BATCHES & BIT(b)) && EVERY_FOR(b, MAY_LEND))
#define MAY_ALL_BE_LENT(set)                                                                                           \
    ((!((set)&1) || MAY_BE_LENT(0)) && (!((set)&2) || MAY_BE_LENT(1)) && (!((set)&4) || MAY_BE_LENT(2)))
/* ... or lends the last batches that may be lent: one, or several in one or more loans. */
#define LENDS(r, set, is_last)                                                                                         \
    :: d_step {                                                                                                        \
        IS_OTHER_NODE(r) && !GONE(r) && hungry[PAIR(me, r)] != 0 && op[me] <= seen[me] && LENDABLE(op[me]) &&          \
        THIEF_KNOWS(r) && HAS_TASKS(op[me], me) && !KNOWN_FAILED(op[me]) && MAY_ALL_BE_LENT(set) && is_last ->         \
        lend_batches(r, set);                                                                                          \
        skip                                                                                                           \
    }
#if MANY == 1
#define LENDS_MANY(r)
#elif MANY == 2
#define LENDS_MANY(r)                                                                                                  \
    LENDS(r, 3, !MAY_BE_LENT(2)) LENDS(r, 3 | APART, !MAY_BE_LENT(2)) LENDS(r, 6, true) LENDS(r, 6 | APART, true)
#else
#define LENDS_MANY(r)                                                                                                  \
    LENDS(r, 3, !MAY_BE_LENT(2)) LENDS(r, 3 | APART, !MAY_BE_LENT(2)) LENDS(r, 6, true) LENDS(r, 6 | APART, true)      \
    LENDS(r, 7, true) LENDS(r, 7 | APART, true) LENDS(r, 7 | IN_PAIRS, true)
#endif

#define ASKS_BACK(b)                                                                                                   \
    :: d_step {                                                                                                        \
        me < N && recalls > 0 && (lent[me] & ~recalled[me] & BIT(b)) && !GONE(holder[me * BATCHES + b]) ->             \
        take_back(b); skip                                                                                             \
    }

#ifdef RETURNS
#define MAY_RETURN                                                                                                     \
    :: d_step {                                                                                                        \
        me < N && nempty(bag[me % N]) ->                                                                               \
        bag[me]?r_, n, l_, a_;                                                                                         \
        room[me] = room[me] - COUNT(l_);                                                                               \
        tell(r_, RETURNED, n, l_, a_);                                                                                 \
        n = 0                                                                                                          \
    }
#else
#define MAY_RETURN
#endif

#define LENDING_ALONE                                                                                                  \
    ASKS_BACK(0) ASKS_BACK(1) ASKS_BACK(2) MAY_RETURN                                                                  \
    :: d_step { /* a thief begins; its device runs one loan at a time */                                              \
        me < N && phase[me] == IDLE && THIEF_IS_IDLE && nempty(bag[me % N]) && HAS_MEMORY && ITS_TURN ->               \
        USE_MEMORY;                                                                                                    \
        bag[me]?for_whom[me], lent_op[me], lent_loan[me], lent_attempt[me];                                            \
        check_lent_reads(for_whom[me], lent_op[me], lent_loan[me]);                                                    \
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
            z = 0;
            for (y : 1 .. len(bag[x])) {
                bag[x]?r_, b_, l_, a_;
                z = z + COUNT(l_);
                bag[x]!r_, b_, l_, a_
            }
            for (y : 0 .. N - 1) {
                if
                :: asking[PAIR(x, y)] ->
                    z = z + MANY;
                    assert(IS_DEAD(y) || nempty(LANE(x, y)) || nempty(LANE(y, x)) || hungry[PAIR(y, x)])
                :: else
                fi
            }
            assert(room[x] == z)
        fi
    }
}

#endif
