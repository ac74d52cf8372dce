import { beforeEach, expect, test } from 'vitest';
import { DeadLettersError } from '#infra/redelivery/dead_letter_store.ts';
import { type Control, controlWithShop, LABEL, NOW_MS } from './harness.ts';
import { shownDeadLetter } from './memory_letters.ts';

let shop: Control;
beforeEach(async () => {
  shop = await controlWithShop();
});

const idsOf = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id);

test('dead letters are listed page by page, without what they hold', async () => {
  shop.deadLetters.deadLetters = [1, 2, 3].map((offset) =>
    shownDeadLetter(offset, { bytes: Buffer.from('jane@example.com') }),
  );
  const first = await shop.call('GET', 'dead-letters?limit=2');
  expect(idsOf(first.body.items)).toEqual(['dedup-0-1', 'dedup-0-2']);
  expect(first.text).not.toContain('jane');
  const second = await shop.call('GET', `dead-letters?limit=2&after=${first.body.next}`);
  expect([idsOf(second.body.items), second.body.next]).toEqual([['dedup-0-3'], null]);
});

test('they are narrowed by stage and reason; others are refused', async () => {
  shop.deadLetters.deadLetters = [
    shownDeadLetter(1),
    shownDeadLetter(2, { stage: 'identity', reason: 'schema_unknown' }),
  ];
  expect(idsOf((await shop.call('GET', 'dead-letters?stage=identity')).body.items)).toEqual(['identity-0-2']);
  expect(idsOf((await shop.call('GET', 'dead-letters?reason=transform_failed')).body.items)).toEqual(['dedup-0-1']);
  for (const query of ['stage=nobody', 'limit=0', 'limit=5000', 'after=x', 'since=-1']) {
    expect((await shop.call('GET', `dead-letters?${query}`)).status).toBe(400);
  }
});

test('a letter is shown with whose events it holds, or with the digest of what cannot be read', async () => {
  shop.deadLetters.deadLetters = [shownDeadLetter(1), shownDeadLetter(2, { reason: 'wire_magic' }, false)];
  const readable = (await shop.call('GET', 'dead-letters/dedup-0-1')).body;
  const event = { site_id: 'shop', event_id: 'event-1', event: 'page_view' };
  expect(readable.contents).toEqual([{ ...event, distinct_id: 'visitor', received_at: 1 }]);
  expect(readable).toMatchObject({
    site_ids: ['shop'],
    event: { event_id: 'event-1' },
    delivery: null,
    attempts: null,
  });
  const unreadable = await shop.call('GET', 'dead-letters/dedup-0-2');
  expect(unreadable.body).toMatchObject({ contents: null, events: null, resendable: false, bytes_total: 9 });
  expect(unreadable.body.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(unreadable.text).not.toContain('what died');
  const missing = await shop.call('GET', 'dead-letters/dedup-0-9');
  expect([missing.status, missing.body.error.code]).toEqual([404, 'dead_letter_unknown']);
  expect((await shop.call('GET', 'dead-letters/x')).status).toBe(400);
});

test('letters are sent in again once, with the account of their site, and the audit says who asked', async () => {
  shop.deadLetters.deadLetters = [
    shownDeadLetter(1),
    shownDeadLetter(2, { bytes_total: 70_000 }),
    shownDeadLetter(3, { stage: 'delivery' }),
    shownDeadLetter(4, {}, false),
  ];
  const ids = ['dedup-0-1', 'dedup-0-2', 'delivery-0-3', 'dedup-0-4', 'dedup-0-99'];
  const outcomes = async () => {
    const answer = await shop.call('POST', 'dead-letters/resend', { body: { ids } });
    return answer.body.items.map(({ outcome }: { outcome: string }) => outcome);
  };
  expect(await outcomes()).toEqual(['resent', 'cut', 'not_resendable', 'unreadable', 'unknown']);
  expect(await outcomes()).toEqual(['resent_before', 'cut', 'not_resendable', 'unreadable', 'unknown']);
  expect(shop.deadLetters.accounts).toHaveLength(1);
  expect(shop.deadLetters.accounts[0]).toBe(shop.journal.view().table.site('shop')?.account_id);
  const { items } = (await shop.call('GET', 'audit?setting_key=dead_letters')).body;
  expect(items).toMatchObject([{ changed_by: LABEL, after: { resend: ids.slice(0, 4) } }, { changed_at: NOW_MS }]);
});

test('letters are resolved with a note, open no more, and can be opened again; the audit says who and why', async () => {
  shop.deadLetters.deadLetters = [
    shownDeadLetter(1),
    shownDeadLetter(2, { stage: 'delivery', destination: 'crm' }, false),
    shownDeadLetter(3),
  ];
  const ids = ['dedup-0-1', 'delivery-0-2', 'dedup-0-99'];
  const mark = async (what: string, body: object) => {
    const answer = await shop.call('POST', `dead-letters/${what}`, { body });
    return answer.body.items.map(({ outcome }: { outcome: string }) => outcome);
  };
  const listed = async (state: string) => idsOf((await shop.call('GET', `dead-letters?state=${state}`)).body.items);
  expect(await mark('resolve', { ids, note: ' A test import. ' })).toEqual(['resolved', 'resolved', 'unknown']);
  expect([await listed('open'), await listed('resolved')]).toEqual([['dedup-0-3'], ids.slice(0, 2)]);
  const shown = (await shop.call('GET', 'dead-letters/delivery-0-2')).body;
  expect(shown).toMatchObject({
    destination: 'crm',
    resolved: { at: NOW_MS, by: LABEL, note: 'A test import.' },
    resent_at: null,
  });
  await mark('resend', { ids: ['dedup-0-1'] });
  expect([await listed('resent'), await listed('resolved')]).toEqual([['dedup-0-1'], ids.slice(0, 2)]);
  expect(await mark('reopen', { ids })).toEqual(['reopened', 'reopened', 'unknown']);
  expect(await mark('reopen', { ids: ['delivery-0-2'] })).toEqual(['not_resolved']);
  expect(await listed('open')).toEqual(['delivery-0-2', 'dedup-0-3']);
  const { items } = (await shop.call('GET', 'audit?setting_key=dead_letters')).body;
  expect(items.map(({ after }: { after: object }) => after)).toEqual([
    ...[{ reopen: ['delivery-0-2'] }, { reopen: ids.slice(0, 2) }, { resend: ['dedup-0-1'] }],
    { resolve: ids.slice(0, 2), note: 'A test import.' },
  ]);
});

test('a note without a word, too long or with personal data is refused, and nothing is noted', async () => {
  shop.deadLetters.deadLetters = [shownDeadLetter(1)];
  for (const note of ['', ' ', 'x'.repeat(501), 'asked jane@example.com', 'call +1 650 555 1212']) {
    const answer = await shop.call('POST', 'dead-letters/resolve', { body: { ids: ['dedup-0-1'], note } });
    expect([answer.status, answer.body.problems.map(({ field }: { field: string }) => field)]).toEqual([400, ['note']]);
  }
  expect(shop.journal.records).toEqual([]);
  expect(shop.deadLetters.deadLetters[0]?.resolution).toBeNull();
});

test('no letters, too many of them, or what is no id is refused, and notes nothing', async () => {
  const many = Array.from({ length: 101 }, (_, at) => `dedup-0-${at}`);
  for (const ids of [[], many, ['dedup']]) {
    expect((await shop.call('POST', 'dead-letters/resend', { body: { ids } })).status).toBe(400);
  }
  expect(shop.journal.records).toEqual([]);
});

test('of letters that there are not nothing is noted, whatever is to be done about them', async () => {
  shop.deadLetters.deadLetters = [shownDeadLetter(1)];
  const ids = Array.from({ length: 100 }, (_, at) => `warehouse-3-${at}`);
  for (const [what, more] of [
    ['resend', {}],
    ['resolve', { note: 'A test import.' }],
    ['reopen', {}],
  ] as const) {
    const answer = await shop.call('POST', `dead-letters/${what}`, { body: { ids, ...more } });
    expect(answer.body.items).toEqual(ids.map((id) => ({ id, outcome: 'unknown' })));
  }
  expect(shop.journal.records).toEqual([]);
});

test('where Kafka does not answer the caller is told to ask again, and the process goes on', async () => {
  shop.deadLetters.failure = new DeadLettersError('away');
  for (const answer of [
    await shop.call('GET', 'dead-letters'),
    await shop.call('POST', 'dead-letters/resend', { body: { ids: ['dedup-0-1'] } }),
  ]) {
    expect([answer.status, answer.body.error.code]).toEqual([503, 'dead_letters_unavailable']);
  }
  expect(shop.unknown).toEqual([]);
});
