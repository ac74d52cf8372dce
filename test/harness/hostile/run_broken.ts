import { answersIn, type Broken, breakConnection, brokenConnection, type Heard, type Wanted } from './connections.ts';
import { type Chance, chanceOf } from './random.ts';

const IN_FLIGHT = 24;
const SURPRISES_MAX = 10;

/** What became of broken connections. */
export interface BrokenRun {
  /** How often each status was the answer. */
  statuses: Record<string, number>;
  /** What should not have been, with the connection's number by which it can be made again. */
  surprises: string[];
  /** Events that were answered 200. */
  promised: string[];
}

export interface BrokenOptions {
  seed: number;
  first?: number;
  count: number;
  /** Statuses that may be answered. */
  documented: ReadonlySet<number>;
}

/** Breaks connections numbered from `first`; the same seed and number send the same bytes but for fresh ids. */
export async function runBroken(
  base: string,
  request: (chance: Chance) => Wanted,
  { seed, first = 0, count, documented }: BrokenOptions,
): Promise<BrokenRun> {
  const url = new URL(base);
  const run: BrokenRun = { statuses: {}, surprises: [], promised: [] };
  let next = first;

  function note(number: number, broken: Broken, heard: Heard): void {
    const answers = answersIn(heard.text, broken.bodiless);
    const problems = heard.late ? ['no answer in time'] : [];
    answers.forEach(({ status, body }, at) => {
      run.statuses[status] = (run.statuses[status] ?? 0) + 1;
      if (!documented.has(status)) problems.push(`${status} ${body.slice(0, 200)}`);
      if (status === 200 && !body.includes('"accepted":0')) run.promised.push(...(broken.promises[at] ?? []));
    });
    if (problems.length > 0) run.surprises.push(`#${number} ${broken.what}: ${problems.join('; ')}`);
  }

  async function slot(): Promise<void> {
    while (next < first + count && run.surprises.length < SURPRISES_MAX) {
      const number = next++;
      const chance = chanceOf(seed * 1_000_003 + number);
      const broken = brokenConnection(chance, () => request(chance));
      note(number, broken, await breakConnection(url, broken, chance.below(4)));
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, slot));
  return run;
}
