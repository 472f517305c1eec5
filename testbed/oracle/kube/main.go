// The oracle of wire/kube: client-go's REST mapper, event correlator and JSONPath, called case by case.
//
//	go run . DIRECTORY
//
// DIRECTORY holds discovery.json, the documents of a real kube-apiserver; the results are written next to it.
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
		log.Fatal("usage: go run . DIRECTORY (with discovery.json, where the vectors are written)")
	}
	directory := os.Args[1]
	write(filepath.Join(directory, "names.jsonl"), names(filepath.Join(directory, "discovery.json")))
	write(filepath.Join(directory, "events.jsonl"), events())
	write(filepath.Join(directory, "jsonpath.jsonl"), paths())
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
