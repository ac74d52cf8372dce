import { number } from '#services/terminal_style.ts';

export interface ProgressOutput {
  isTTY: boolean;
  write(text: string): void;
}

export interface Progress {
  /** @param note printed behind the bar, at most 40 columns of it */
  update(done: number, total: number, note: string): void;
  end(): void;
}

const BAR_WIDTH = 20;
const REDRAW_MS = 100;
const NOTE_WIDTH = 36;

/** `Sending    [██████              ]  30 %  ...` in at most 79 columns, so that no terminal of 80 wraps it. */
export function progressLine(title: string, done: number, total: number, note: string): string {
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const filled = Math.floor(share * BAR_WIDTH);
  const bar = '█'.repeat(filled).padEnd(BAR_WIDTH);
  return `${title.padEnd(12)}[${bar}] ${String(Math.floor(share * 100)).padStart(3)} %  ${note.slice(0, NOTE_WIDTH)}`.trimEnd();
}

/** The events sent so far, as the note behind the bar. */
export function sentNote(done: number, total: number, tookMs: number): string {
  const rate = tookMs > 0 ? Math.round((done / tookMs) * 1000) : 0;
  return `${number(done)} of ${number(total)}, ${number(rate)}/s`;
}

/** A bar that is redrawn in place on a terminal; elsewhere a plain line at the start, each tenth and the end. */
export function startProgress(title: string, output: ProgressOutput, now: () => number): Progress {
  let drawnAt = Number.NEGATIVE_INFINITY;
  let tenth = -1;
  let line = '';
  const drawInPlace = (done: number, total: number): void => {
    if (now() - drawnAt < REDRAW_MS && done < total) return;
    drawnAt = now();
    output.write(`\r\u001b[K${line}`);
  };
  const drawTenths = (done: number, total: number): void => {
    const reached = total === 0 ? 10 : Math.floor((done / total) * 10);
    if (reached === tenth) return;
    tenth = reached;
    output.write(`${line}\n`);
  };
  return {
    update: (done, total, note) => {
      line = progressLine(title, done, total, note);
      if (output.isTTY) drawInPlace(done, total);
      else drawTenths(done, total);
    },
    end: () => {
      if (output.isTTY) output.write(`\r\u001b[K${line}\n`);
    },
  };
}
