// `svc doctor`: looks at each part, whatever the others do, and says of each thing whether it is as it should be.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CliResult } from '../command.ts';
import { fillOf, inGib } from '../local_folder.ts';

/** failure: events are lost or stand, now or with the next fault; warning: it is not as it should be, or could not be looked at. */
type CheckState = 'ok' | 'warning' | 'failure';

export interface CheckResult {
  /** What was looked at, as `redis.persistence`; stable, for programs. */
  check: string;
  state: CheckState;
  says: string;
  /** What to do; empty where all is well. */
  todo: string;
}

export const OPERATIONS = 'docs/operations.md';

export const ok = (check: string, says: string): CheckResult => ({ check, state: 'ok', says, todo: '' });
export const warning = (check: string, says: string, todo: string): CheckResult => ({
  ...{ check, state: 'warning', says, todo },
});
export const failure = (check: string, says: string, todo: string): CheckResult => ({
  ...{ check, state: 'failure', says, todo },
});

/** What this user, or this login, may not read. */
export const unread = (check: string, what: string, todo: string): CheckResult =>
  warning(check, `this login may not read ${what}`, todo);

const LISTED_MAX = 4;

export function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return more > 0 ? `${names.slice(0, LISTED_MAX).join(', ')} and ${more} more` : names.join(', ');
}

/** How full a disk is. */
export function diskCheck(check: string, name: string, freeBytes: number, totalBytes: number): CheckResult {
  const says = `${name}: ${inGib(freeBytes)} free, ${Math.floor((100 * freeBytes) / totalBytes)} %`;
  const todo = `free space before it is full: ${OPERATIONS}#disks-and-parts`;
  const fill = fillOf({ freeBytes, totalBytes });
  if (fill === 'free') return ok(check, says);
  return fill === 'full' ? failure(check, says, todo) : warning(check, says, todo);
}

const CLOCK_MS_WARNING = 5_000;
const CLOCK_MS_MAX = 5 * 60_000;

/** How the clock of this host stands to another, whose answers tell the time to `withinMs`. */
export function clockCheck(check: string, other: string, aheadMs: number, withinMs = 0): CheckResult {
  const offMs = Math.max(0, Math.abs(aheadMs) - withinMs);
  const says =
    offMs === 0 || offMs < CLOCK_MS_WARNING
      ? `the clocks of this host and of ${other} agree`
      : `the clock of this host is ${Math.round(offMs / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${other}`;
  const todo = `run NTP on both: ${OPERATIONS}#clocks`;
  if (offMs < CLOCK_MS_WARNING) return ok(check, says);
  return offMs > CLOCK_MS_MAX ? failure(check, says, todo) : warning(check, says, todo);
}

/** Something that is looked at by itself. */
export interface Section {
  /** As `kafka`; names the check that fails where it cannot be looked at. */
  part: string;
  /** In a sentence. */
  name: string;
  look(): Promise<CheckResult[]>;
}

/** Of each section, with room for the tries of its client. */
const SECTION_MS_MAX = 8_000;

/** Runs all sections side by side. Exit status 1 where a check fails; warnings leave it at 0. */
export async function doctorReport(
  sections: readonly Section[],
  json: boolean,
  timeoutMs = SECTION_MS_MAX,
): Promise<CliResult> {
  const checks = (await Promise.all(sections.map((section) => lookAt(section, timeoutMs)))).flat();
  const count = (state: CheckState): number => checks.filter((one) => one.state === state).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  const width = Math.max(0, ...checks.map(({ check }) => check.length));
  const lines = checks.flatMap(({ check, state, says, todo }) => [
    `${state.padEnd(9)}${check.padEnd(width)}  ${says}`,
    ...(todo === '' ? [] : [`${' '.repeat(width + 11)}-> ${todo}`]),
  ]);
  const sum = `${failures} ${failures === 1 ? 'failure' : 'failures'}, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${count('ok')} ok`;
  const text = json ? JSON.stringify({ failures, warnings, checks }, null, 2) : [...lines, '', sum].join('\n');
  return { exitCode: failures > 0 ? 1 : 0, stdout: `${text}\n`, stderr: '' };
}

async function lookAt({ part, name, look }: Section, timeoutMs: number): Promise<CheckResult[]> {
  const late = sleep(timeoutMs, null, { ref: false });
  const silent = (why: string): CheckResult[] => [
    failure(
      `${part}.reachable`,
      `${name} cannot be looked at: ${why}`,
      `look at its log, and at address and login: ${OPERATIONS}#disks-and-parts`,
    ),
  ];
  try {
    return (await Promise.race([look(), late])) ?? silent('no answer in time');
  } catch (error) {
    return silent(whyOf(error));
  }
}

/** The kind of an error; its text may quote an address with its password. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { code, cause } = error as Error & { code?: unknown };
  const inner = (cause as { code?: unknown } | undefined)?.code;
  const said = /\b[A-Z]{4,}_[A-Z_]+\b/.exec(error.message)?.[0];
  return [error.name, code, inner, said]
    .filter((one, at, all) => typeof one === 'string' && all.indexOf(one) === at)
    .join(' ');
}
