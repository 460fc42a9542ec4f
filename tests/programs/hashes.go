// Two kinds of work for the profiles of Go's own runtime: hashes, under a label, and sorting.
package main

import (
	"context"
	"crypto/sha256"
	"math/rand"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
)

func hash(n int) {
	block := make([]byte, 4096)
	for i := 0; i < n; i++ {
		sum := sha256.Sum256(block)
		block[0] = sum[0]
	}
}

func order(n int) (kept [][]int) {
	for i := 0; i < n; i++ {
		numbers := rand.Perm(20000)
		sort.Ints(numbers)
		kept = append(kept, numbers)
	}
	return kept
}

func write(name string, put func(*os.File) error) *os.File {
	file, err := os.Create(name)
	if err == nil {
		err = put(file)
	}
	if err != nil {
		panic(err)
	}
	return file
}

func main() {
	file := write("cpu.pb.gz", func(file *os.File) error { return pprof.StartCPUProfile(file) })
	pprof.Do(context.Background(), pprof.Labels("phase", "hashes"), func(context.Context) { hash(60000) })
	kept := order(150)
	pprof.StopCPUProfile()
	file.Close()
	runtime.GC()
	write("heap.pb.gz", func(file *os.File) error { return pprof.WriteHeapProfile(file) }).Close()
	runtime.KeepAlive(kept)
}
