import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readReady } from '#services/local/demo/ready.ts';

const SITE = { site: 'site_1', browserKey: 'svc_pk_secret', serverKey: 'svc_sk_secret' };
const READY = {
  edge: 'http://127.0.0.1:1',
  registry: 'http://127.0.0.1:2',
  kafka: '127.0.0.1:3',
  redis: 'redis://127.0.0.1:4',
  clickhouse: 'http://u:p@127.0.0.1:5/svc',
  demo: {
    shop: SITE,
    travel: { ...SITE, blockedIp: '198.51.100.66' },
    metaStandin: 'http://127.0.0.1:6',
    webhookStandin: 'http://127.0.0.1:6',
  },
};

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-ready-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(value: unknown): Promise<string> {
  const path = join(folder, 'ready.json');
  await writeFile(path, JSON.stringify(value));
  return path;
}

describe('readReady', () => {
  it('reads what npm start has written, whatever else is in it', async () => {
    expect(await readReady(await written(READY))).toMatchObject({ edge: READY.edge, demo: READY.demo });
  });

  it('says to start the service where the file is not there', async () => {
    await expect(readReady(join(folder, 'none.json'))).rejects.toMatchObject({ code: 'not_started' });
  });

  it.each([
    { title: 'the demo sites', value: { ...READY, demo: undefined }, field: 'demo' },
    {
      title: 'a key',
      value: { ...READY, demo: { ...READY.demo, shop: { ...SITE, serverKey: 7 } } },
      field: 'serverKey',
    },
  ])('names what is wrong with $title and shows no key', async ({ value, field }) => {
    const failure = readReady(await written(value));
    await expect(failure).rejects.toMatchObject({
      code: 'demo_sites_missing',
      message: expect.stringContaining(field),
    });
    await expect(failure).rejects.not.toMatchObject({ message: expect.stringContaining('secret') });
  });
});
