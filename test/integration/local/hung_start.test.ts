import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPart, type LocalPart, type PartPlan } from '#infra/local/part.ts';

/** The first start hangs, each further one is ready at once. */
const HANGS_ONCE = `
  const fs = require('node:fs');
  fs.existsSync('begun') ? fs.writeFileSync('ready', '') : fs.writeFileSync('begun', '');
  setInterval(() => {}, 1000);
`;
let folder: string;
let part: LocalPart;
let exits: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hung-'));
  exits = [];
});
afterEach(async () => {
  await part.stop();
  rmSync(folder, { recursive: true });
});

function hanging(options: Partial<PartPlan>): LocalPart {
  const plan: PartPlan = {
    name: 'registry',
    address: '',
    logPath: join(folder, 'part.log'),
    command: process.execPath,
    args: ['-e', HANGS_ONCE],
    cwd: folder,
    isReady: async () => existsSync(join(folder, 'ready')),
    readyTimeoutMs: 1_500,
    ...options,
  };
  return createPart(plan, (name) => exits.push(name));
}

test('a start that hangs is given up and begun again', async () => {
  part = hanging({ startsMax: 2 });
  await part.start();
  expect(part.pid).toBeGreaterThan(0);
  expect(exits).toEqual([]);
});

test('a start that hangs too often has failed, and leaves nothing running', async () => {
  part = hanging({});
  await expect(part.start()).rejects.toMatchObject({ code: 'local_part_failed' });
  expect(part.pid).toBeUndefined();
});
