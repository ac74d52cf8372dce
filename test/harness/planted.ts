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
