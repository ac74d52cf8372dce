import type { IdentitySettings } from '#infra/secrets/seal.ts';
import type { SettingRecord } from '#pipelines/settings/journal.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { CliResult } from '#services/cli/command.ts';
import type { PasswordChanges } from '#services/cli/password/password_commands.ts';
import { runCli } from '#services/cli/run_cli.ts';
import type { RunQuery } from '#services/control/queries/answers.ts';
import { createControlClient } from '#services/control_api/client.ts';
import { type Control, control, TOKEN } from '#test/unit/control/harness.ts';

export { NOW_MS } from '#test/unit/control/harness.ts';
export const SECRET = 'tok-en very secret';

/** The settings behind the control service. */
interface Store {
  readonly table: SettingsTable;
  /** Facts that were written; the audit beside them is left out. */
  readonly writes: SettingRecord[];
  /** Forgets what was written so far. */
  forget(): void;
  /** How often a command reached for the control service. */
  opened: number;
}

export interface Shop {
  control: Control;
  store: Store;
  files: Map<string, string>;
  identity: IdentitySettings | null;
  passwords: PasswordChanges;
  stdin: string;
  nowMs: number;
  /** What commands said while they waited. */
  said: string[];
  /** Called where a command waits. */
  sleep(ms: number): Promise<void>;
  /** Runs one command line; arguments with spaces go into the list form. */
  svc(words: string | string[]): Promise<CliResult>;
}

/** An empty installation: a command line, and a control service in memory behind it, whose queries go to `asks`. */
export async function installation(asks?: RunQuery): Promise<Shop> {
  const world = await control('cli:tester', asks);
  const shop: Shop = {
    control: world,
    store: storeOf(world),
    files: new Map(),
    identity: null,
    passwords: { rotateHere: async () => [], rotateIn: async () => [], finishIn: async () => ({ says: [], kept: [] }) },
    stdin: '',
    said: [],
    sleep: async () => undefined,
    get nowMs() {
      return world.clock.nowMs;
    },
    set nowMs(nowMs) {
      world.clock.nowMs = nowMs;
    },
    svc: (words) =>
      runCli(typeof words === 'string' ? words.split(' ') : words, {
        openContext: async () => contextOf(shop),
        openStatus: () => ({
          readReadyFile: () => null,
          fetched: async () => null,
          askControl: null,
          edgeUrl: null,
          readDisks: async () => [],
          nowMs: () => shop.nowMs,
          isTerminal: false,
        }),
        openDoctor: async () => [],
      }),
  };
  return shop;
}

function storeOf({ journal }: Control): Store {
  return {
    get table() {
      return journal.view().table;
    },
    get writes() {
      return journal.records.filter(({ key }) => !key.startsWith('audit/'));
    },
    forget() {
      journal.records.length = 0;
    },
    opened: 0,
  };
}

function contextOf(shop: Shop) {
  shop.store.opened += 1;
  return {
    client: createControlClient(shop.control.transport, TOKEN),
    edge: { url: null, key: null },
    clickhouse: null,
    s3: { endpoint: null, region: 'us-east-1', accessKeyId: null, secretAccessKey: null, sessionToken: null },
    nowMs: shop.nowMs,
    readFile(path: string) {
      const text = shop.files.get(path);
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
    readStdin: () => shop.stdin,
    identity: shop.identity,
    randomBytes: (bytes: number) => Buffer.alloc(bytes, 9),
    partsEnvironment: {},
    passwords: async () => shop.passwords,
    readLocal: (name: string) => shop.files.get(`.local/${name}`) ?? null,
    watch: { say: (line: string) => void shop.said.push(line), sleep: shop.sleep },
  };
}

/** An installation with one account and one site. */
export async function installedShop(): Promise<Shop> {
  const shop = await installation();
  await expectDone(shop.svc('account create acme --allowance 1000'));
  await expectDone(shop.svc('site create shop --account acme'));
  shop.store.forget();
  return shop;
}

export async function expectDone(running: Promise<CliResult>): Promise<string> {
  const result = await running;
  if (result.exitCode !== 0) throw new Error(`expected success: ${result.stderr}`);
  return result.stdout;
}
