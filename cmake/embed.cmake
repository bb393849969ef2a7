# Writes OUTPUT, a C source that has the text of INPUT as the string NAME.
#   cmake -DINPUT=<file> -DOUTPUT=<file> -DNAME=<identifier> -P embed.cmake
cmake_minimum_required(VERSION 3.21)
file(READ ${INPUT} bytes HEX) # not as literals: C allows these 4095 characters only
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
