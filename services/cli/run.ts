import type { SettingsStore } from '#pipelines/settings/store.ts';
import type { Context } from './command.ts';
import { type Plan, planOf } from './plan.ts';
import { type StatusPorts, statusReport } from './status.ts';
import { UsageError } from './usage_error.ts';

/** The world around the command line. */
export interface CliPorts {
  openStore(): Promise<SettingsStore>;
  /** Everything a command may use beside the table of the store. */
  openContext(): Promise<Omit<Context, 'table'>>;
  status: StatusPorts;
}

/** Exit status: 0 done, 1 it failed though the request was sound, 2 the request cannot be done. */
export interface CliResult {
  exitCode: 0 | 1 | 2;
  stdout: string;
  stderr: string;
}

/**
 * Runs one command line. What is wrong with it comes back as one line, `svc: CODE: message`, and exit status 2; failures
 * of the service, such as a broker that does not answer, are thrown.
 */
export async function runCli(words: readonly string[], ports: CliPorts): Promise<CliResult> {
  try {
    return await execute(planOf(words), ports);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { exitCode: 2, stdout: '', stderr: `svc: ${error.code}: ${oneLine(error.message)}\n` };
  }
}

async function execute(plan: Plan, ports: CliPorts): Promise<CliResult> {
  if (plan.kind === 'print') return printed(plan.text);
  if (plan.kind === 'status') return await statusReport(ports.status, plan.json);
  const store = await ports.openStore();
  try {
    const outcome = plan.command.run(plan.args, { ...(await ports.openContext()), table: store.table });
    for (const { key, setting } of outcome.writes) await store.write(key, setting);
    return printed(plan.args.flag('json') ? JSON.stringify(outcome.json, null, 2) : outcome.text);
  } finally {
    await store.close();
  }
}

function printed(text: string): CliResult {
  return { exitCode: 0, stdout: `${text}\n`, stderr: '' };
}

/** Messages may repeat what was typed, line breaks and terminal codes included. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
