import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { defineEngage, ENGAGE_PAGE, postEngage, type ShownItem, shownTo } from '#test/harness/engage.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { READ_MS } from '#test/harness/planted.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { deliveredIds, startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;

const SURVEY = {
  id: 'nps',
  name: 'NPS',
  questions: [
    {
      id: 'score',
      type: 'rating',
      scale: 11,
      text: 'How likely is it?',
      branches: [{ is: 'at_least', to: [9], go_to: 'end' }],
    },
    { id: 'why', type: 'open', text: 'Why?' },
  ],
};
const PROMO = { id: 'sale', name: 'Sale', title: '20% off', code: 'WINTER20' };
const FORM = {
  id: 'quote',
  name: 'Quote',
  // A header takes ASCII only, and an owner writes what stands in the address bar.
  redirect: 'https://shop.example/danke-schön/谢谢',
  fields: [
    { name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' },
    { name: 'subject', type: 'text', label: 'Subject', store: 'keep' },
  ],
};

let receiver: WebhookReceiver;
let site: TestSite;
let empty: TestSite;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  site = await makeSite(service, { webhookUrl: receiver.url });
  empty = await makeSite(service);
  await defineEngage(site, edge, 'survey', SURVEY);
  await defineEngage(site, edge, 'promo', PROMO);
  await defineEngage(site, edge, 'form', FORM);
});
afterAll(async () => {
  await site.close();
  await empty.close();
  await receiver.close();
});

interface Row {
  event: string;
  event_id: string;
  properties: string;
  email: string;
}

async function rowsOf(distinctId: string, count: number): Promise<Row[]> {
  return until(
    `${count} rows of ${distinctId}`,
    () =>
      select<Row>(
        clickhouse,
        `SELECT event, event_id, properties, email_sha256 AS email FROM events
         WHERE site_id = {site:String} AND distinct_id = {id:String} ORDER BY event, event_id`,
        { site: site.site, id: distinctId },
      ),
    (rows) => rows.length >= count,
    { timeoutMs: 20_000 },
  );
}

async function itemFor(distinct_id: string, kind: string): Promise<ShownItem> {
  const item = (await shownTo(edge, site.browserKey, { distinct_id })).find((one) => one.kind === kind);
  if (item === undefined) throw new Error(`no ${kind} for ${distinct_id}`);
  return item;
}

const post = (path: string, body: object) => postEngage(edge, site.browserKey, path, { page: ENGAGE_PAGE, ...body });

async function answerSurvey(distinct_id: string): Promise<string> {
  const { id, version, token } = await itemFor(distinct_id, 'survey');
  const submission_id = randomUUID();
  const sent = { survey_id: id, version, token, submission_id, visitor: { distinct_id } };
  const answers = [
    { question_id: 'score', value: 3 },
    { question_id: 'why', value: 'too slow' },
  ];
  expect(await post('/v1/surveys/respond', { ...sent, status: 'shown' })).toMatchObject({ body: { accepted: 1 } });
  await sleep(READ_MS);
  // A double click, and the same once more after a reload.
  for (let at = 0; at < 3; at += 1) {
    expect((await post('/v1/surveys/respond', { ...sent, status: 'completed', answers })).status).toBe(200);
  }
  return submission_id;
}

test('a site without definitions answers 204', async () => {
  expect((await postEngage(edge, empty.browserKey, '/v1/engage', { page: ENGAGE_PAGE })).status).toBe(204);
});

test('a survey is answered once however often it is sent, and is not shown again', async () => {
  const submission = await answerSurvey('reader');
  const rows = await rowsOf('reader', 2);
  expect(rows.map(({ event, event_id }) => [event, event_id])).toEqual([
    ['survey_answered', `${submission}:survey:nps:completed`],
    ['survey_shown', `${submission}:survey:nps:shown`],
  ]);
  expect(JSON.parse(rows[0]?.properties ?? '')).toMatchObject({
    survey_id: 'nps',
    answer_score: 3,
    answer_why: 'too slow',
    nps_class: 'detractor',
    utm_source: 'newsletter',
  });
  const kinds = (await shownTo(edge, site.browserKey, { distinct_id: 'reader' })).map(({ kind }) => kind);
  expect(kinds).toEqual(['form', 'promo']);
});

test('what a person answered is not shown in a second browser of theirs', async () => {
  await answerSurvey('laptop');
  const seesSurvey = async (): Promise<boolean> =>
    (await shownTo(edge, site.browserKey, { distinct_id: 'phone' })).some(({ kind }) => kind === 'survey');
  expect(await seesSurvey()).toBe(true);
  for (const distinct_id of ['phone', 'laptop']) {
    const identify = newEvent({ event: 'identify', distinct_id, properties: { email: 'two.browsers@example.com' } });
    expect((await postEvents(edge, site.serverKey, [identify])).status).toBe(200);
  }
  expect(await until('the phone is the same person', seesSurvey, (sees) => !sees, { timeoutMs: 15_000 })).toBe(false);
});

test('a promo is seen and clicked once each, and delivered like every other event', async () => {
  const { version, token } = await itemFor('buyer', 'promo');
  const action = { promo_id: 'sale', version, token, impression_id: randomUUID(), visitor: { distinct_id: 'buyer' } };
  for (const what of ['view', 'click', 'click', 'view']) {
    expect(await post('/v1/promos/track', { ...action, action: what })).toMatchObject({ status: 200 });
  }
  const rows = await rowsOf('buyer', 2);
  expect(rows.map(({ event }) => event)).toEqual(['select_promotion', 'view_promotion']);
  expect(JSON.parse(rows[0]?.properties ?? '')).toMatchObject({ promotion_id: 'sale', coupon: 'WINTER20' });
  const own = async (): Promise<string[]> =>
    deliveredIds(receiver)
      .filter((id) => id.startsWith(action.impression_id))
      .sort();
  const delivered = await until('both at the webhook', own, (ids) => ids.length >= 2, { timeoutMs: 20_000 });
  expect(delivered).toEqual(['click', 'view'].map((what) => `${action.impression_id}:promo:sale:${what}`));
});

test('a plain HTML form is a lead with a hashed address, and leads where the definition says', async () => {
  const email = 'plain.form@example.com';
  const body = new URLSearchParams({ _form_id: 'quote', _distinct_id: 'plain', email, subject: 'Boats' });
  for (let at = 0; at < 2; at += 1) {
    const answer = await fetch(`${edge}/v1/form?key=${site.browserKey}`, { method: 'POST', body, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, new URL(FORM.redirect).href]);
  }
  const rows = await rowsOf('plain', 1);
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ event: 'generate_lead', email: hash('sha256', email) });
  expect(JSON.parse(rows[0]?.properties ?? '')).toMatchObject({ form_id: 'quote', field_subject: 'Boats' });
});
