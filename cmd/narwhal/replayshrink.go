package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/excerpt"
)

// excerpt prints the smallest scenario that shows what became of a pod.
func (r *replaying) excerpt(cmd *cobra.Command, d *recording.Directory) error {
	partition, err := r.choose(d)
	if err != nil {
		return err
	}
	wanted := r.wanted
	if r.redact != "" {
		if d, partition, wanted, err = r.renamed(cmd, d, partition); err != nil {
			return err
		}
	}
	tell, end := telling(cmd.ErrOrStderr())
	made, err := excerpt.Make(cmd.Context(), d, partition, wanted, tell)
	end()
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), made.Text)
	return err
}

// renamed is the copy with other names, and what is wanted there.
func (r *replaying) renamed(cmd *cobra.Command, d *recording.Directory, partition string) (*recording.Directory, string, recording.Wanted, error) {
	wanted := r.wanted
	found, key, err := d.First(partition, wanted, nil)
	if err != nil {
		return nil, "", wanted, err
	}
	found.Close()
	r.partition = partition
	done, err := r.rename(cmd.ErrOrStderr(), d)
	if err != nil {
		return nil, "", wanted, err
	}
	wanted.Pod = done.Name(string(key))
	d, err = recording.Read(r.redact)
	return d, done.Name(partition), wanted, err
}

// telling tells how far it is, in one line of a terminal.
func telling(to io.Writer) (tell excerpt.Progress, end func()) {
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	const back = "\r\x1b[K"
	return func(played, commands int) {
		_, _ = fmt.Fprintf(file, back+"%s played, %s left", counted(played, "scenario"), counted(commands, "command"))
	}, func() { _, _ = fmt.Fprint(file, back) }
}
