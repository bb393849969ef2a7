/* net/keys.c - CURVE key pairs, and the folder that contains them. */
#include "net/keys.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/guarded.h"

enum { KEY_BYTES = 32, LINE_BYTES = 96 };

static const char secret_kind[] = "secret", public_kind[] = "public";

/* ---- keys and text ---- */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/** Parse hexadecimal digits. @param length  number of digits; the text may continue. @return false if they are not a
 *  key. */
static bool from_hex(const char *hex, size_t length, char key_out[DCLI_KEY_Z85])
{
    unsigned char bytes[KEY_BYTES];
    if (length != 2 * KEY_BYTES)
        return false;
    for (size_t i = 0; i < KEY_BYTES; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    zmq_z85_encode(key_out, bytes, sizeof bytes);
    explicit_bzero(bytes, sizeof bytes);
    return true;
}

void dcli_key_text(const char key[DCLI_KEY_Z85], char hex_out[DCLI_KEY_HEX])
{
    unsigned char bytes[KEY_BYTES] = {0}; /* a malformed key is shown as zeros */
    zmq_z85_decode(bytes, key);
    for (size_t i = 0; i < KEY_BYTES; i++) {
        hex_out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        hex_out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    hex_out[2 * KEY_BYTES] = '\0';
    explicit_bzero(bytes, sizeof bytes);
}

dcl_status dcli_key_parse(const char *hex, char key_out[DCLI_KEY_Z85])
{
    if (from_hex(hex, strlen(hex), key_out))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "\"%.80s\" is no public key; expected %d hexadecimal digits, as in a file own.public", hex,
                     2 * KEY_BYTES);
}

void dcli_keypair_wipe(dcli_keypair *pair) { explicit_bzero(pair, sizeof *pair); }

dcl_status dcli_keypair_make(dcli_keypair *pair_out)
{
    if (zmq_curve_keypair(pair_out->public_key, pair_out->secret_key) == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                     "zmq_curve_keypair: %s; expected a libzmq built with CURVE; install one (with "
                     "libsodium)",
                     zmq_strerror(zmq_errno()));
}

/* ---- reading key files ---- */

static dcl_status path_of(const char *folder, const char *name, char path_out[DCLI_GUARDED_PATH])
{
    int length = snprintf(path_out, DCLI_GUARDED_PATH, "%s/%s", folder, name);
    if (length > 0 && length < DCLI_GUARDED_PATH)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE,
                     "the path of the key \"%.80s\" has %d characters; expected less than %d; use a folder "
                     "with a shorter path",
                     name, length, DCLI_GUARDED_PATH);
}

/** Parse "dcl KIND HEX" and blanks. @return whether the line is one. */
static bool parse_line(const char *line, size_t length, const char *kind, char key_out[DCLI_KEY_Z85])
{
    char start[16];
    size_t before = (size_t)snprintf(start, sizeof start, "dcl %s ", kind);
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    return length > before && strncmp(line, start, before) == 0 && from_hex(line + before, length - before, key_out);
}

/** Find the one significant line of a key file. Error texts never quote it: it may be a secret in the wrong file. */
static dcl_status parse_file(const char *path, const char *text, const char *kind, char key_out[DCLI_KEY_Z85])
{
    bool found = false;
    int number = 1;
    for (const char *line = text; *line != '\0'; number++) {
        size_t length = strcspn(line, "\n");
        size_t blank = strspn(line, " \t\r");
        if (blank < length && line[blank] != '#') {
            if (found || !parse_line(line, length, kind, key_out))
                return DCLI_FAIL(DCL_ERR_FILE,
                                 "%s:%d: the line is %s; expected one line \"dcl %s \" and %d hexadecimal "
                                 "digits, beside it only lines that begin with '#'; make the key anew",
                                 path, number, found ? "a second one" : "malformed", kind, 2 * KEY_BYTES);
            found = true;
        }
        line += length + (line[length] == '\n');
    }
    if (found)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE,
                     "%s:%d: the file ends without a key; expected a line \"dcl %s \" and %d hexadecimal "
                     "digits; make the key anew",
                     path, number, kind, 2 * KEY_BYTES);
}

/** Read a key file of a kind, after checking its protection. @param key_out  untouched on failure. */
static dcl_status read_key(const char *path, dcli_guard guard, const char *kind, const char *remedy,
                           char key_out[DCLI_KEY_Z85])
{
    char text[DCLI_GUARDED_BYTES], key[DCLI_KEY_Z85];
    dcl_status status = dcli_guarded_read(path, guard, remedy, text);
    if (status != DCL_OK)
        return status;
    status = parse_file(path, text, kind, key);
    if (status == DCL_OK)
        memcpy(key_out, key, sizeof key);
    explicit_bzero(key, sizeof key);
    explicit_bzero(text, sizeof text);
    return status;
}

dcl_status dcli_key_read(const char *path, char key_out[DCLI_KEY_Z85])
{
    return read_key(path, DCLI_UNWRITABLE, public_kind,
                    "expected a public key; copy the file own.public of the other side", key_out);
}

static dcl_status read_own(const char *folder, const char *name, dcli_guard guard, const char *kind,
                           char key_out[DCLI_KEY_Z85])
{
    char path[DCLI_GUARDED_PATH];
    dcl_status status = path_of(folder, name, path);
    if (status != DCL_OK)
        return status;
    return read_key(path, guard, kind, "expected a key folder; `dcl keys` makes one", key_out);
}

static dcl_status check_pair(const char *folder, const dcli_keypair *pair)
{
    char derived[DCLI_KEY_Z85];
    if (zmq_curve_public(derived, pair->secret_key) != 0)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "zmq_curve_public: %s; expected a libzmq built with CURVE; install one "
                         "(with libsodium)",
                         zmq_strerror(zmq_errno()));
    if (memcmp(derived, pair->public_key, sizeof derived) == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE,
                     "own.public and own.secret in \"%s\" are not of one pair; expected the two that were "
                     "made together; bring back the right one, or move both away and run `dcl keys`",
                     folder);
}

static dcl_status check_folder(const char *folder)
{
    if (access(folder, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" cannot be opened: %s; expected a folder with own.secret, own.public and allowed; make "
                         "it with `dcl keys`",
                         folder, strerror(errno));
    return dcli_guarded_folder(folder, DCLI_UNWRITABLE, NULL);
}

dcl_status dcli_keys_read(const char *folder, dcli_keypair *pair_out)
{
    dcli_keypair pair;
    dcl_status status = check_folder(folder);
    if (status == DCL_OK)
        status = read_own(folder, "own.secret", DCLI_PRIVATE, secret_kind, pair.secret_key);
    if (status == DCL_OK)
        status = read_own(folder, "own.public", DCLI_UNWRITABLE, public_kind, pair.public_key);
    if (status == DCL_OK)
        status = check_pair(folder, &pair);
    if (status == DCL_OK)
        *pair_out = pair;
    dcli_keypair_wipe(&pair);
    return status;
}

/* ---- making key files ---- */

static dcl_status write_key(int folder, const char *folder_path, const char *name, mode_t mode, const char *kind,
                            const char *key)
{
    char hex[DCLI_KEY_HEX], text[LINE_BYTES], path[DCLI_GUARDED_PATH];
    dcl_status status = path_of(folder_path, name, path);
    if (status != DCL_OK)
        return status;
    dcli_key_text(key, hex);
    snprintf(text, sizeof text, "dcl %s %s\n", kind, hex);
    status = dcli_guarded_make(folder, name, path, mode, text);
    explicit_bzero(hex, sizeof hex);
    explicit_bzero(text, sizeof text);
    return status;
}

/** Write both files or none: neither replaces an existing file, and if the second fails, the first is removed. */
static dcl_status write_pair(int folder, const char *path, const dcli_keypair *pair)
{
    dcl_status status = write_key(folder, path, "own.public", 0644, public_kind, pair->public_key);
    if (status != DCL_OK)
        return status;
    status = write_key(folder, path, "own.secret", 0600, secret_kind, pair->secret_key);
    if (status != DCL_OK)
        unlinkat(folder, "own.public", 0);
    return status;
}

dcl_status dcli_keys_make(const char *folder, dcli_keypair *pair_out)
{
    char allowed[DCLI_GUARDED_PATH];
    dcli_keypair pair;
    int fd;
    dcl_status status = path_of(folder, "allowed", allowed);
    if (status == DCL_OK)
        status = dcli_keypair_make(&pair);
    if (status != DCL_OK)
        return status;
    status = dcli_guarded_folder_make(folder, DCLI_UNWRITABLE, &fd);
    if (status != DCL_OK)
        goto wipe;
    status = dcli_guarded_folder_make(allowed, DCLI_UNWRITABLE, NULL);
    if (status == DCL_OK)
        status = write_pair(fd, folder, &pair);
    if (status == DCL_OK && pair_out != NULL)
        *pair_out = pair;
    close(fd);
wipe:
    dcli_keypair_wipe(&pair);
    return status;
}

/* ---- keys of others ---- */

void dcli_key_list_free(dcli_key_list *list)
{
    dcli_free(list->key);
    *list = (dcli_key_list){0};
}

static int is_public(const struct dirent *entry)
{
    static const char end[] = ".public";
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length >= sizeof end && strcmp(entry->d_name + length + 1 - sizeof end, end) == 0;
}

static dcl_status add_key(const char *folder, const char *name, dcli_key_list *list)
{
    char path[DCLI_GUARDED_PATH];
    dcl_status status = path_of(folder, name, path);
    if (status != DCL_OK)
        return status;
    if (list->count == DCLI_MOST_ALLOWED)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" has more than %d keys; expected at most so many; remove those that are not "
                         "used any more",
                         folder, DCLI_MOST_ALLOWED);
    if (dcli_grow(&list->key, list->count, &list->capacity, sizeof list->key[0]) != 0)
        return DCL_ERR_NOMEM;
    status = dcli_key_read(path, list->key[list->count]);
    list->count += status == DCL_OK;
    return status;
}

/** Get the path of `allowed`, after checking that no other user can put keys there. */
static dcl_status open_allowed(const char *folder, char path_out[DCLI_GUARDED_PATH])
{
    dcl_status status = path_of(folder, "allowed", path_out);
    if (status == DCL_OK)
        status = check_folder(folder);
    return status == DCL_OK ? dcli_guarded_folder(path_out, DCLI_UNWRITABLE, NULL) : status;
}

dcl_status dcli_keys_allowed(const char *folder, dcli_key_list *list_out)
{
    char path[DCLI_GUARDED_PATH];
    struct dirent **entry;
    dcl_status status = path_of(folder, "allowed", path);
    if (status == DCL_OK && access(path, F_OK) != 0 && errno == ENOENT)
        return DCL_OK;
    if (status == DCL_OK)
        status = open_allowed(folder, path);
    if (status != DCL_OK)
        return status;
    int count = scandir(path, &entry, is_public, alphasort);
    if (count < 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" cannot be listed: %s; expected a folder with public keys that this user may "
                         "read",
                         path, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == DCL_OK)
            status = add_key(path, entry[i]->d_name, list_out);
        free(entry[i]);
    }
    free(entry);
    if (status != DCL_OK)
        dcli_key_list_free(list_out);
    return status;
}

dcl_status dcli_keys_find(const char *folder, const char *host, char key_out[DCLI_KEY_Z85])
{
    char allowed[DCLI_GUARDED_PATH], path[DCLI_GUARDED_PATH], name[NAME_MAX + 1], remedy[NAME_MAX + 128];
    int length = snprintf(name, sizeof name, "%s.public", host);
    if (host[0] == '\0' || host[0] == '.' || strchr(host, '/') != NULL || (size_t)length >= sizeof name)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "\"%.80s\" is no host's name; expected one as in an address, such as node7 or "
                         "10.0.0.3; correct the address",
                         host);
    dcl_status status = open_allowed(folder, allowed);
    if (status == DCL_OK)
        status = path_of(allowed, name, path);
    if (status != DCL_OK)
        return status;
    snprintf(remedy, sizeof remedy, "expected the public key of %s; copy its file own.public there under this name",
             host);
    return read_key(path, DCLI_UNWRITABLE, public_kind, remedy, key_out);
}
