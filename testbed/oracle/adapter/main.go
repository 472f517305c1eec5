// The oracle of adapter: it runs prometheus-adapter's own code and writes the results as vectors.
//
//	go run . DIRECTORY
//
// Every file it writes is the same on every run: the random cases come from a fixed seed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"log"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . DIRECTORY (where the vectors are written)")
	}
	quiet()
	for name, rows := range map[string][]any{
		"templates.jsonl":      templates(),
		"quotes.jsonl":         quotes(),
		"queries.jsonl":        queries(),
		"names.jsonl":          names(),
		"resources.jsonl":      resources(),
		"registry.jsonl":       registry(),
		"requests.jsonl":       requests(),
		"usage.jsonl":          usage(),
		"configurations.jsonl": configurations(),
	} {
		write(filepath.Join(os.Args[1], name), rows)
	}
}

// prometheus-adapter logs each error; here there are many, and intended.
func quiet() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL", "alsologtostderr": "false"} {
		if err := flags.Set(name, value); err != nil {
			log.Fatal(err)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	klog.SetOutput(null)
}

func write(path string, rows []any) {
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	buffered := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			log.Fatal(err)
		}
	}
	if err := buffered.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
