// C++ streams: libstdc++ opens them with fopen, and reads and writes by descriptor.
#include "corpus.h"
#include <fstream>
#include <string>
#include <vector>

enum { LINES = 500, LARGE = 100000 };

int main()
{
	std::string line;
	std::vector<char> bytes(LARGE), seen(LARGE);
	int lines = 0;

	fill(bytes.data(), LARGE, 0);
	begin();
	{
		std::ofstream text("text");
		for (int i = 0; i < LINES; i++)
			text << "line " << i << '\n';
		CHECK(text.good());
	}
	{
		std::ifstream text("text");
		while (std::getline(text, line)) {
			CHECK(line == "line " + std::to_string(lines));
			lines++;
		}
		CHECK(lines == LINES && text.eof());
	}
	{
		std::fstream data("data", std::ios::in | std::ios::out | std::ios::binary |
						  std::ios::trunc);
		data.write(bytes.data(), LARGE);
		data.seekg(1000);
		data.read(seen.data(), 500);
		CHECK(data.gcount() == 500 && is_filled(seen.data(), 500, 1000));
		data.seekp(0, std::ios::end);
		CHECK(data.tellp() == LARGE);
		data << "end" << std::flush;
		CHECK(data.good());
	}
	{
		std::ofstream more("text", std::ios::app);
		more << "the end\n";
		CHECK(!std::ifstream("absent").is_open());
	}
	end();
	say("streams: %d lines\n", lines);
	return 0;
}
