# Makes a C source with a text file as a string: cmake -DINPUT=FILE -DOUTPUT=FILE.c -DNAME=IDENTIFIER
# -P embed.cmake gives "const char IDENTIFIER[]", line by line, so that the result can be read beside its source.
file(READ "${INPUT}" text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
get_filename_component(from "${INPUT}" NAME)
file(WRITE "${OUTPUT}" "/* Made from ${from} by cmake/embed.cmake. */
extern const char ${NAME}[];
const char ${NAME}[] =
    \"${text}\";
")
