// `svc doctor`: looks at each part, whatever the others do, and says of each thing whether it is as it should be.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CliResult } from '../command.ts';
import { type CheckResult, type CheckState, failure, OPERATIONS } from './check.ts';

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
