/* Command lines as text that a shell reads back as the same words. */
#ifndef FIRN_TOOL_SHELL_H
#define FIRN_TOOL_SHELL_H

#include <stdio.h>

/* Add a space and a word, quoted where it must be. */
void shell_word(FILE *out, const char *word);

#endif
