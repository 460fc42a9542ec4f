/* Executes one instruction of AVX-512, whatever the compiler's flags and the processor are. */
int main(void)
{
	__asm__ volatile(".byte 0x62, 0xf1, 0x7d, 0x48, 0xfe, 0xc0"); /* vpaddd zmm0, zmm0, zmm0 */
	return 0;
}
