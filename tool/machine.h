/* The machine that measurements are made on, and the memory of this process. */
#ifndef FIRN_TOOL_MACHINE_H
#define FIRN_TOOL_MACHINE_H

int processor_count(void); /* that this process may use */

/* "Processor model, 8 threads" */
void machine_text(char text[256]);

/* Ask the kernel to forget the highest use so far; where it cannot, the peak is of all time. */
void memory_forget_peak(void);
double memory_peak_bytes(void);
double memory_now_bytes(void);

#endif
