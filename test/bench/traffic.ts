import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { v7 as uuidv7 } from 'uuid';
import type { Outgoing, Traffic } from './load.ts';

/** Who sends an event. */
interface Visitor {
  id: string;
  session: string;
  address: string;
  userAgent: string;
}

/** What stands in a body's template, as long as what is written over it. */
const MARKS = {
  visitor: 'aaaaaaaa-0000-4000-8000-00000000000a',
  session: 'cccccccc-0000-4000-8000-00000000000c',
  shortSession: 'dddddddd-0000',
  uuid: 'bbbbbbbb-0000-4000-8000-00000000000b',
  timestamp: '2000-01-01T00:00:00.000Z',
  sentAt: '1000000000001',
};
const ANY_MARK = new RegExp(Object.values(MARKS).join('|'), 'g');

/**
 * Makes bodies of a template by writing over copies of it, each event with an id of its own: what sends them shares the
 * machine with what it measures.
 */
function stamper(template: object, newId: () => string): (visitor: Pick<Visitor, 'id' | 'session'>) => Buffer {
  const text = JSON.stringify(template);
  const marks = [...text.matchAll(ANY_MARK)].map(({ 0: mark, index }) => ({ mark, index }));
  const bytes = Buffer.from(text, 'latin1');
  return (visitor) => {
    const now = new Date();
    const values: Record<string, () => string> = {
      [MARKS.visitor]: () => visitor.id,
      [MARKS.session]: () => visitor.session,
      [MARKS.shortSession]: () => visitor.session.slice(0, MARKS.shortSession.length),
      [MARKS.uuid]: newId,
      [MARKS.timestamp]: () => now.toISOString(),
      [MARKS.sentAt]: () => String(now.getTime()),
    };
    const body = Buffer.from(bytes);
    for (const { mark, index } of marks) body.write((values[mark] as () => string)(), index, 'latin1');
    return body;
  };
}

/** Makes the bodies of a shop's server, each of a new visitor: about 500 bytes an event. */
function serverBodies(events: number, newId: () => string = randomUUID): () => Buffer {
  const stamp = stamper({ events: Array.from({ length: events }, (_, index) => serverEvent(index)) }, newId);
  return () => {
    const id = randomUUID();
    return stamp({ id, session: id });
  };
}

/** Events of one visitor, as `serverBodies` has them. */
export function serverEvents(events: number): object[] {
  return (JSON.parse(serverBodies(events)().toString()) as { events: object[] }).events;
}

/** Batches of events that a shop's server sends with its own key. */
export function serverTraffic(key: string, events: number, newId?: () => string): Traffic {
  const body = serverBodies(events, newId);
  const headers = { 'content-type': 'application/json', 'x-svc-key': key };
  return () => ({ path: '/v1/ingest', headers, body: body(), events });
}

/** Mostly page views, one in five a product view with its price, and one event with the visitor's e-mail address. */
function serverEvent(index: number): object {
  const product = `sku-${1000 + index * 7}`;
  return {
    event: index % 5 === 0 ? 'view_item' : 'page_view',
    uuid: MARKS.uuid,
    distinct_id: MARKS.visitor,
    timestamp: MARKS.timestamp,
    properties: {
      url: `https://shop.example/catalogue/${product}?utm_source=newsletter&utm_campaign=autumn`,
      referrer: 'https://search.example/results/autumn-jackets',
      title: `Product ${product} in the autumn sale of the example shop`,
      screen_width: 1920,
      language: 'en-GB',
      session_id: MARKS.shortSession,
      utm_source: 'newsletter',
      utm_campaign: 'autumn',
      ...(index % 5 === 0 ? { product_id: product, value: 19.5 + index, currency: 'EUR' } : {}),
      ...(index === 0 ? { email: 'visitor@example.com' } : {}),
    },
  };
}

/** What the sites of the bench have set, so that their rules have something to look at and let the traffic pass. */
export const SITE_RULES = [
  { kind: 'ip', value: '198.51.100.0/24' },
  { kind: 'user_agent', value: '*HeadlessChrome*' },
  { kind: 'country', value: 'AQ' },
  { kind: 'event', value: 'debug_*' },
  { kind: 'property', property: 'plan', value: 'internal' },
];
export const SITE_DEFINITIONS = [
  { id: 'view-item', name: 'view_item', trigger: 'pageview', url_pattern: '/product/*' },
  { id: 'add-to-cart', name: 'add_to_cart', trigger: 'click', selector: '[data-add-to-cart]' },
  { id: 'newsletter', name: 'newsletter', trigger: 'submit', selector: 'form.newsletter' },
];

const ORIGIN = 'https://shop.example';
const PAGES = 40;
const VISITORS = 5_000;
/** Of these browsers take the sizes of their requests by turns: mostly a page and what it shows. */
const SIZES = [1, 2, 1, 3, 1, 2, 1, 1, 2, 3];
const IDENTIFY_EVERY = 50;
const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0',
];

/**
 * Requests of 1 to 3 events as the tag of services/tag sends them, through a proxy on this machine, from many visitors at their
 * own addresses.
 *
 * @param gzip Compressed, as the tag does not send them but other libraries do.
 */
export function browserTraffic(key: string, gzip: boolean, newId: () => string = () => uuidv7()): Traffic {
  const path = `/v1/ingest?key=${key}`;
  const visitors = Array.from({ length: VISITORS }, (_, at) => visitorAt(at));
  const templates = Array.from({ length: PAGES * SIZES.length }, (_, at) => {
    const events = browserEvents(at);
    return { events: events.length, stamp: stamper({ sent_at: Number(MARKS.sentAt), events }, newId) };
  });
  let sent = 0;
  return (): Outgoing => {
    const { events, stamp } = templates[sent % templates.length] as (typeof templates)[number];
    // Not in step with the templates.
    const visitor = visitors[(sent * 7) % VISITORS] as Visitor;
    sent += 1;
    const body = stamp(visitor);
    const headers = headersOf(visitor);
    if (!gzip) return { path, headers, body, events };
    return { path, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(body), events };
  };
}

function visitorAt(at: number): Visitor {
  return {
    id: uuidv7(),
    session: uuidv7(),
    address: `203.${(at >> 8) & 255}.${at & 255}.9`,
    userAgent: BROWSERS[at % BROWSERS.length] as string,
  };
}

/** What Chrome sends with the tag's `fetch`, and what a proxy adds. */
function headersOf({ address, userAgent }: Visitor): Record<string, string> {
  return {
    host: 'events.shop.example',
    'user-agent': userAgent,
    accept: '*/*',
    'accept-encoding': 'gzip, deflate, br, zstd',
    'accept-language': 'en-GB,en;q=0.9,de;q=0.8',
    'content-type': 'text/plain;charset=UTF-8',
    origin: ORIGIN,
    priority: 'u=1, i',
    referer: `${ORIGIN}/`,
    'sec-ch-ua': '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"',
    'sec-ch-ua-mobile': '?0',
    'sec-ch-ua-platform': '"Windows"',
    'sec-fetch-dest': 'empty',
    'sec-fetch-mode': 'cors',
    'sec-fetch-site': 'same-site',
    via: '2.0 Caddy',
    'x-forwarded-for': address,
    'x-forwarded-host': 'events.shop.example',
    'x-forwarded-proto': 'https',
  };
}

function browserEvents(at: number): object[] {
  const page = at % PAGES;
  const product = `autumn-jacket-${page}`;
  const context = {
    $current_url: `${ORIGIN}/product/${product}?utm_source=newsletter&utm_medium=email&utm_campaign=autumn`,
    $referrer: page % 3 === 0 ? 'https://www.google.com/' : `${ORIGIN}/catalogue/jackets?page=${page}`,
    $title: `Autumn jacket ${page} in moss green | Example Shop`,
  };
  const visit = {
    ...{ utm_source: 'newsletter', utm_medium: 'email', utm_campaign: 'autumn' },
    ...{ _fbp: 'fb.1.1764300000000.1234567890', $consent: { ads: true, analytics: true } },
    $session_id: MARKS.session,
  };
  const event = (name: string, own: object): object => ({
    event: name,
    uuid: MARKS.uuid,
    distinct_id: MARKS.visitor,
    timestamp: MARKS.timestamp,
    properties: { ...visit, ...own, ...context },
  });
  if (at % IDENTIFY_EVERY === 0) return [event('$identify', { email: `visitor${page}@example.com` })];
  const item = { content_name: `Autumn jacket ${page}`, value: 49.9 + page, currency: 'EUR' };
  const more = [
    event('view_item', { ...item, $definition_id: 'view-item' }),
    event('add_to_cart', { ...item, $definition_id: 'add-to-cart' }),
  ];
  const size = SIZES[at % SIZES.length] as number;
  // What visitors do on a page goes out by itself.
  if (size === 1 && page % 2 === 0) return more.slice(1);
  return [event('$pageview', {}), ...more.slice(0, size - 1)];
}
