import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { followTopic } from '#infra/kafka/follow_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { AuditPage, DataReadPage } from '#services/control_api/audit.ts';
import { type ControlClient, createControlClient, httpTransport } from '#services/control_api/client.ts';
import type { MadeShare, ShareItem } from '#services/control_api/queries.ts';
import type { IssuedKeyItem, SiteItem } from '#services/control_api/sites.ts';
import { kafkaOf, uniqueName } from '#test/harness/kafka.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const token = readFileSync(service.ready.adminTokenFile, 'utf8').trim();
const client = createControlClient(httpTransport(service.ready.control), token);

interface Place {
  site: string;
  issued: IssuedKeyItem;
}

async function makePlace(control: ControlClient): Promise<Place> {
  const site = uniqueName('c');
  await control.send('POST', '/accounts', null, { account_id: site, monthly_allowance: 1000 });
  await control.send('POST', '/sites', null, { site_id: site, account_id: site });
  const issued = await control.send<IssuedKeyItem>('POST', '/keys', null, { site_id: site, caller: 'browser' });
  await effect('the edge knows the key', issued.secret, (status) => status === 200);
  return { site, issued };
}

/** Asks the edge for the configuration until the answer is as wanted. */
function effect(what: string, key: string, isThere: (status: number, body: string) => boolean, origin?: string) {
  const headers = { 'x-svc-key': key, ...(origin === undefined ? {} : { origin }) };
  const ask = async () => {
    const response = await fetch(`${service.ready.edge}/v1/config`, { headers });
    return { status: response.status, body: await response.text() };
  };
  return until(what, ask, ({ status, body }) => isThere(status, body));
}

describe('the edge obeys', () => {
  it('a changed mode, allow-list and key', async () => {
    const { site, issued } = await makePlace(client);
    const { secret, key } = issued;
    const { version } = await client.get<SiteItem>(`/sites/${site}`);
    await client.send('PATCH', `/sites/${site}`, version, { mode: 'offline' });
    await effect('offline mode', secret, (_status, body) => body.includes('"offline"'));
    const origins = { allowed_origins: ['https://a.example'] };
    await client.send('PATCH', `/keys/${key.key_hash}`, key.version, origins);
    await effect('the allow-list', secret, (status) => status === 403, 'https://b.example');
    await client.send('POST', `/keys/${key.key_hash}/revoke`, null);
    await effect('the revocation', secret, (status) => status === 403);
  });
});

describe('a secret', () => {
  it('is in no answer, no log and no record, and the change of it in the audit that is kept by time, and in the log', async () => {
    const { site } = await makePlace(client);
    const planted = 'whsec_UGxhbnRlZFNlY3JldE9mVGhlQ29udHJvbFRlc3Q=';
    const path = `/v1/admin/sites/${site}/destinations`;
    const good = { name: 'webhook', settings: { url: `https://hook.example/${site}` }, secrets: { secret: planted } };
    const answers = [
      await post(path, JSON.stringify({ ...good, secrets: { secrt: planted } })),
      await post(path, JSON.stringify({ ...good, settings: { ...good.settings, secret: planted } })),
      await post(path, JSON.stringify(good).slice(0, -1)),
      await post(path, JSON.stringify(good), 'text/plain'),
      await post(path, JSON.stringify(good)),
      await get(`${path}/webhook`),
      await get('/v1/admin/audit?limit=50'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 415, 201, 200, 200]);
    for (const { body } of answers) expect(body).not.toContain(planted);
    expect(filesWith(join(service.dataDir, 'log'), planted)).toEqual([]);
    const records = await recordsOf(TOPICS.settings);
    expect(records.filter((record) => record.includes(planted))).toEqual([]);
    // The search does find what is there: the address beside the secret, in the fact and in its audit entry.
    expect(records.filter((record) => record.includes(good.settings.url))).toHaveLength(2);
    const kept = await recordsOf(TOPICS.audit);
    expect(kept.filter((record) => record.includes(planted))).toEqual([]);
    expect(kept.filter((record) => record.includes(good.settings.url))).toHaveLength(1);
    expect(filesWith(join(service.dataDir, 'log'), `destination/${site}/webhook`)).not.toEqual([]);
  });
});

describe('who asks for the events of people', () => {
  it('stands in the audit, also of what was answered before it was stopped', async () => {
    const { site } = await makePlace(client);
    for (const format of ['json', 'csv']) {
      expect((await post(`/v1/query/${site}/live?format=${format}`, '{}')).status).toBe(200);
    }
    const path = `/audit/reads?site_id=${site}`;
    const { items } = await until(
      'the audit has both',
      () => client.get<DataReadPage>(path),
      (page) => page.items.length === 2,
    );
    const entry = { site_id: site, kind: 'live', reads: 1, rows: 0 };
    expect(items).toMatchObject([
      { ...entry, format: 'csv' },
      { ...entry, format: 'json' },
    ]);
    expect((await post(`/v1/query/${site}/live`, '{}')).status).toBe(200);
    const running = await readyProcess(service, 'control');
    process.kill(running.pid, 'SIGTERM');
    await readyProcess(service, 'control', running);
    expect((await client.get<DataReadPage>(path)).items).toHaveLength(3);
  });
});

describe('a shared link', () => {
  it('is answered by ClickHouse to whoever has it, framed where its site says, limited, and gone once revoked', async () => {
    const { site } = await makePlace(client);
    const at = `/sites/${site}`;
    const to = Date.now();
    const question = { from: to - 86_400_000, to, field: { column: 'country' } };
    await client.send('POST', `${at}/questions`, null, { id: 'countries', name: 'Countries', query: 'top', question });
    await client.send('POST', `${at}/boards`, null, { id: 'weekly', name: 'Weekly', questions: ['countries'] });
    const { version } = await client.get<SiteItem>(at);
    await client.send('PATCH', at, version, { embed_origins: ['https://intranet.example'] });
    const body = { kind: 'board', item_id: 'weekly', name: 'Agency', last_days: 7, may_embed: true };
    const { path, share } = await client.send<MadeShare>('POST', `${at}/shares`, null, body);
    const [page = '', secret = ''] = path.split('#');
    const read = (what = '', bearer = secret) =>
      fetch(`${service.ready.control}/v1/shared/${share.link_id}${what}`, {
        headers: { authorization: `Bearer ${bearer}` },
      });
    const policyOf = async () => (await fetch(service.ready.control + page)).headers.get('content-security-policy');
    expect(await policyOf()).toContain('frame-ancestors https://intranet.example;');
    expect(await (await read()).json()).toMatchObject({ name: 'Weekly', questions: [{ id: 'countries' }] });
    const answer = await read('/questions/countries');
    expect([answer.status, await answer.json()]).toMatchObject([200, { values: [] }]);
    const opened = (await client.list<ShareItem>(`${at}/shares`)).map((one) => [one.opened, one.state]);
    expect(opened).toEqual([[1, 'active']]);
    expect((await read('', `svc_sh_${'A'.repeat(32)}`)).status).toBe(404);
    await client.send('POST', `${at}/shares/${share.link_id}/revoke`, null);
    for (const what of ['', '/questions/countries']) {
      const refused = await read(what);
      expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: 'share_unknown' } }]);
    }
    expect(await policyOf()).toContain("frame-ancestors 'none';");
    const tries = await Promise.all(Array.from({ length: 300 }, () => read()));
    const limited = tries.find(({ status }) => status === 429);
    expect(Number(limited?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(filesWith(join(service.dataDir, 'log'), secret)).toEqual([]);
    for (const topic of [TOPICS.settings, TOPICS.audit]) {
      expect((await recordsOf(topic)).filter((record) => record.includes(secret))).toEqual([]);
    }
  });
});

describe('without the control service', () => {
  it('the edge goes on, and the audit is there when it is back', async () => {
    const { issued } = await makePlace(client);
    const before = await client.get<AuditPage>('/audit?limit=1');
    const running = await readyProcess(service, 'control');
    process.kill(running.pid, 'SIGKILL');
    await effect('the configuration', issued.secret, (status) => status === 200);
    await readyProcess(service, 'control', running);
    expect(await client.get('/audit?limit=1')).toEqual(before);
    expect(await get('/v1/admin/health')).toMatchObject({ status: 200, body: '{"ok":true}' });
  });
});

interface Answer {
  status: number;
  body: string;
}

async function post(path: string, body: string, type = 'application/json'): Promise<Answer> {
  return httpTransport(service.ready.control)({
    method: 'POST',
    path,
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
  });
}

async function get(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` };
  return httpTransport(service.ready.control)({ method: 'GET', path, headers, body: null });
}

/** Every record of a topic as it stands in Kafka, decompressed. */
async function recordsOf(topic: string): Promise<Buffer[]> {
  const records: Buffer[] = [];
  const following = await followTopic({
    kafka: kafkaOf(service.ready.kafka),
    topic,
    groupPrefix: 'test',
    onRecord: (key, value) => void records.push(Buffer.concat([Buffer.from(key), value ?? Buffer.of()])),
    onFatal(error) {
      throw error;
    },
  });
  await following.stop();
  return records;
}

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}
