import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { newEvent, postBody, postEvents } from './ingest.ts';

/** What must be found nowhere, in lower case. */
export const RAW = [
  'quentin.zyx',
  'quentin%2ezyx',
  'zyx-mail.example',
  'zyx-mail%2eexample',
  '6505550142',
  '650-555-0142',
  '650.555.0142',
  '650 555 0142',
  '650%20555%200142',
  '555-0142',
  '555 0142',
  '555%200142',
  '555+0142',
  'zyxwvuts',
];
export const EMAIL = 'quentin.zyx@zyx-mail.example';
/** Must be found where the events are, or the search itself is blind. */
export const MARK = 'zzmarkzz';

const PHONES = ['+1 (650) 555-0142', '+16505550142', '+1 650 555 0142', '%2B1%20650%20555%200142', '(650) 555-0142'];
const TEXTS = [
  EMAIL,
  ` ${EMAIL.toUpperCase()} `,
  'quentin.zyx+news@zyx-mail.example',
  'quentin.zyx%40zyx-mail.example',
  'quentin%2Ezyx%40zyx-mail%2Eexample',
  `Write to ${EMAIL}, or call ${PHONES[0]}`,
  ...PHONES.map((phone) => `Call ${phone} today`),
  'Call 650-555-0142 or 650.555.0142',
  'tel:6505550142',
  'call 6505550142',
  `https://shop.example/?email=${EMAIL}&tel=%2B16505550142`,
  `https://shop.example/?to=https%3A%2F%2Fa.example%2F%3Fe%3Dquentin.zyx%2540zyx-mail.example`,
  JSON.stringify({ email: EMAIL, phone: PHONES[1], deep: JSON.stringify({ tel: '6505550142' }) }),
];

/** A request with personal data somewhere in it, the status it must have, and how many of its events are accepted. */
export interface Plant {
  what: string;
  status: number;
  accepted: number;
  send(edge: string, key: string): Promise<Response | { status: number }>;
}

const json = { 'content-type': 'application/json' };
const events = (what: string, sent: object[], accepted = sent.length, status = 200): Plant => ({
  what,
  status,
  accepted,
  send: (edge, key) => postEvents(edge, key, sent),
});
const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
  return (edge: string, key: string) =>
    fetch(`${edge}${path.replace('KEY', key)}`, { method: 'POST', body, headers: { ...json, ...headers } });
};
const person = { email: ` ${EMAIL.toUpperCase()} `, phone: PHONES[0], firstName: 'Zyxwvuts', lastName: 'Zyxwvuts' };

/** What the plants of surveys and forms are sent to; to be defined before. */
export const PLANTED_SURVEY = {
  id: 'planted',
  name: 'Planted',
  questions: [{ id: 'why', type: 'open', text: 'Why?', max_length: 2000 }],
};
export const PLANTED_FORM = {
  id: 'planted',
  name: 'Planted',
  fields: [
    { name: 'email', type: 'email', label: 'E-mail', map: 'email' },
    { name: 'phone', type: 'tel', label: 'Phone', map: 'phone' },
    { name: 'first_name', type: 'text', label: 'Name', map: 'first_name' },
    { name: 'subject', type: 'text', label: 'Subject', store: 'keep' },
    { name: 'customer', type: 'text', label: 'Customer', store: 'hash' },
    { name: 'message', type: 'textarea', label: 'Message', max_length: 2000 },
  ],
};
const PAGE = { url: `https://shop.example/?email=${EMAIL}`, title: TEXTS[5] ?? '', referrer: TEXTS[13] ?? '' };

/** Every field of a form and of what comes with it. */
const form = (fields: object): object => ({
  form_id: 'planted',
  fields,
  consent: { process: true, text_version: EMAIL },
  page: PAGE,
  visitor: { distinct_id: EMAIL, session_id: PHONES[1], locale: 'en' },
});

/** Nobody answers a survey in less than a second. */
export const READ_MS = 1_100;

async function answerSurvey(edge: string, key: string): Promise<Response> {
  const path = (name: string) => `${edge}${name}?key=${key}`;
  const visitor = { distinct_id: PHONES[1] };
  const asked = await fetch(path('/v1/engage'), { method: 'POST', body: JSON.stringify({ page: PAGE, visitor }) });
  const { items } = (await asked.json()) as { items: { kind: string; token: string }[] };
  const token = items.find(({ kind }) => kind === 'survey')?.token;
  const answers = [{ question_id: 'why', value: TEXTS.join(' ').slice(0, 2000) }];
  const sent = { survey_id: 'planted', version: 1, submission_id: '0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d10', token };
  const body = JSON.stringify({ ...sent, status: 'completed', answers, page: PAGE, visitor });
  await sleep(READ_MS);
  return fetch(path('/v1/surveys/respond'), { method: 'POST', body });
}

/** Personal data at every place of every kind of request. */
export const PLANTS: Plant[] = [
  events('the person', [
    newEvent({
      event: 'identify',
      distinct_id: 'visitor-1',
      properties: { mark: MARK, ...person, first_name: 'Zyxwvuts', last_name: 'Zyxwvuts' },
    }),
  ]),
  events(
    'texts',
    TEXTS.map((text) => newEvent({ properties: { note: text, nested: { list: [text, { contact: text }] } } })),
  ),
  events(
    'keys',
    TEXTS.map((text) => newEvent({ properties: { [text.slice(0, 150)]: 1, nested: { [text.slice(0, 150)]: [1] } } })),
  ),
  events(
    'distinct ids',
    [EMAIL, ...PHONES, 'tel:6505550142'].map((id) => newEvent({ distinct_id: id })),
  ),
  events('order ids', [
    newEvent({ properties: { order_id: EMAIL } }),
    newEvent({ properties: { order_id: PHONES[4] } }),
  ]),
  events('names and uuids', [
    newEvent({ event: `mail ${EMAIL}`, uuid: `${EMAIL}-1` }),
    newEvent({ uuid: PHONES[4] ?? '' }),
  ]),
  events('the refused event', [{ ...newEvent(), properties: { email: EMAIL, $action_source: 'zyxwvuts' } }], 0, 400),
  {
    what: 'a malformed body',
    status: 400,
    accepted: 0,
    send: (edge, key) =>
      postBody(edge, key, `{"events":[{"event":"x","properties":{"email":"${EMAIL}","phone":"${PHONES[1]}`),
  },
  {
    what: 'a body that is no gzip',
    status: 400,
    accepted: 0,
    send: (edge, key) => postBody(edge, key, `${EMAIL}${PHONES[1]}`, { 'content-encoding': 'gzip' }),
  },
  {
    what: 'the URL beside the key',
    status: 200,
    accepted: 1,
    send: post(`/v1/ingest?key=KEY&email=${EMAIL}&tel=6505550142`, JSON.stringify({ events: [newEvent()] })),
  },
  { what: 'a key', status: 403, accepted: 0, send: post(`/v1/ingest?key=${EMAIL}`, '{}') },
  { what: 'a path', status: 404, accepted: 0, send: post(`/${EMAIL}/6505550142`, '{}') },
  {
    what: 'headers',
    status: 200,
    accepted: 1,
    send: (edge, key) =>
      postBody(edge, key, JSON.stringify({ events: [newEvent()] }), {
        'user-agent': `App/1.0 (${EMAIL}; +16505550142)`,
        referer: `https://a.example/?email=${EMAIL}`,
        'x-request-id': EMAIL,
      }),
  },
  {
    what: 'an inventory',
    status: 200,
    accepted: 0,
    send: (edge, key) =>
      post(
        '/v1/inventory',
        JSON.stringify({
          page: `/${EMAIL}`,
          url: `https://shop.example/?email=${EMAIL}`,
          title: TEXTS[5],
          elements: TEXTS.map((text) => ({ type: 'a', selector: '#a', text, href: `mailto:${EMAIL}` })),
        }),
        { 'x-svc-key': key },
      )(edge, key),
  },
  {
    what: 'a hit of GA4’s tag, in its address',
    status: 204,
    accepted: 1,
    send: (edge, key) =>
      fetch(
        `${edge}/g/collect?key=${key}&v=2&tid=G-1&cid=1.2&_p=1&_s=1&en=purchase&ep.mark=${MARK}&ep.user_data.email=${EMAIL}&ep.user_data.phone_number=%2B1%20650%20555%200142&ep.user_data.address.first_name=Zyxwvuts&em=tv.1~em.${EMAIL}&dl=https%3A%2F%2Fa.example%2F%3Femail%3D${EMAIL}&pr1=id1~nm${EMAIL}`,
      ),
  },
  {
    what: 'hits of GA4’s tag, in a body',
    status: 204,
    accepted: TEXTS.length,
    send: (edge, key) =>
      post(
        `/g/collect?key=${key}&tid=G-1&cid=${encodeURIComponent(EMAIL)}&_p=2&_s=1`,
        TEXTS.map((text) => `en=x&ep.note=${encodeURIComponent(text)}&up.phone=%2B16505550142&dt=${EMAIL}`).join(
          '\r\n',
        ),
      )(edge, key),
  },
  {
    what: 'a hit of GA4’s tag that is nobody’s',
    status: 403,
    accepted: 0,
    send: (edge) => fetch(`${edge}/g/collect?tid=${EMAIL}&en=x&ep.user_data.email=${EMAIL}&ep.tel=6505550142`),
  },
  {
    what: 'a measurement of a person',
    status: 204,
    accepted: 1,
    send: (edge, key) =>
      post(
        `/mp/collect?api_secret=${key}`,
        JSON.stringify({
          client_id: EMAIL,
          user_data: { email_address: EMAIL, phone_number: PHONES[0], address: [{ first_name: 'Zyxwvuts' }] },
          user_properties: { email: { value: EMAIL } },
          events: [{ name: `mail ${EMAIL}`, params: { mark: MARK, note: TEXTS[5], items: [{ id: EMAIL }] } }],
        }),
      )(edge, key),
  },
  {
    what: 'Segment’s calls',
    status: 200,
    accepted: 3,
    send: (edge, key) =>
      post(
        '/v1/batch',
        JSON.stringify({
          batch: [
            { type: 'identify', userId: EMAIL, messageId: EMAIL, traits: { ...person, note: TEXTS[5] } },
            { type: 'track', event: 'Seen', anonymousId: 's1', context: { traits: person, page: { url: TEXTS[14] } } },
            { type: 'page', anonymousId: PHONES[4], name: TEXTS[5], properties: { title: TEXTS[5] } },
          ],
        }),
        { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` },
      )(edge, key),
  },
  {
    what: 'PostHog’s events',
    status: 200,
    accepted: 2,
    send: (edge, key) =>
      post(
        '/batch/',
        new Uint8Array(
          gzipSync(
            JSON.stringify({
              api_key: key,
              batch: [
                { event: '$identify', distinct_id: EMAIL, properties: { $set: person, $set_once: { note: TEXTS[5] } } },
                { event: 'Seen', distinct_id: 'p1', properties: { $current_url: TEXTS[14], note: TEXTS[10] } },
              ],
            }),
          ),
        ),
        { 'content-encoding': 'gzip' },
      )(edge, key),
  },
  {
    what: 'a survey’s answer',
    status: 200,
    accepted: 1,
    send: answerSurvey,
  },
  {
    what: 'a plain form',
    status: 200,
    accepted: 1,
    send: (edge, key) =>
      post(
        '/v1/form?key=KEY',
        new URLSearchParams({
          ...{ _form_id: 'planted', _distinct_id: EMAIL, _session_id: PHONES[1] ?? '' },
          ...{ email: EMAIL, phone: PHONES[1] ?? '', first_name: 'Zyxwvuts', subject: TEXTS[5] ?? '' },
          ...{ customer: EMAIL, message: TEXTS[5] ?? '', other: TEXTS[5] ?? '' },
        }).toString(),
        { 'content-type': 'application/x-www-form-urlencoded', referer: `https://a.example/?email=${EMAIL}` },
      )(edge, key),
  },
  {
    what: 'a form that is refused as spam',
    status: 200,
    accepted: 0,
    send: post('/v1/form?key=KEY', JSON.stringify(form({ email: EMAIL, subject: TEXTS[5] }))),
  },
  {
    what: 'a form that is malformed',
    status: 400,
    accepted: 0,
    send: post('/v1/form?key=KEY', JSON.stringify({ ...form({ email: EMAIL }), page: { url: [EMAIL] } })),
  },
  {
    what: 'PostHog’s form',
    status: 200,
    accepted: 1,
    send: (edge, key) =>
      post(
        '/e/',
        `data=${encodeURIComponent(
          Buffer.from(
            JSON.stringify({ api_key: key, event: 'Seen', distinct_id: PHONES[1], properties: { $set: person } }),
          ).toString('base64'),
        )}`,
        { 'content-type': 'application/x-www-form-urlencoded' },
      )(edge, key),
  },
];
