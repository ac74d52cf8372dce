export interface ProgressOutput {
  isTTY: boolean;
  write(text: string): void;
}

export interface Progress {
  /** @param note printed behind the bar, at most 36 columns of it */
  update(done: number, total: number, note: string): void;
  end(): void;
}

const BAR_WIDTH = 20;
const REDRAW_MS = 100;
const NOTE_WIDTH = 36;

/** `Sending    [██████              ]  30 %  ...` in at most 79 columns, so that no terminal of 80 wraps it. */
export function progressLine(title: string, share: number, note: string): string {
  const bar = '█'.repeat(Math.floor(share * BAR_WIDTH)).padEnd(BAR_WIDTH);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `${title.padEnd(12)}[${bar}] ${percent} %  ${note.slice(0, NOTE_WIDTH)}`.trimEnd();
}

/** A bar that is redrawn in place on a terminal; elsewhere a plain line at the start, each tenth and the end. */
export function startProgress(title: string, output: ProgressOutput, now: () => number): Progress {
  let drawnAt = Number.NEGATIVE_INFINITY;
  let tenth = -1;
  let line = '';
  return {
    update(done, total, note) {
      const share = total === 0 ? 1 : Math.min(done / total, 1);
      line = progressLine(title, share, note);
      if (output.isTTY) {
        if (now() - drawnAt < REDRAW_MS && share < 1) return;
        drawnAt = now();
        output.write(`\r\u001b[K${line}`);
      } else if (Math.floor(share * 10) !== tenth) {
        tenth = Math.floor(share * 10);
        output.write(`${line}\n`);
      }
    },
    end() {
      if (output.isTTY) output.write(`\r\u001b[K${line}\n`);
    },
  };
}
