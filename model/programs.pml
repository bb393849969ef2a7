/* programs.pml - the programs that movement.pml runs: small, each made to bring out one rule.
 *
 * OP(n, who, batches, near, far, from, out, second, to, pieces, shared)
 *   who      the peers with tasks: ALL_NODES, THE_HOST, or bits of nodes
 *   batches  groups of tasks each of them runs in turn; batch b works on the b-th share of the cells
 *   near     storage read in the own part, or NONE
 *   far      storage read in other parts: T, from the peers in `from`: RIGHT for nodes, for the host bits of nodes
 *   out      storage written in the own part, or NONE
 *   second   storage written in other parts: U, to the peers in `to`, in `pieces` chunks a batch
 *   shared   all batches read one and the same chunk from each peer
 */
#define RIGHT 2 /* the next node round the ring */

#if defined(PROGRAM_TWO_OUTPUTS)
/* C, D^T = ...; E = C + D^T; D overwritten while E's readers may still want it; and read again. */
#define K 4
#define STORAGES 3
#define CELLS 1
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, NONE, 0, 0, 1, RIGHT, 1, false)                                                          \
    OP(2, ALL_NODES, 1, 0, 1, RIGHT, 2, NONE, 0, 1, false)                                                             \
    OP(3, ALL_NODES, 1, NONE, NONE, 0, 1, 0, RIGHT, 1, false)                                                          \
    OP(4, ALL_NODES, 1, 0, 1, RIGHT, 2, NONE, 0, 1, false)

#elif defined(PROGRAM_WRITE_AFTER_READ)
/* Read far, overwrite, read far, overwrite: in two batches each, so that half of a part is ahead of the other. */
#define K 4
#define STORAGES 2
#define CELLS 2
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 2, NONE, 0, RIGHT, 1, NONE, 0, 1, false)                                                          \
    OP(2, ALL_NODES, 2, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(3, ALL_NODES, 2, NONE, 0, RIGHT, 1, NONE, 0, 1, false)                                                          \
    OP(4, ALL_NODES, 1, NONE, 1, RIGHT, 0, NONE, 0, 1, false)

#elif defined(PROGRAM_RING)
/* Everyone updates its neighbour's part of one storage, again and again: each operation waits for all before it. */
#define K 3
#define STORAGES 1
#define CELLS 1
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, 0, RIGHT, NONE, 0, RIGHT, 1, false)                                                      \
    OP(2, ALL_NODES, 1, NONE, 0, RIGHT, NONE, 0, RIGHT, 1, false)                                                      \
    OP(3, ALL_NODES, 1, NONE, 0, RIGHT, NONE, 0, RIGHT, 1, false)

#elif defined(PROGRAM_UPDATE)
/* Outputs larger than their credit, of batches whose inputs share the pool: B(j,i) += ... in two batches of two. */
#define K 2
#define STORAGES 1
#define CELLS 4
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 2, NONE, 0, RIGHT, NONE, 0, RIGHT, 2, false)                                                      \
    OP(2, ALL_NODES, 2, NONE, 0, RIGHT, NONE, 0, RIGHT, 2, false)

#elif defined(PROGRAM_HOST)
/* The host writes, nodes update each other's part of it, the host reads the result and writes one part again. */
#define K 4
#define STORAGES 1
#define CELLS 1
#define THE_PROGRAM                                                                                                    \
    OP(1, THE_HOST, 1, NONE, NONE, 0, NONE, 0, ALL_NODES, 1, false)                                                    \
    OP(2, ALL_NODES, 1, NONE, 0, RIGHT, NONE, 0, RIGHT, 1, false)                                                      \
    OP(3, THE_HOST, 1, NONE, 0, ALL_NODES, NONE, NONE, 0, 1, false)                                                    \
    OP(4, THE_HOST, 1, NONE, NONE, 0, NONE, 0, 1, 1, false)

#elif defined(PROGRAM_GRANTS)
/* The host reads one node's part, then the other's, with memory for one chunk. */
#define K 3
#define STORAGES 1
#define CELLS 2
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 2, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(2, THE_HOST, 2, NONE, 0, 1, NONE, NONE, 0, 1, false)                                                            \
    OP(3, THE_HOST, 1, NONE, 0, 2, NONE, NONE, 0, 1, false)

#elif defined(PROGRAM_SHARED)
/* A chunk that both batches read stays until the second has finished; then the storage is overwritten. */
#define K 3
#define STORAGES 2
#define CELLS 2
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 2, NONE, 0, RIGHT, 1, NONE, 0, 1, true)                                                           \
    OP(2, ALL_NODES, 2, 1, NONE, 0, 0, NONE, 0, 1, false)                                                              \
    OP(3, ALL_NODES, 2, NONE, 0, RIGHT, 1, NONE, 0, 1, true)

#elif defined(PROGRAM_FAILURE)
/* Operation 1 may fail on node 1; 2 uses it; 3 overwrites all of it; 4 is right again, the output of 2 stays failed. */
#define K 4
#define STORAGES 3
#define CELLS 1
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(2, ALL_NODES, 1, NONE, 0, RIGHT, 1, NONE, 0, 1, false)                                                          \
    OP(3, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(4, ALL_NODES, 1, NONE, 0, RIGHT, 2, NONE, 0, 1, false)
#define MUST_SKIP 4 /* with two nodes each reads a part that may have failed, or has failed itself: none runs 2 */

#elif defined(PROGRAM_FAILURE_SPREADS)
/* The same with nodes that read good parts of the failed storage, and may run before they hear of the failure. */
#define K 3
#define STORAGES 2
#define CELLS 1
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(2, ALL_NODES, 1, NONE, 0, RIGHT, 1, NONE, 0, 1, false)                                                          \
    OP(3, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)

#elif defined(PROGRAM_FAILURE_ELSEWHERE)
/* Only node 0 uses what may have failed on node 1, and reads nothing but its own good part: the use has failed too. */
#define K 2
#define STORAGES 2
#define CELLS 1
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(2, 1, 1, 0, NONE, 0, 1, NONE, 0, 1, false)

#elif defined(PROGRAM_FAILED_OUTPUT)
/* The operation that may fail on node 1 also writes node 0's part; the host reads that part alone, and heals. */
#define K 3
#define STORAGES 2
#define CELLS 1
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, NONE, 0, 0, 1, RIGHT, 1, false)                                                          \
    OP(2, THE_HOST, 1, NONE, 1, 1, NONE, NONE, 0, 1, false)                                                            \
    OP(3, THE_HOST, 1, NONE, NONE, 0, NONE, 1, ALL_NODES, 1, false)
#define MUST_SKIP 4

#elif defined(PROGRAM_LOSS_READ)
/* What is on both nodes is read by one, into what it has alone; that is read by the host, overwritten, and read again. */
#define K 5
#define STORAGES 2
#define CELLS 1
#define ON(s, p) ((s) == 0 || (p) == 0)
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(2, 1, 1, NONE, 0, RIGHT, 1, NONE, 0, 1, false)                                                                  \
    OP(3, THE_HOST, 1, NONE, 1, 1, NONE, NONE, 0, 1, false)                                                            \
    OP(4, 1, 1, NONE, NONE, 0, 1, NONE, 0, 1, false)                                                                   \
    OP(5, THE_HOST, 1, NONE, 1, 1, NONE, NONE, 0, 1, false)

#elif defined(PROGRAM_LOSS_OUTPUT)
/* A node that may be lost writes what the other has alone, in two batches; that is used, read, and overwritten. */
#define K 4
#define STORAGES 3
#define CELLS 2
#define ON(s, p) ((s) == 0 -> (p) == 1 : (p) == 0)
#define THE_PROGRAM                                                                                                    \
    OP(1, 2, 2, NONE, NONE, 0, 0, 1, RIGHT, 1, false)                                                                  \
    OP(2, 1, 1, 1, NONE, 0, 2, NONE, 0, 1, false)                                                                      \
    OP(3, THE_HOST, 1, NONE, 2, 1, NONE, NONE, 0, 1, false)                                                            \
    OP(4, THE_HOST, 1, NONE, NONE, 0, NONE, 1, 1, 1, false)

#elif defined(PROGRAM_LOSS_READER)
/* A node that may be lost reads what the other has alone and overwrites again and again, also what it has of both. */
#define K 4
#define STORAGES 3
#define CELLS 1
#define ON(s, p) ((s) == 0 -> (p) == 0 : ((s) == 1 -> (p) == 1 : true))
#define THE_PROGRAM                                                                                                    \
    OP(1, 2, 1, NONE, 0, RIGHT, 1, NONE, 0, 1, false)                                                                  \
    OP(2, 1, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                                   \
    OP(3, ALL_NODES, 1, NONE, NONE, 0, 2, NONE, 0, 1, false)                                                           \
    OP(4, 1, 1, NONE, 2, RIGHT, 0, NONE, 0, 1, false)

#elif defined(PROGRAM_LOSS_SPREADS)
/* Three nodes, of which the third may be lost: what it writes to one is used by the other, which loses nothing itself. */
#define K 3
#define STORAGES 3
#define CELLS 1
#define ON(s, p) ((s) == 0 || (p) < 2)
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 1, NONE, NONE, 0, 0, 1, RIGHT, 1, false)                                                          \
    OP(2, 3, 1, 1, 1, RIGHT, 2, NONE, 0, 1, false)                                                                     \
    OP(3, 3, 1, 2, NONE, 0, 1, NONE, 0, 1, false)

#elif defined(PROGRAM_LEND)
/* Node 0 has three batches, which read its own part and the next node's; then both parts are overwritten; the other
 * node reads the result. */
#define K 3
#define STORAGES 2
#define CELLS 3
#define THE_PROGRAM                                                                                                    \
    OP(1, 1, 3, 0, 0, RIGHT, 1, NONE, 0, 1, false)                                                                     \
    OP(2, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                           \
    OP(3, 2, 1, NONE, 1, 1, 0, NONE, 0, 1, false)

#elif defined(PROGRAM_LEND_TWICE)
/* Two operations whose batches may be lent, one after the other on the same parts; the other node reads the result. */
#define K 3
#define STORAGES 2
#define CELLS 2
#define LENDABLE(n) ((n) == 1 || (n) == 2)
#define THE_PROGRAM                                                                                                    \
    OP(1, 1, 2, 0, NONE, 0, 1, NONE, 0, 1, false)                                                                      \
    OP(2, 1, 2, 1, NONE, 0, 0, NONE, 0, 1, false)                                                                      \
    OP(3, 2, 1, NONE, 0, 1, 1, NONE, 0, 1, false)

#elif defined(PROGRAM_LEND_BOTH)
/* Every node has batches to lend, which update its own part and read the next one's; that is overwritten. */
#define K 2
#define STORAGES 2
#define CELLS 2
#define THE_PROGRAM                                                                                                    \
    OP(1, ALL_NODES, 2, 1, 0, RIGHT, 1, NONE, 0, 1, false)                                                             \
    OP(2, ALL_NODES, 1, NONE, 1, RIGHT, 0, NONE, 0, 1, false)

#elif defined(PROGRAM_LEND_FILL)
/* Batches without inputs, so that a thief has nothing to read in place even where it could; then the result is read. */
#define K 2
#define STORAGES 2
#define CELLS 3
#define THE_PROGRAM                                                                                                    \
    OP(1, 1, 3, NONE, NONE, 0, 1, NONE, 0, 1, false)                                                                   \
    OP(2, ALL_NODES, 1, NONE, 1, RIGHT, 0, NONE, 0, 1, false)

#elif defined(PROGRAM_LEND_JOIN)
/* A node joins at operation 2, whose batches another one has; these read what was made before. */
#define K 3
#define STORAGES 3
#define CELLS 3
#define ON(s, p) ((s) == 2 || (p) == 0)
#define LENDABLE(n) ((n) == 2)
#define THE_PROGRAM                                                                                                    \
    OP(1, 1, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                                                   \
    OP(2, 1, 3, 0, NONE, 0, 1, NONE, 0, 1, false)                                                                      \
    OP(3, ALL_NODES, 1, NONE, 1, RIGHT, 2, NONE, 0, 1, false)

#elif defined(PROGRAM_LEND_LOSS)
/* What node 0 alone has is updated in three batches; their input is overwritten; the result is overwritten and read. */
#define K 3
#define STORAGES 2
#define CELLS 3
#define ON(s, p) ((p) == 0)
#define THE_PROGRAM                                                                                                    \
    OP(1, 1, 3, 0, NONE, 0, 1, NONE, 0, 1, false)                                                                      \
    OP(2, 1, 1, 1, NONE, 0, 0, NONE, 0, 1, false)                                                                      \
    OP(3, 1, 1, NONE, NONE, 0, 1, NONE, 0, 1, false)

#elif defined(PROGRAM_ANY)
/* Every program of ANY_LENGTH operations of eight kinds on two storages. */
#define K ANY_LENGTH
#define STORAGES 2
#define CELLS 1
#define KIND(n)                                                                                                        \
    if                                                                                                                 \
    :: chosen[n] == 0 -> OP(n, ALL_NODES, 1, NONE, NONE, 0, 0, NONE, 0, 1, false)                                      \
    :: chosen[n] == 1 -> OP(n, ALL_NODES, 1, NONE, 0, RIGHT, 1, NONE, 0, 1, false)                                     \
    :: chosen[n] == 2 -> OP(n, ALL_NODES, 1, 0, 1, RIGHT, 0, NONE, 0, 1, false)                                        \
    :: chosen[n] == 3 -> OP(n, ALL_NODES, 1, NONE, NONE, 0, 1, 0, RIGHT, 1, false)                                     \
    :: chosen[n] == 4 -> OP(n, ALL_NODES, 1, NONE, 0, RIGHT, NONE, 0, RIGHT, 1, false)                                 \
    :: chosen[n] == 5 -> OP(n, ALL_NODES, 1, 1, 0, RIGHT, 1, 0, RIGHT, 1, false)                                       \
    :: chosen[n] == 6 -> OP(n, THE_HOST, 1, NONE, NONE, 0, NONE, 0, ALL_NODES, 1, false)                               \
    :: chosen[n] == 7 -> OP(n, THE_HOST, 1, NONE, 0, 1, NONE, NONE, 0, 1, false)                                       \
    fi;
#define CHOOSE_PROGRAM                                                                                                 \
    select(choice : 0 .. 7); chosen[1] = choice; select(choice : 0 .. 7); chosen[2] = choice;                          \
    if :: K > 2 -> select(choice : 0 .. 7); chosen[K] = choice :: else fi;
#define THE_PROGRAM KIND(1) KIND(2) if :: K > 2 -> KIND(K) :: else fi;
#endif

#define STREAM 8 /* chunks a pair, or grants a peer, at most */
