import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCli } from '#services/cli/run_cli.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import type { SharedService } from './shared_service.ts';

/** The settings of a running service, changed by the words of the command line. */
export interface SettingsEditor {
  /** Runs a command such as `site set shop --mode offline`; returns what it prints with --json. */
  run<Json>(...words: string[]): Promise<Json>;
  close(): Promise<void>;
}

/** Whatever says where the control service is and who may ask it. */
export interface ControlledService {
  ready: Pick<SharedService['ready'], 'control' | 'adminTokenFile'>;
}

/** Opens the settings for many commands, in this process, as each start of the command line takes a while. */
export async function openSettings({ ready }: ControlledService): Promise<SettingsEditor> {
  const token = readFileSync(ready.adminTokenFile, 'utf8').trim();
  const client = createControlClient(httpTransport(ready.control), token);
  const ports: Parameters<typeof runCli>[1] = {
    openContext: async () => ({
      client,
      nowMs: Date.now(),
      readFile: (path) => readFileSync(path, 'utf8'),
      readStdin: () => '',
      edge: { url: null, key: null },
      clickhouse: null,
      s3: { endpoint: null, region: 'us-east-1', accessKeyId: null, secretAccessKey: null, sessionToken: null },
      identity: null,
      passwords: () => Promise.reject(new Error('no passwords are changed here')),
      randomBytes,
      partsEnvironment: {},
      readLocal: () => null,
      watch: { say: () => undefined, sleep },
    }),
    openStatus: () => {
      throw new Error('no test asks for the status here');
    },
    openDoctor: () => Promise.reject(new Error('no test asks the doctor here')),
  };
  return {
    async run(...words) {
      const { exitCode, stdout, stderr } = await runCli([...words, '--json'], ports);
      if (exitCode !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    },
    close: async () => undefined,
  };
}
