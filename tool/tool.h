/* The verbs of the program. argv[0] is the verb's own name; the exit code comes back. */
#ifndef FIRN_TOOL_TOOL_H
#define FIRN_TOOL_TOOL_H

int verb_run(int argc, char **argv);
int verb_check(int argc, char **argv);
int verb_info(int argc, char **argv);
int verb_measure(int argc, char **argv);
int verb_wedge(int argc, char **argv);
int verb_convert(int argc, char **argv);
int verb_render(int argc, char **argv);
int verb_analyze(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_schema(int argc, char **argv);
int verb_reference(int argc, char **argv);

#endif
