import { expect, test } from 'vitest';
import { JournalError } from '#pipelines/settings/journal.ts';
import { checkDomains, createLookRounds } from '#services/control/sites/domains.ts';
import { type Control, controlWithShop, DOMAIN_RULES, LABEL, NOW_MS } from './harness.ts';

const place = 'sites/shop/domains/t.shop.example';
const warnings: unknown[] = [];
const logger = { warn: (facts: unknown) => void warnings.push(facts) };

function watch(world: Control, rounds = createLookRounds()): Promise<void> {
  const { journal, dns, clock } = world;
  const options = { journal, dns, rules: DOMAIN_RULES, nowMs: () => clock.nowMs, logger };
  return checkDomains(options as Parameters<typeof checkDomains>[0], rounds);
}

function setRecord(world: Control, { txt }: { txt: { name: string; value: string } }): void {
  world.zone.set(`TXT ${txt.name}`, [[txt.value]]);
}

async function verified(): Promise<Control> {
  const world = await controlWithShop();
  const claimed = await world.call('PUT', place);
  setRecord(world, claimed.body.records);
  await world.call('POST', `${place}/verify`);
  return world;
}

const servedAt = ({ journal }: Control): string | undefined =>
  journal.view().table.siteServedAt('t.shop.example')?.site_id;

const audited = async (world: Control): Promise<string[]> =>
  (await world.call('GET', 'audit')).body.items
    .filter(({ setting_key }: { setting_key: string }) => setting_key.startsWith('domain_proof/'))
    .map(({ action, changed_by }: { action: string; changed_by: string }) => `${action} by ${changed_by}`);

test('a claim shows the records to set, and is not served before one is found', async () => {
  const world = await controlWithShop();
  const claimed = await world.call('PUT', 'sites/shop/domains/T.Shop.Example');
  expect(claimed).toMatchObject({
    status: 200,
    body: {
      domain: 't.shop.example',
      site_id: 'shop',
      state: 'pending',
      verified_at: null,
      records: {
        txt: { name: '_svc-challenge.t.shop.example', value: expect.stringMatching(/^svc-site-verification=/) },
        cname: { name: 't.shop.example', value: expect.stringMatching(/\.edge\.example$/) },
      },
    },
  });
  const looked = await world.call('POST', `${place}/verify`);
  expect(looked).toMatchObject({ status: 200, body: { state: 'pending' } });
  expect(servedAt(world)).toBeUndefined();
  expect((await world.call('GET', place)).body).toEqual(claimed.body);
});

test('to claim twice is to claim once', async () => {
  const world = await controlWithShop();
  await world.call('PUT', place);
  expect(await world.call('PUT', place)).toMatchObject({ status: 200 });
  expect((await world.call('GET', 'sites/shop')).body.domains).toEqual(['t.shop.example']);
});

test.each(['TXT', 'CNAME'] as const)('a %s record verifies it, which the audit names', async (kind) => {
  const world = await controlWithShop();
  const { records } = (await world.call('PUT', place)).body;
  const record = kind === 'TXT' ? records.txt : records.cname;
  world.zone.set(`${kind} ${record.name}`, [[record.value]]);
  expect(await world.call('POST', `${place}/verify`)).toMatchObject({
    status: 200,
    body: { state: 'verified', verified_at: NOW_MS },
  });
  expect(servedAt(world)).toBe('shop');
  expect(await audited(world)).toEqual([`create by ${LABEL}`]);
});

test('name servers that are away verify nothing and end nothing', async () => {
  const world = await verified();
  world.zone.set('*', 'silent');
  expect(await world.call('POST', `${place}/verify`)).toMatchObject({
    status: 503,
    body: { error: { code: 'dns_unavailable' } },
  });
  await watch(world);
  expect(servedAt(world)).toBe('shop');
});

test('the watch verifies what was claimed, without being asked', async () => {
  const world = await controlWithShop();
  setRecord(world, (await world.call('PUT', place)).body.records);
  await watch(world);
  expect(servedAt(world)).toBe('shop');
  expect(await audited(world)).toEqual(['create by domain-watch']);
});

test('a record that is gone is forgiven for the grace, and no longer', async () => {
  const world = await verified();
  world.zone.clear();
  await watch(world);
  expect((await world.call('GET', place)).body).toMatchObject({
    state: 'failing',
    failing_since: NOW_MS,
    lapses_at: NOW_MS + DOMAIN_RULES.graceMs,
  });
  world.clock.nowMs = NOW_MS + DOMAIN_RULES.graceMs - 1;
  await watch(world);
  expect(servedAt(world)).toBe('shop');
  world.clock.nowMs += 1;
  await watch(world);
  expect(servedAt(world)).toBeUndefined();
  expect((await world.call('GET', place)).body).toMatchObject({ state: 'lapsed', verified_at: null });
});

test('a record that comes and goes stands in the audit once a day, and is served as it is all the same', async () => {
  const world = await verified();
  const blink = async (): Promise<void> => {
    const records = new Map(world.zone);
    world.zone.clear();
    await watch(world);
    for (const [name, found] of records) world.zone.set(name, found);
    world.clock.nowMs += 600_000;
    await watch(world);
    world.clock.nowMs += 600_000;
  };
  for (let times = 0; times < 20; times++) await blink();
  const noted = async () => (await audited(world)).filter((line) => line.endsWith('domain-watch')).length;
  expect(await noted()).toBe(1);
  expect((await world.call('GET', place)).body).toMatchObject({ state: 'verified', failing_since: null });
  world.clock.nowMs += 86_400_000;
  await blink();
  expect(await noted()).toBe(2);
});

test('a look that finds nothing new writes nothing', async () => {
  const world = await verified();
  world.journal.records.length = 0;
  await watch(world);
  await world.call('POST', `${place}/verify`);
  expect(world.journal.records).toEqual([]);
});

test('what cannot be stored is logged and found again the next time', async () => {
  const world = await verified();
  world.zone.clear();
  world.journal.failure = new JournalError('away');
  await watch(world);
  expect(warnings).toMatchObject([{ domain: 't.shop.example' }]);
  world.journal.failure = null;
  await watch(world);
  expect((await world.call('GET', place)).body.state).toBe('failing');
});

test.each([
  ['released', (world: Control) => world.call('DELETE', place)],
  [
    'left out of the list of its site',
    (world: Control) => world.call('PATCH', 'sites/shop', { body: { domains: [] }, ifMatch: '*' }),
  ],
])('a domain that is %s has to be verified anew', async (_, give) => {
  const world = await verified();
  expect(await give(world)).toMatchObject({ status: 200 });
  expect(servedAt(world)).toBeUndefined();
  await world.call('PUT', place);
  expect((await world.call('GET', place)).body.state).toBe('pending');
});

test("what proves one site's claim proves no other's", async () => {
  const world = await verified();
  await world.call('DELETE', place);
  await world.call('POST', 'sites', { body: { site_id: 'other', account_id: 'acme' } });
  await world.call('PUT', 'sites/other/domains/t.shop.example');
  const looked = await world.call('POST', 'sites/other/domains/t.shop.example/verify');
  expect(looked.body.state).toBe('pending');
});

const otherPlace = 'sites/other/domains/t.shop.example';

/** A stranger's site, which claims the same domain. */
async function stranger(world: Control): Promise<{ txt: { name: string; value: string } }> {
  await world.call('POST', 'sites', { body: { site_id: 'other', account_id: 'acme' } });
  const claimed = await world.call('PUT', otherPlace);
  expect(claimed).toMatchObject({ status: 200, body: { site_id: 'other', state: 'pending' } });
  return claimed.body.records;
}

test('a claim that is not proven keeps nobody out: who proves it first has it', async () => {
  const world = await controlWithShop();
  const records = await stranger(world);
  setRecord(world, (await world.call('PUT', place)).body.records);
  expect(await world.call('POST', `${place}/verify`)).toMatchObject({ status: 200, body: { state: 'verified' } });
  expect(servedAt(world)).toBe('shop');
  world.zone.set(`TXT ${records.txt.name}`, [
    [records.txt.value],
    [(await world.call('GET', place)).body.records.txt.value],
  ]);
  await watch(world);
  expect(await world.call('POST', `${otherPlace}/verify`)).toMatchObject({
    status: 409,
    body: { error: { code: 'claimed_elsewhere' }, problems: [{ code: 'domain_claimed' }] },
  });
  expect(servedAt(world)).toBe('shop');
  expect(await world.call('PATCH', 'sites/other', { body: { name: 'Renamed' }, ifMatch: '*' })).toMatchObject({
    status: 200,
  });
  const listed = (await world.call('GET', 'domains')).body.items;
  expect(listed.map(({ site_id, state }: { site_id: string; state: string }) => [site_id, state])).toEqual([
    ['other', 'pending'],
    ['shop', 'verified'],
  ]);
});

test('a domain that changed hands is the next site’s once the former one’s has lapsed', async () => {
  const world = await verified();
  await world.call('POST', 'sites', { body: { site_id: 'other', account_id: 'acme' } });
  world.zone.clear();
  await watch(world);
  expect(await world.call('PUT', otherPlace)).toMatchObject({ status: 409 });
  world.clock.nowMs += DOMAIN_RULES.graceMs;
  await watch(world);
  setRecord(world, (await world.call('PUT', otherPlace)).body.records);
  await watch(world);
  expect(servedAt(world)).toBe('other');
  expect((await world.call('GET', place)).body.state).toBe('lapsed');
  expect(await world.call('DELETE', place)).toMatchObject({ status: 200 });
  expect(servedAt(world)).toBe('other');
});

test('what is never proven is looked for more and more rarely, and what is served in every round', async () => {
  const world = await verified();
  await world.call('PUT', 'sites/shop/domains/u.shop.example');
  const asked: string[] = [];
  const txt: typeof world.dns.txt = (name) => {
    asked.push(name);
    return world.dns.txt(name);
  };
  const rounds = createLookRounds();
  for (let at = 0; at < 40; at += 1) await watch({ ...world, dns: { ...world.dns, txt } }, rounds);
  expect(asked.filter((name) => name.endsWith('.u.shop.example'))).toHaveLength(6);
  expect(asked.filter((name) => name.endsWith('.t.shop.example'))).toHaveLength(40);
});

test('what is unknown, malformed or taken is refused', async () => {
  const world = await verified();
  await world.call('POST', 'sites', { body: { site_id: 'other', account_id: 'acme' } });
  const answers = [
    await world.call('GET', 'sites/shop/domains/x.example'),
    await world.call('POST', 'sites/shop/domains/x.example/verify'),
    await world.call('DELETE', 'sites/shop/domains/x.example'),
    await world.call('PUT', 'sites/nobody/domains/x.example'),
    await world.call('GET', 'domains?site_id=nobody'),
    await world.call('PUT', 'sites/shop/domains/localhost'),
    await world.call('PUT', 'sites/other/domains/t.shop.example'),
  ];
  expect(answers.map(({ status, body }) => `${status} ${body.error.code}`)).toEqual([
    '404 domain_unknown',
    '404 domain_unknown',
    '404 domain_unknown',
    '404 site_unknown',
    '404 site_unknown',
    '400 settings_invalid',
    '409 claimed_elsewhere',
  ]);
});

test.each([
  'com.au',
  'co.uk',
  'github.io',
  'edge.example',
  'Token.Edge.Example',
  'metadata.google.internal',
  'facebookcorewwwi.onion',
  '1.0.0.127.in-addr.arpa',
  'printer.local',
  'a.localhost.',
])('%s is nobody’s own', async (domain) => {
  const world = await controlWithShop();
  const refused = {
    status: 400,
    body: { error: { code: 'settings_invalid' }, problems: [{ code: 'domain_unclaimable' }] },
  };
  expect(await world.call('PUT', `sites/shop/domains/${domain}`)).toMatchObject(refused);
  const changed = world.call('PATCH', 'sites/shop', { body: { domains: [domain] }, ifMatch: '*' });
  expect(await changed).toMatchObject(refused);
  const site = { site_id: 'new', account_id: 'acme', domains: [domain] };
  expect(await world.call('POST', 'sites', { body: site })).toMatchObject(refused);
});

test.each(['shop.co.uk', 'acme.github.io', 'not-edge.example', 'onion.example', 'internal.shop.example'])(
  '%s may be a site’s own',
  async (domain) => {
    const world = await controlWithShop();
    expect(await world.call('PUT', `sites/shop/domains/${domain}`)).toMatchObject({ status: 200 });
  },
);

test('domains are listed for a site, or for all', async () => {
  const world = await verified();
  await world.call('POST', 'sites', { body: { site_id: 'other', account_id: 'acme', domains: ['a.example'] } });
  const names = async (query: string): Promise<string[]> =>
    (await world.call('GET', `domains${query}`)).body.items.map(({ domain }: { domain: string }) => domain);
  expect(await names('')).toEqual(['a.example', 't.shop.example']);
  expect(await names('?site_id=shop')).toEqual(['t.shop.example']);
});
