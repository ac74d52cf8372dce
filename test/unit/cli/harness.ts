import { Type } from 'typebox';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { secretField, textField } from '#pipelines/delivery/settings.ts';
import type { SettingsStore } from '#pipelines/settings/store.ts';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';
import type { Context, Write } from '#services/cli/command.ts';
import { type CliResult, runCli } from '#services/cli/run.ts';

export const NOW_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
export const SECRET = 'tok-en very secret';

/** A store in memory that remembers what was written, and how often it was opened and closed. */
export interface MemoryStore extends SettingsStore {
  writes: Write[];
  opened: number;
  closed: number;
}

export function memoryStore(): MemoryStore {
  const table = createSettingsTable();
  const store: MemoryStore = {
    table,
    writes: [],
    opened: 0,
    closed: 0,
    async write(key: string, setting: Setting | null) {
      const result = table.apply(key, setting);
      if (!result.ok) throw new Error(result.code);
      store.writes.push({ key, setting });
    },
    async close() {
      store.closed += 1;
    },
  };
  return store;
}

export interface Shop {
  store: MemoryStore;
  files: Map<string, string>;
  stdin: string;
  nowMs: number;
  /** Runs one command line; arguments with spaces go into the list form. */
  svc(words: string | string[]): Promise<CliResult>;
}

/** An empty installation with a command line. */
export function installation(): Shop {
  let randomness = 0;
  const shop: Shop = {
    store: memoryStore(),
    files: new Map(),
    stdin: '',
    nowMs: NOW_MS,
    svc: (words) =>
      runCli(typeof words === 'string' ? words.split(' ') : words, {
        async openStore() {
          shop.store.opened += 1;
          return shop.store;
        },
        openContext: async () => contextOf(shop, () => randomness++),
        status: { readReadyFile: () => null, fetchHealth: async () => null },
      }),
  };
  return shop;
}

/** An installation with one account and one site. */
export async function installedShop(): Promise<Shop> {
  const shop = installation();
  await expectDone(shop.svc('account create acme --allowance 1000'));
  await expectDone(shop.svc('site create shop --account acme'));
  shop.store.writes.length = 0;
  return shop;
}

export async function expectDone(running: Promise<CliResult>): Promise<string> {
  const result = await running;
  if (result.exitCode !== 0) throw new Error(`expected success: ${result.stderr}`);
  return result.stdout;
}

function contextOf(shop: Shop, nextRandom: () => number): Omit<Context, 'table'> {
  return {
    nowMs: shop.nowMs,
    randomBytes: (bytes) => Uint8Array.from({ length: bytes }, () => (nextRandom() * 7) % 248),
    changedBy: 'cli:tester',
    adapters: [adapter],
    seal: ({ siteId, destination, field }, value) =>
      `k1.${'A'.repeat(16)}.${Buffer.from(`${siteId}/${destination}/${field}/${value}`).toString('base64url')}`,
    readFile(path) {
      const text = shop.files.get(path);
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
    readStdin: () => shop.stdin,
  };
}

const unused = (): never => {
  throw new Error('the command line does not send');
};

const adapter: Adapter = {
  name: 'crm',
  title: 'CRM',
  schema: Type.Object({
    url: textField({ title: 'Address', pattern: '^https://' }),
    note: Type.Optional(textField({ title: 'Note' })),
    token: secretField({ title: 'Token' }),
    spare: Type.Optional(secretField({ title: 'Spare token' })),
  }),
  anonymousEvents: 'send',
  limits: unused,
  ageMaxMs: unused,
  map: unused,
  overheadBytes: unused,
  request: unused,
  classify: unused,
};
