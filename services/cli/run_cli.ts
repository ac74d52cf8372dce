import { ControlRefusal } from '#services/control_api/client.ts';
import { oneLine } from '#services/render.ts';
import type { CliResult, Context } from './command.ts';
import { type Plan, planOf } from './command_plan.ts';
import { type StatusPorts, statusReport } from './status.ts';
import { UsageError } from './usage_error.ts';

/** The world around the command line. */
export interface CliPorts {
  openContext(): Promise<Context>;
  status: StatusPorts;
}

/**
 * Runs one command line. What is wrong with it comes back as one line, `svc: CODE: message`, and exit status 2; failures
 * of the service, such as one that does not answer, are thrown.
 */
export async function runCli(words: readonly string[], ports: CliPorts): Promise<CliResult> {
  try {
    return await execute(planOf(words), ports);
  } catch (error) {
    const refusal = error instanceof ControlRefusal ? usageError(error) : error;
    if (!(refusal instanceof UsageError)) throw error;
    return { exitCode: 2, stdout: '', stderr: `svc: ${refusal.code}: ${oneLine(refusal.message)}\n` };
  }
}

async function execute(plan: Plan, ports: CliPorts): Promise<CliResult> {
  if (plan.kind === 'print') return printed(plan.text);
  if (plan.kind === 'status') return await statusReport(ports.status, plan.json);
  const outcome = await plan.command.run(plan.args, await ports.openContext());
  const result = printed(plan.args.flag('json') ? JSON.stringify(outcome.json, null, 2) : outcome.text);
  return outcome.isPartial === true ? { ...result, exitCode: 1 } : result;
}

/** The code of the first problem, where there is one, says more than that there are problems. */
function usageError({ code, message, problems }: ControlRefusal): UsageError {
  const [first] = problems;
  if (first === undefined) return new UsageError(code, message);
  return new UsageError(first.code, problems.map((item) => `${item.field}: ${item.message}`).join('; '));
}

function printed(text: string): CliResult {
  return { exitCode: 0, stdout: `${text}\n`, stderr: '' };
}
