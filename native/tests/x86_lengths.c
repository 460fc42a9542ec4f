/*
 * Lengths of instructions: of each line, bytes in hexadecimal digits, the number of those that its
 * first instruction has, 0 if it is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86_instruction.h"

int main(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		struct gn_x86_instruction instruction = {0};
		uint8_t bytes[64];
		size_t n = 0;

		for (char *word = strtok(line, " \n"); word && n < sizeof(bytes);
		     word = strtok(NULL, " \n"))
			bytes[n++] = (uint8_t)strtoul(word, NULL, 16);
		printf("%d\n", gn_x86_read(bytes, n, &instruction) ? instruction.bytes : 0);
	}
	return 0;
}
