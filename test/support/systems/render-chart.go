// Renders the templates of a chart with the text/template of Go's standard library, where there is no helm: the functions of helm that deploy/helm uses.
// Input: the chart's folder as the argument, and `{ Values, Chart, Release }` as JSON on stdin.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"
)

type files struct{ folder string }

func (f files) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	return string(text), err
}

func isEmpty(value any) bool {
	truth, _ := template.IsTrue(value)
	return !truth
}

func main() {
	folder := os.Args[1]
	var root map[string]any
	check(json.NewDecoder(os.Stdin).Decode(&root))
	root["Files"] = files{folder}
	chart := template.New("chart").Option("missingkey=error")
	chart.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := chart.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"default": func(standard, value any) any {
			if isEmpty(value) {
				return standard
			}
			return value
		},
		"required": func(message string, value any) (any, error) {
			if isEmpty(value) {
				return nil, fmt.Errorf("%s", message)
			}
			return value, nil
		},
		"quote": func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		// JSON is YAML. The members of a map have lines of their own: others may follow.
		"toYaml": func(value any) (string, error) {
			members, isMap := value.(map[string]any)
			if !isMap {
				text, err := json.Marshal(value)
				return string(text), err
			}
			lines := []string{}
			for name, member := range members {
				text, err := json.Marshal(member)
				if err != nil {
					return "", err
				}
				lines = append(lines, name+": "+string(text))
			}
			sort.Strings(lines)
			return strings.Join(lines, "\n"), nil
		},
		"nindent": func(spaces int, text string) string {
			pad := "\n" + strings.Repeat(" ", spaces)
			return pad + strings.ReplaceAll(text, "\n", pad)
		},
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"list":      func(items ...any) []any { return items },
		"dict": func(pairs ...any) map[string]any {
			made := map[string]any{}
			for i := 0; i+1 < len(pairs); i += 2 {
				made[fmt.Sprint(pairs[i])] = pairs[i+1]
			}
			return made
		},
	})
	names, err := filepath.Glob(filepath.Join(folder, "templates/*"))
	check(err)
	_, err = chart.ParseFiles(names...)
	check(err)
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasPrefix(base, "_") {
			continue
		}
		var out bytes.Buffer
		check(chart.ExecuteTemplate(&out, base, root))
		// The notes are no object. A mistake in them has failed already.
		if strings.HasSuffix(base, ".yaml") {
			fmt.Printf("---\n%s\n", &out)
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
