/* cli/help.c - the texts of dcl help. */
#include <stdio.h>
#include <string.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/nearest.h"
#include "cli/report.h"

static const char overview[] =
    "dcl: loops over arrays that are laid over several OpenCL devices\n"
    "\n"
    "  dcl eval BODY NAME=FILE ...   run a loop body over arrays in .npy files\n"
    "  dcl map --grid SHAPE ...      draw who owns what, and what a body moves\n"
    "  dcl loops FILE.c ...          run loops of a C program in parallel: a report, or a program with calls of DCL\n"
    "  dcl sim --nodes LIST ...      simulate programs on clusters of up to 16384 nodes\n"
    "  dcl trace FILE                say where the time of a run went that was recorded by DCL_TRACE=FILE\n"
    "  dcl devices                   list the OpenCL devices\n"
    "  dcl worker --listen ADDRESS   offer the devices of this host to programs, also of other hosts\n"
    "  dcl workers                   list which workers answer, and their devices\n"
    "  dcl keys DIR                  make the keys by which hosts know each other\n"
    "  dcl help SUBJECT              each of these; maps (how they are written), variables (settings)\n"
    "  dcl --version\n"
    "\n"
    "For example, with a.npy and b.npy of one square shape:\n"
    "  dcl eval 'C(i,j) = A(i,j) + B(j,i);' A=a.npy B=b.npy C=c.npy\n"
    "The same on two worker processes:\n"
    "  dcl eval --workers local:2 'C(i,j) = A(i,j) + B(j,i);' A=a.npy B=b.npy C=c.npy\n";

static const char eval[] =
    "dcl eval [options] BODY NAME=FILE[:SHAPE][:TYPE] ...\n"
    "\n"
    "Runs BODY, statements of OpenCL C, at every index (i, j, k, ...) of its first output. A(i,j) is an element of\n"
    "the array A; NAME=FILE says in which .npy file it lies. Arrays that the body assigns to are outputs, saved when\n"
    "all is done; the others are inputs. An array both read and assigned to is loaded if its file exists, and saved\n"
    "back. The first output given here is the one whose indices are run over.\n"
    "An output's shape follows from the subscripts, its type is the first input's (float without inputs), unless they\n"
    "are given: C=c.npy:100x200:double. Types: int8 to int64, uint8 to uint64, half, float, double.\n"
    "A body without outputs reduces its inputs: for 'n2 += A(i) * A(i);', the line n2 = VALUE is printed (with --json\n"
    "in \"results\"). Results are double, or of 64 bits if all inputs are integers. Operators: += -= min= max=, for\n"
    "integers *= &= |= ^=, too.\n"
    "An output is reduced, too, if an index is none of its subscripts, as j in 'y(i) += A(i,j);', if it has other\n"
    "subscripts than plain indices, as in 'H(bin(i)) += w(i);' with H=h.npy:SHAPE, or by min= max= any= all=. If its "
    "file\n"
    "exists, what is there counts, too; otherwise it begins with the neutral element (0 for +=). Delete the file to "
    "start "
    "anew.\n"
    "An output of two axes can also be a picture in shades of grey, with a name that ends in .png or .pgm.\n"
    "\n"
    "  --map [NAME=]MAP    how all arrays, or the one called NAME, are laid over the devices: dcl help maps\n"
    "  --set NAME=VALUE    a scalar of the body: 3 is a 64-bit integer, 0.5 or 1e-3 a double, 0.5f a float\n"
    "  --over RANGES       run over these indices only: '0 <= j <= i, 0 <= i < n'; bounds are sums of integers, values "
    "and\n"
    "                      indices, or max(...) and min(...) of them\n"
    "  --scan INDEX        each element of the output combines those up to it along INDEX: --scan i 'P(i) += A(i);'\n"
    "  --exclusive         with --scan: those before it, without its own\n"
    "  --explain[=json]    print what will be done: per node and in total, what moves between which nodes, memory, "
    "and\n"
    "                      which other map or grain would be better; compile nothing, run nothing, write nothing\n"
    "  --stats             print key=value lines on stderr: seconds, nodes, tasks, blocks_moved, bytes_moved, ...\n"
    "                      and, with --repeat and --steal, balanced_map if another map would divide the work better\n"
    "  --json              print the same as one JSON object on stdout\n"
    "  --repeat N          run the body N times, one after the other; seconds is the median of the runs, counters are\n"
    "                      those of the first\n"
    "  --order C|F         order of saved files: last (C) or first (F) axis fastest; F if all inputs have it, else C\n"
    "  --grey BLACK:WHITE  pictures: the elements that are black and white, such as 0:1; values between them are "
    "spaced\n"
    "                      evenly, values beyond them are cut, NaN is black. Without it uint8 and uint16 are saved as "
    "they\n"
    "                      are, of other types the least and greatest element are black and white. The file says "
    "which\n"
    "  --bits 8|16         pictures: bits of a pixel; 16 for uint16, 8 for other types without it\n"
    "  --workers W         processes instead of threads serve the nodes; over DCL_WORKERS. local:N starts N of\n"
    "                      them on this host; tcp://HOST:PORT,... are workers that run there (dcl help worker);\n"
    "                      anything else is a file with one such address per line\n"
    "  --keys DIR          folder with the keys of this program: dcl help keys; over DCL_KEYS\n"
    "  --trace FILE        record what every node did and when, as JSON for Chrome, Perfetto and dcl trace; over "
    "DCL_TRACE\n"
    "  --steal POLICY      whether idle nodes run batches of others: never, pays or always; pays,kinds and "
    "always,kinds\n"
    "                      lend to other kinds of devices, too; over DCL_STEAL\n"
    "  --progress WHEN     show on stderr what takes so long, how fast it goes and the time that is left: auto (after "
    "a\n"
    "                      second, if stderr is a terminal), always (elsewhere as lines, every few seconds) or never\n";

static const char eval_examples[] =
    "\n"
    "Examples:\n"
    "  dcl eval 'C(i,j) = A(i,j) + B(j,i);' A=a.npy B=b.npy C=c.npy --stats\n"
    "  dcl eval --map 'rows:cyclic(1024x1024)' --explain 'C(i,j) = A(i,j) + B(j,i);' A=a.npy B=b.npy C=c.npy\n"
    "  dcl eval 'S(i) = i > 0 && i < 99 ? A(i-1) + A(i+1) : 0;' A=a.npy S=s.npy:100\n"
    "  dcl eval 'n2 += R(i,j) * R(i,j); most max= fabs(R(i,j));' R=r.npy\n"
    "  dcl eval 'y(i) += A(i,j) * x(j);' A=a.npy x=x.npy y=y.npy\n"
    "  dcl eval --over '0 <= j <= i' 's += R(i,j);' R=r.npy\n"
    "  dcl eval --grey -1:1 'T(i,j) = sin(0.001f * (i*i + j*j));' T=t.png:600x800:float\n"
    "  dcl eval --workers tcp://n1:7700,tcp://n2:7700 --keys ~/.dcl 'T(i,j) = A(j,i);' A=a.npy T=t.npy\n";

static const char map[] =
    "dcl map --grid SHAPE --nodes N [--map MAP] [--owners[=all] | --svg FILE] [--body BODY [--explain] ...]\n"
    "\n"
    "Draws which node owns which element of a grid, and lists what each node stores; or, with --body, what a loop "
    "body\n"
    "moves from node to node. No device is needed. Large grids are drawn with several elements per cell.\n"
    "\n"
    "  --grid [NAME=]SHAPE   extents, such as 6x6, with a type or not, such as 6x6:double; float without it\n"
    "  --nodes N             number of nodes, numbered from 0\n"
    "  --map [NAME=]MAP      the map: dcl help maps; without it the default, as eval lays out arrays\n"
    "  --owners[=all]        print the owners only: a row of the grid per line, separated by spaces; an empty line\n"
    "                        between the planes of a grid of more than two axes. Grids of more than\n"
    "                        10 million elements are refused, unless it is --owners=all\n"
    "  --svg FILE            draw into FILE instead, as SVG; - is the standard output. Nodes have colours, also for\n"
    "                        people who are colour-blind; lines show segments, blocks and tiles by their weight\n"
    "  --body BODY           draw what BODY moves, as eval understands it: arrows between nodes, or a square of "
    "shades\n"
    "                        when there are many. Names with a capital before a parenthesis are arrays, and those "
    "that\n"
    "                        are assigned to. --grid and --map with NAME= are of one array, without it --grid is the\n"
    "                        first output's and --map that of all others; shapes that are not given are inferred\n"
    "  --explain[=json]      print what BODY does instead, as eval --explain does, on nodes that are only planned\n"
    "  --set NAME=VALUE      a scalar of the body\n"
    "\n"
    "Examples:\n"
    "  dcl map --grid 6x6 --nodes 4 --map 'rows:cyclic(2x2)'\n"
    "  dcl map --grid 6144x6144 --nodes 4 --map 'block,cyclic(1024)@2x2' --svg map.svg\n"
    "  dcl map --grid 6x6 --nodes 3 --map 'rows:block' --owners\n"
    "  dcl map --grid 600x600 --nodes 4 --map block --map 'B=*,block' --body 'C(i,j) = A(i,j) + B(j,i);'\n";

static const char sim[] =
    "dcl sim [--nodes LIST] [--program LIST] [options]\n"
    "\n"
    "Simulates programs on clusters of many sizes: every node plans and speaks the protocol with the library's own "
    "code,\n"
    "and the messages are packed and counted; the computing of elements, the links and the clocks are a model. Prints\n"
    "per number of nodes the time of a step; the bound, what the busiest device or link needs; what the devices need\n"
    "if the work is distributed at will; messages and bytes; and the time of planning, measured on this machine.\n"
    "docs/scaling.md has the model, figures, and comparisons with real runs.\n"
    "\n"
    "  --nodes LIST        numbers of nodes: 2,10,100; 4-64 is 4, 8, 16, 32, 64. 4-64 without it\n"
    "  --program LIST      add (C = A + B), transpose (C = A + B^T), stencil (5 points), remap (a copy to another "
    "map),\n"
    "                      uneven (tiles of unequal cost); several separated by commas; stencil without it\n"
    "  --scaling weak|strong   weak: --size is per node; strong: it is that of the array; weak without it\n"
    "  --size ELEMENTS     of float; 4M per node or 64M without it. K, M, G, T are powers of 1000, also in rates\n"
    "  --steps N           operations, each of which uses what the one before it has written; 10\n"
    "  --map MAP           of the arrays; block\n"
    "  --to-map MAP        of remap's second array; block,*\n"
    "  --tiles N           tiles per node of uneven; 16\n"
    "  --cost ramp|zipf|zipf-sorted|even   of uneven's tiles: n for tile number n; 1, 1/2, 1/3, ..., shuffled or in\n"
    "                      this order; or equal; ramp\n"
    "  --slow NODE:FACTOR  the device of a node takes FACTOR times as long; may be repeated\n"
    "  --steal LIST        never, pays or always; several to compare them: nodes that have nothing to do run batches "
    "of\n"
    "                      others, if the results are expected back sooner, or whenever they may; never\n"
    "  --jitter PERCENT    batches take up to so much longer, at random; 0\n"
    "  --seed N            of what is random; 1\n"
    "  --bandwidth RATE    bytes per second of a link, each direction; 12.5G\n"
    "  --latency TIME      of a link; 5us\n"
    "  --element TIME      of a device per element; 0.1ns\n"
    "  --launch TIME       of a processor to start a batch; 10us\n"
    "  --message TIME      of a processor to send or receive a message; 1us\n"
    "  --plan TIME         of a processor to make a plan, for itself or a peer; 15us\n"
    "  --copy RATE         bytes per second of packing and unpacking; 50G\n"
    "  --fanout N          as DCL_FANOUT; 16\n"
    "  --chart WHAT        what --svg draws: time, speedup, share (of the bound in the time), messages, bytes or "
    "planning;\n"
    "                      time without it\n"
    "  --svg FILE          draw a chart into FILE instead; - is the standard output\n"
    "  --json              print all figures as one JSON object\n"
    "\n"
    "Examples:\n"
    "  dcl sim --nodes 4-1024 --program stencil,transpose\n"
    "  dcl sim --nodes 10,100,1000,10000 --program stencil --chart planning --svg planning.svg\n"
    "  dcl sim --nodes 4 --program uneven --cost zipf --slow 3:2 --json\n"
    "  dcl sim --nodes 4-64 --program uneven --element 20ns --steal never,pays --svg stealing.svg\n";

static const char trace[] =
    "dcl trace FILE [--svg FILE] [--from TIME] [--to TIME]\n"
    "\n"
    "Reads what DCL_TRACE=FILE or eval --trace FILE has recorded, and prints for each node and the program what they\n"
    "did, and for whom they waited, in percent of the time; what the critical path consists of: the chain of work,\n"
    "messages and waits that determined the total time; and a timeline.\n"
    "\n"
    "  --svg FILE          draw the timeline into FILE instead, with a row per node and track, and the critical path;\n"
    "                      - is the standard output\n"
    "  --from TIME         only what lies after TIME, by the times of the timeline, such as 1.25s, 300ms or 80us;\n"
    "                      what lies partly outside is cut\n"
    "  --to TIME           only what lies before TIME; the critical path is then that to the last event in between\n"
    "\n"
    "https://ui.perfetto.dev and chrome://tracing show the same file, event by event.\n"
    "\n"
    "Examples:\n"
    "  dcl eval --trace run.json 'C(i,j) = A(i,j) + B(j,i);' A=a.npy B=b.npy C=c.npy\n"
    "  dcl trace run.json\n"
    "  dcl trace run.json --svg run.svg\n";

static const char devices[] =
    "dcl devices\n"
    "\n"
    "Lists the OpenCL devices of this host. Those marked as used become the nodes of a cluster; DCL_DEVICES selects\n"
    "others: all, cpu, gpu, or numbers of this list.\n"
    "\n"
    "Examples:\n"
    "  dcl devices\n"
    "  DCL_DEVICES=0,2 dcl eval 'C(i) = 2*A(i);' A=a.npy C=c.npy\n"
    "  POCL_DEVICES='pthread pthread' dcl devices        two nodes of one CPU, with the driver PoCL\n";

static const char loops[] =
    "dcl loops FILE.c --report [--nodes N] [--set NAME=VALUE ...]\n"
    "dcl loops FILE.c --scheme en|uk|ru [--set NAME=VALUE ...]\n"
    "dcl loops FILE.c -o OUT.c\n"
    "\n"
    "Loops of a C program that stand between two pragmas run in parallel on all devices, with the same results:\n"
    "\n"
    "  #pragma dcl loops in(double A[n][m], double B[m][n]) inout(double C[n][n]) value(double alpha)\n"
    "      for (int i = 0; i < n; i++)\n"
    "          for (int j = 0; j < n; j++)\n"
    "              for (int k = 0; k < m; k++)\n"
    "                  C[i][j] += alpha * A[i][k] * B[k][j];\n"
    "  #pragma dcl end\n"
    "\n"
    "The clauses name the arrays that the loops read (in), write without reading what they held before (out), or both\n"
    "(inout), with their sizes, and the scalars that they read (value). Defined numbers, enumerators and names in "
    "sizes\n"
    "need no clause. Compilers ignore the pragmas: without this command the program runs as before.\n"
    "\n"
    "  --report          say how each region would run, and for each loop why it is parallel or not; or all that is "
    "wrong\n"
    "  --nodes N         for reports: also say how many bytes would move between N nodes, each step alone (as with\n"
    "                    DCL_LINES=0), if the arrays were arrays of a cluster under the default map\n"
    "  --scheme LANGUAGE print the regions as sentences of an algebra of algorithms, in English (en), Ukrainian (uk) "
    "or\n"
    "                    Russian (ru), that say which loops are parallel\n"
    "  --set NAME=VALUE  for reports and schemes: the value of a name in sizes; 64 without it\n"
    "  -o OUT.c          write the program with calls of dcl_loops() in place of the regions, to be compiled with "
    "DCL:\n"
    "                    cc OUT.c $(pkg-config --cflags --libs dcl). The first region opens a cluster with the "
    "settings\n"
    "                    of the environment (dcl help variables). A region that fails says why, and runs as written\n"
    "\n"
    "Errors have the form FILE.c:LINE:COLUMN: error: ... [code]; the exit status is then 1. docs/loops.md explains "
    "them.\n"
    "\n"
    "Examples:\n"
    "  dcl loops heat.c --report --set n=4000\n"
    "  dcl loops heat.c -o heat.dcl.c && cc -O2 heat.dcl.c $(pkg-config --cflags --libs dcl) -o heat\n";

static const char worker[] =
    "dcl worker --listen ADDRESS [options]\n"
    "\n"
    "Offers the OpenCL devices of this host to programs, here and elsewhere, until SIGTERM, SIGINT or SIGHUP tells\n"
    "it to end; the exit status is then 0. One process is started per program and device, and ends with the program.\n"
    "The log goes to stderr; its line `listening on ADDRESS` says that programs can come.\n"
    "Without --keys only programs of this host and user can come, those that can read the token in a file. Nobody\n"
    "is let in from beyond this host without keys: dcl help keys.\n"
    "\n"
    "  --listen ADDRESS    where programs call: tcp://127.0.0.1:7700, or tcp://HOST:PORT with --keys\n"
    "  --ports A-B         ports of the processes it starts, for a firewall's rules; 61000-61999 without it\n"
    "  --peer-ports A-B    those of the other workers of a cluster, where these have other --ports\n"
    "  --files DIR         folder whose files programs may read and write; none without it\n"
    "  --devices S         which devices: all, cpu, gpu, or numbers of dcl devices; over DCL_DEVICES\n"
    "  --keys DIR          folder with the keys of this worker and of those who may come\n"
    "  --token FILE        file for the token where there are no keys; by default where programs look for it\n"
    "  --quota BYTES       most bytes of arrays, replicas, stages and plans per program and device, such as 4G; 0: a "
    "share\n"
    "  --sessions N        programs served at once\n"
    "  --sessions-per-key N   of them those with one key; three quarters of --sessions without it\n"
    "  --most-kernel-ms N  milliseconds that one kernel may take, whatever DCL_KERNEL_MS says; a day\n"
    "  --grace SECONDS     told to end, wait so long for what sessions run; 5. Told again, end at once\n"
    "  --io-threads N      threads per process that encrypt and send; over DCL_IO_THREADS\n"
    "  --cache DIR         folder in which each key gets a folder for its compiled kernels\n"
    "  --contain HOW       keep programs' kernels from files, ports and processes that are none of theirs: auto (as "
    "far\n"
    "                      as this system can), strict (else do not start) or off\n"
    "  --log LEVEL         off, warn, info or debug; info by default; over DCL_LOG\n"
    "\n"
    "Examples:\n"
    "  dcl worker --listen tcp://127.0.0.1:7700\n"
    "  dcl worker --listen tcp://n1:7700 --ports 7701-7732 --keys ~/.dcl --files /data --quota 8G\n";

static const char workers[] =
    "dcl workers [options]\n"
    "\n"
    "Asks workers and lists which of them answer: what they serve now, the load of their processors, the time there\n"
    "and back, whether programs may use files there, and their devices. Of the others it says why not; the exit\n"
    "status is 1 when there is any of these.\n"
    "\n"
    "  --workers ADDRESSES|FILE   tcp://HOST:PORT, several separated by commas, or a file with one per line; over\n"
    "                             DCL_WORKERS\n"
    "  --keys DIR                 folder with the keys of this program: dcl help keys; over DCL_KEYS\n"
    "  --wait SECONDS             ask again until all answer, for this long at most\n"
    "  --json                     print the same as one JSON object\n"
    "\n"
    "Examples:\n"
    "  dcl workers --workers tcp://127.0.0.1:7700\n"
    "  dcl workers --workers tcp://127.0.0.1:7700 --wait 10      # in a script that has just started one\n"
    "  DCL_WORKERS=hosts.txt DCL_KEYS=~/.dcl dcl workers --json\n";

static const char keys[] =
    "dcl keys DIR\n"
    "\n"
    "Makes a pair of keys in the folder DIR. Nothing that is there is overwritten.\n"
    "  DIR/own.secret     readable by its owner only; it never leaves the host\n"
    "  DIR/own.public     for the others\n"
    "  DIR/allowed        the public keys of the others, a file NAME.public each\n"
    "\n"
    "A worker lets in the programs whose own.public lies in its `allowed`, under any name. A program knows a worker\n"
    "by the worker's own.public in its own `allowed`, under the name HOST.public for the address tcp://HOST:PORT.\n"
    "\n"
    "Examples, for a worker on the host n1 and a program on the host desk:\n"
    "  n1$   dcl keys ~/.dcl\n"
    "  desk$ dcl keys ~/.dcl\n"
    "  desk$ scp ~/.dcl/own.public n1:.dcl/allowed/desk.public\n"
    "  desk$ scp n1:.dcl/own.public ~/.dcl/allowed/n1.public\n"
    "  n1$   dcl worker --listen tcp://n1:7700 --keys ~/.dcl\n"
    "  desk$ DCL_WORKERS=tcp://n1:7700 DCL_KEYS=~/.dcl dcl workers\n";

static const char maps[] =
    "How maps are written\n"
    "\n"
    "Per axis: every axis is divided by itself over an arrangement of the nodes.\n"
    "  block            contiguous parts, as even as can be          block(n)   n elements per node\n"
    "  cyclic           elements dealt in turn                       cyclic(n)  runs of n dealt in turn\n"
    "  *                not divided\n"
    "  splits(3,7)      runs that begin at 0, 3, 7, in turn           weighted(3:1)  runs of 3/4 and 1/4\n"
    "  One word stands for all axes of any rank; else one per axis, separated by commas: block,cyclic(2),*\n"
    "  Behind @ the number of nodes along each axis, 1 for *: block,cyclic(2),*@2x3x1; without it a balanced one.\n"
    "\n"
    "Dealt: the grid is cut into equal pieces, which are numbered by rows or by columns and given out.\n"
    "  rows:cyclic(2x2)    pieces of 2 x 2 in turn                   columns:cyclic(2x2)\n"
    "  rows:block(2x2)     contiguous runs of such pieces            columns:block(2x2)\n"
    "  rows:hash(2x2)      shuffled pieces in turn                   ;seed=7  another shuffle\n"
    "  rows:table(2x2);owners=0*3,2,1   the nodes of piece 0, 1, ...: three pieces of node 0, one of 2, one of 1\n"
    "                                   - instead of a node: these pieces are stored nowhere\n"
    "  Without parentheses a piece is one element.\n"
    "\n"
    "Replicated: one node owns all, others keep what they have read: replicated, or replicated(2) on two nodes.\n"
    "\n"
    "Boxes: any tiling of one grid, first and end of each axis, and the node of each box.\n"
    "  boxes:[0:4,0:6]@0,[4:8,0:6]@2,[0:8,6:10]@1\n"
    "\n"
    "Behind either:\n"
    "  ;block=1024x1024    the grain in which movement is counted\n"
    "  ;tile=512x512       what one task computes\n"
    "  ;nodes=0-1,3        over these nodes only, in this order; without it over all\n"
    "  ;every=2x3          only every 2nd row and 3rd column is stored, and laid out by the map; not behind boxes\n"
    "  ;rest=-1.5          what elements that are stored nowhere read as; without it 0\n"
    "  ;halo=1             nodes keep what they have read of the elements beside theirs: 1 on every side of every "
    "axis;\n"
    "                      ;halo=1:2,0 one before and two behind along the first axis, none along the second\n"
    "  ;periodic=0         that axis goes on at its other end, as far as the halo is wide; ;periodic=0,1; * for all\n"
    "  ;overlap=8          nodes also store 8 lines before and behind theirs, so that time loops exchange edges once "
    "in\n"
    "                      8 steps; only where the first axis alone is divided, into blocks\n"
    "\n"
    "Examples:\n"
    "  block      cyclic(2048)      block,*      *,cyclic(64)      rows:cyclic(2048x2048);block=1024x1024\n"
    "  block;nodes=0-1      rows:cyclic(2x2);nodes=0-1,3      *;nodes=2\n";

static const char *const subjects[] = {"",       "eval",    "map",  "loops", "sim",       "trace", "devices",
                                       "worker", "workers", "keys", "maps",  "variables", "help"};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static int variables(void)
{
    dcl_config config;
    if (dcl_config_read(&config) != DCL_OK)
        return cli_library_failed();
    puts("Settings, read from the environment, with their values now:\n");
    return dcl_config_print(&config, stdout) == DCL_OK ? CLI_OK : cli_library_failed();
}

int cli_help_about(const char *subject)
{
    static const char *const texts[] = {overview, eval,    map,  loops, sim,  trace,   devices,
                                        worker,   workers, keys, maps,  NULL, overview};
    for (int s = 0; s < SUBJECTS; s++)
        if (strcmp(subject, subjects[s]) == 0) {
            if (texts[s] == NULL)
                return variables();
            fputs(texts[s], stdout);
            if (texts[s] == eval) /* apart, because a C compiler need not accept longer literals than 4095 characters */
                fputs(eval_examples, stdout);
            return CLI_OK;
        }
    return cli_usage(
        "",
        "there is no help about '%s'; expected eval, map, loops, sim, trace, devices, worker, workers, keys, maps or "
        "variables; the nearest is %s",
        subject, subjects[1 + cli_nearest(subject, SUBJECTS - 1, subjects + 1)]);
}

int cli_help(int count, char **list)
{
    if (count > 1)
        return cli_usage("", "help was given %d subjects; expected at most one", count);
    return cli_help_about(count == 1 && strcmp(list[0], "--help") != 0 ? list[0] : "");
}
