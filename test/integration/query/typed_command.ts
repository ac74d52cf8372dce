import { randomBytes } from 'node:crypto';
import type { CliResult } from '#services/cli/command.ts';
import { runCli } from '#services/cli/run_cli.ts';
import { createControlClient } from '#services/control_api/client.ts';
import { TOKEN } from '#test/unit/control/harness.ts';
import type { QueryWorld } from './query_world.ts';

/** Runs command lines against the control service of a world. */
export function commandLine(
  { control }: QueryWorld,
  nowMs: number,
  files: Record<string, string> = {},
): (...words: string[]) => Promise<CliResult> {
  return (...words) =>
    runCli(words, {
      openContext: async () => ({
        client: createControlClient(control.transport, TOKEN),
        nowMs,
        readFile: (path) => files[path] ?? '',
        readStdin: () => '',
        edge: { url: null, key: null },
        clickhouse: null,
        s3: { endpoint: null, region: 'us-east-1', accessKeyId: null, secretAccessKey: null, sessionToken: null },
        identity: null,
        passwords: () => Promise.reject(new Error('no passwords are changed here')),
        randomBytes,
        partsEnvironment: {},
        readLocal: () => null,
        watch: { say: () => undefined, sleep: async () => undefined },
      }),
      openStatus: () => {
        throw new Error('no test asks for the status here');
      },
      openDoctor: () => Promise.reject(new Error('no test asks the doctor here')),
    });
}

/** The words of a line as a shell reads them, where it has no more than whole words in quotes. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}
