#include "shell.h"

#include <stdbool.h>
#include <string.h>

void shell_word(FILE *out, const char *word)
{
    bool is_plain = *word && !word[strcspn(word, " \t\n'\"\\$&|;<>()[]{}*?!#~`")];
    fprintf(out, is_plain ? " " : " '");
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, 0}, out);
    if (!is_plain)
        fputc('\'', out);
}
