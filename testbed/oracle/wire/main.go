// The oracle of wire: it calls the real Go code and writes the results as vectors.
//
//	go run . DIRECTORY
//
// Every file it writes is the same on every run: the random cases come from a fixed seed.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . DIRECTORY (where the vectors are written)")
	}
	for name, rows := range map[string][]any{
		"quantities.jsonl": quantities(),
		"amounts.jsonl":    amounts(),
		"sums.jsonl":       sums(),
		"selectors.jsonl":  selectors(),
		"objects.jsonl":    selectorObjects(),
		"durations.jsonl":  durations(),
		"documents.jsonl":  documents(),
	} {
		write(filepath.Join(os.Args[1], name), rows)
	}
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
