import { expect, test } from 'vitest';
import { createRecordSeal, parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import type { Answer, HttpRequest } from '#pipelines/delivery/contract.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { sign } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { RETRY_AGE_MAX_MS, RETRY_DELAYS } from '#pipelines/delivery/retry_topics.ts';
import { finished, newErasure, SEALED_AS } from '#pipelines/erasure/erasure.ts';
import {
  afterCall,
  inParts,
  isNoticeDue,
  joined,
  NOTICE_SEALED_AS,
  newNotice,
  type SentIds,
} from '#pipelines/erasure/notices.ts';
import type { PersonSubject } from '#pipelines/erasure/subject.ts';
import type { Erasure } from '#schemas/records.ts';
import type { Destination, DestinationRule } from '#schemas/setting.ts';
import type { ErasureParts } from '#services/erasure/erasure_log.ts';
import { createNoticeSender, type NoticeSender, noticesOf, sealedAnew } from '#services/erasure/notices.ts';
import { webhookStandin } from '#services/local/platforms/webhook.ts';
import { siteOf } from '#test/unit/delivery/entries.ts';

const AT_MS = 1_000_000;
const ids = (count: number): SentIds => ({
  distinct_ids: Array.from({ length: count }, (_, at) => `d${at}`),
  ...{ person_ids: ['p'], email_sha256: ['e'], external_id_sha256: [] },
});
const RETRY = { kind: 'retry', reason: 'http_500' } as const;

test('what is told goes in parts that receivers take, each id once', () => {
  const parts = inParts(joined([ids(3)], ids(250)));
  expect(parts.map((part) => Object.values(part).flat().length)).toEqual([100, 100, 52]);
  expect(joined(parts.slice(0, -1), parts.at(-1) as SentIds)).toEqual(ids(250));
  expect(inParts({ distinct_ids: [], person_ids: [], email_sha256: [], external_id_sha256: [] })).toEqual([]);
});

test('what is not taken is told again as deliveries are, and given up after as long; what it says is gone then', () => {
  const pending = newNotice('webhook', 'sealed', AT_MS);
  const once = afterCall(pending, RETRY, null, AT_MS, 0);
  expect(once).toMatchObject({ state: 'pending', sealed: 'sealed', attempt: 1, first_at: AT_MS, reason: 'http_500' });
  expect(once.due_at).toBe(AT_MS + RETRY_DELAYS[0].delayMs);
  const waits = afterCall(once, { kind: 'throttle', reason: 'http_429', retryAfterMs: 7_200_000 }, null, AT_MS, 0);
  expect(waits.due_at).toBe(AT_MS + 7_200_000);
  const late = afterCall(waits, RETRY, null, AT_MS + RETRY_AGE_MAX_MS, 0);
  expect(late).toMatchObject({ state: 'given_up', sealed: null, reason: 'http_500' });
  expect(afterCall(once, { kind: 'delivered' }, 'rest', AT_MS, 0)).toMatchObject({ state: 'pending', sealed: 'rest' });
  expect(afterCall(once, { kind: 'delivered' }, null, AT_MS, 0)).toMatchObject({ state: 'told', sealed: null });
});

const RING_TEXT = `main:${Buffer.alloc(32, 5).toString('base64')}`;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const ring = parseKeyRing(RING_TEXT);
const random = (bytes: number): Uint8Array => Buffer.alloc(bytes, 1);
const seal = createRecordSeal(ring, random);
const subject: PersonSubject = {
  persons: ['p_own'],
  identifiers: [{ kind: 'email', value: 'theirs', node: 'n' }],
};

function world(answer: Answer) {
  const sealed = sealSecret(ring, { siteId: 'shop', destination: 'webhook', field: 'secret' }, SECRET, random);
  const destination: Destination = {
    ...{ site_id: 'shop', name: 'webhook', enabled: true, settings: { url: 'https://crm.example/hook' } },
    secrets: { secret: sealed },
  };
  const destinations = new Map([['webhook', destination]]);
  const requests: HttpRequest[] = [];
  const settings = {
    destination: (_: string, name: string) => destinations.get(name),
    destinationsOfKind: (kind: string) =>
      new Map([['shop', [...destinations.values()].filter(({ name }) => kindOfDestination(name) === kind)]]),
    site: () => siteOf(),
  };
  const clock = { nowMs: AT_MS };
  const notices: NoticeSender = createNoticeSender({
    ...{ adapters: DESTINATIONS, settings, ring, seal, baseUrls: {}, random: () => 0, nowMs: () => clock.nowMs },
    logger: { warn: () => undefined } as unknown as ErasureParts['logger'],
    egress: {
      async send(request) {
        requests.push(request);
        return answer;
      },
    },
  });
  const written: Erasure[] = [];
  const log = {
    now: new Map<string, Erasure>(),
    producer: { appendAll: async () => undefined, append: async () => undefined, close: async () => undefined },
    codec: {
      encode(erasure: Erasure) {
        written.push(erasure);
        return Buffer.alloc(0);
      },
    },
  } as unknown as Parameters<NoticeSender['sendDue']>[0];
  return { destinations, requests, settings, clock, notices, log, written };
}

/** An erasure that is done, of a person of whom the webhook was sent some rows. */
async function erasedWith(parts: ReturnType<typeof world>): Promise<Erasure> {
  const asked = { erasure_id: 'e1', site_id: 'shop', asked_by: 'tester', destinations: ['webhook'], sealed: 'sealed' };
  const erasure = newErasure(asked, Buffer.alloc(32), subject, AT_MS);
  const row = {
    erasure_id: 'e1',
    distinct_id: 'own-id',
    person_id: 'p_own',
    email: 'theirs',
    external_id: '',
    events: ['sign_up'],
  };
  const rows = {
    sentTo: async () => [row, { ...row, distinct_id: 'till-7', person_id: 'p_till' }, { ...row, email: 'of-another' }],
  };
  const gathering = { ...parts, rows, seal, adapters: DESTINATIONS, nowMs: () => AT_MS } as unknown as ErasureParts;
  const found = await noticesOf(gathering, [erasure], () => subject);
  const done = { ...finished(erasure, AT_MS), notices: found.get('e1') ?? [] };
  parts.log.now.set('e1', done);
  return done;
}

const taken: Answer = { kind: 'answered', status: 204, headers: {}, body: '' };

test('a webhook is told of no hash that its rules leave out of each event that said it', async () => {
  const told = async (rules: DestinationRule[]): Promise<unknown> => {
    const parts = world(taken);
    const webhook = parts.destinations.get('webhook') as Destination;
    parts.destinations.set('webhook', { ...webhook, rules });
    await erasedWith(parts);
    await parts.notices.sendDue(parts.log);
    return (JSON.parse(parts.requests[0]?.body ?? '') as { data: object }).data;
  };
  const dropping = (events: string[]) => [{ events, send: true, rename_to: null, drop_properties: ['email'] }];
  expect(await told(dropping(['sign_*']))).toMatchObject({ distinct_ids: ['own-id'], email_sha256: [] });
  expect(await told(dropping(['purchase']))).toMatchObject({ distinct_ids: ['own-id'], email_sha256: ['theirs'] });
});

test('a webhook is told by a signed message of what it was sent of the person, and of nobody else', async () => {
  const parts = world(taken);
  const done = await erasedWith(parts);
  expect(JSON.stringify(done)).not.toMatch(/own-id|theirs/);
  expect([isNoticeDue(done, AT_MS), isNoticeDue({ ...done, phase: 'deleting' }, AT_MS)]).toEqual([true, false]);
  await parts.notices.sendDue(parts.log);
  const [request] = parts.requests;
  const { headers = {}, body = '' } = request ?? {};
  const message = JSON.parse(body) as { type: string; id: string; data: object };
  expect(message).toMatchObject({ type: 'person.erased', id: headers['webhook-id'] });
  expect(message.data).toEqual({
    ...{ site_id: 'shop', distinct_ids: ['own-id'], person_ids: ['p_own'] },
    ...{ email_sha256: ['theirs'], external_id_sha256: [] },
  });
  const stamp = Number(headers['webhook-timestamp']);
  expect(headers['webhook-signature']).toBe(sign(SECRET, headers['webhook-id'] ?? '', stamp, body));
  const receiver = webhookStandin({ '/hook': SECRET })({});
  const received = { method: 'POST', path: '/hook', headers, body };
  expect(receiver.answer(received, AT_MS)).toEqual({ status: 204, body: '', accepted: [] });
  expect(parts.written.at(-1)?.notices).toMatchObject([{ destination: 'webhook', state: 'told', sealed: null }]);
  await parts.notices.sendDue(parts.log);
  expect(parts.requests).toHaveLength(1);
});

test('what is sealed of an erasure is sealed by the new key, so that the old one can go', async () => {
  const done = await erasedWith(world(taken));
  const open = { ...done, sealed: seal.seal(SEALED_AS, done.erasure_id, 'whom') };
  const ringOf = (text: string) => createRecordSeal(parseKeyRing(text), random);
  const added = `next:${Buffer.alloc(32, 6).toString('base64')}`;
  const anew = sealedAnew(ringOf(`${added},${RING_TEXT}`), open);
  const after = ringOf(added);
  expect(after.open(SEALED_AS, 'e1', anew.sealed ?? '')).toBe('whom');
  expect(after.open(NOTICE_SEALED_AS, 'e1/webhook', anew.notices?.[0]?.sealed ?? '')).toContain('own-id');
  expect(sealedAnew(after, anew)).toBe(anew);
  expect(sealedAnew(after, open)).toBe(open);
});

test('the same message is told again until it is taken; a destination that is gone is told nothing', async () => {
  const parts = world({ kind: 'answered', status: 500, headers: {}, body: '' });
  await erasedWith(parts);
  await parts.notices.sendDue(parts.log);
  await parts.notices.sendDue(parts.log);
  expect(parts.requests).toHaveLength(1);
  parts.clock.nowMs += RETRY_DELAYS[0].delayMs;
  await parts.notices.sendDue(parts.log);
  expect(parts.requests).toHaveLength(2);
  expect(parts.requests[1]?.body).toBe(parts.requests[0]?.body);
  parts.destinations.clear();
  parts.clock.nowMs += RETRY_DELAYS[1].delayMs;
  await parts.notices.sendDue(parts.log);
  expect(parts.written.at(-1)?.notices).toMatchObject([
    { state: 'given_up', sealed: null, reason: 'destination_removed' },
  ]);
  expect(parts.requests).toHaveLength(2);
});

test('another destination of the same id is not told', async () => {
  const parts = world(taken);
  await erasedWith(parts);
  const destination = parts.destinations.get('webhook') as Destination;
  parts.destinations.set('webhook', { ...destination, created_at: AT_MS + 1 });
  await parts.notices.sendDue(parts.log);
  expect(parts.requests).toEqual([]);
  expect(parts.written.at(-1)?.notices).toMatchObject([{ state: 'given_up', reason: 'destination_removed' }]);
});
