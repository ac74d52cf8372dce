import { createHash } from 'node:crypto';
import { basePersonId } from '#pipelines/identity/identity.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { IdentityLink } from '#schemas/records.ts';
import type { PageRules } from '#schemas/setting.ts';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { pageByHand, WORLD_PAGES, WORLD_PATHS } from './pages.ts';
import type { ArrivalTold, Deed, Ledger } from './reference_ledger.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
export const FROM = Date.UTC(2026, 8, 1);
export const TO = Date.UTC(2026, 9, 16);
const SITE = 'shop';
export const NAMES = [
  'page_view',
  'view_item',
  'add_to_cart',
  'begin_checkout',
  'purchase',
  'refund',
  'subscription_renewed',
  'order_cancelled',
  'scroll',
  'signup',
] as const;
const CAMPAIGNS = ['spring', 'summer', 'brand'] as const;
const STREETS = ['Alte Straße 1', 'ALTE STRASSE 1', 'Οδός Σίνα', 'rue de l’Été', ''] as const;
const SINCE = [
  '2026-09-03',
  '2026-09-10T12:00:00+02:00',
  '2026-09-20 08:30:00.25',
  '2024-02-29',
  '2026-02-30',
  'soon',
  '',
];
const TAGS = ['red', 'Grün', 'blue', 3, true] as const;
const SKUS = ['mug', 'Tee-Ei', 'kettle'] as const;
export const COUNTRIES = ['DE', 'FR', 'US'] as const;

/** A generated world: what happened, and what the warehouse was given of it, in the blocks it was given. */
export interface World {
  ledger: Ledger;
  blocks: EventRow[][];
  links: IdentityLink[];
}

/** How a generator of worlds thinks. */
interface Manner<Person extends { links: readonly IdentityLink[] }> {
  person(random: Random, number: number, count: number): Person;
  life(random: Random, person: Person): [Deed, EventRow][];
  blocks(random: Random, rows: readonly EventRow[]): EventRow[][];
}

function generate<Person extends { links: readonly IdentityLink[] }>(
  random: Random,
  count: number,
  { person, life, blocks }: Manner<Person>,
): World {
  const happened: [Deed, EventRow][] = [];
  const links: IdentityLink[] = [];
  for (let number = 0; happened.length < count; number++) {
    const one = person(random, number, count);
    links.push(...one.links);
    happened.push(...life(random, one));
  }
  return {
    ledger: happened.map(([deed]) => deed),
    blocks: blocks(
      random,
      happened.map(([, row]) => row),
    ),
    links,
  };
}

function link(distinctId: string, target: string, version: number): IdentityLink {
  const person_id = basePersonId(SITE, distinctId);
  return { site_id: SITE, kind: 'person', person_id, target, first_seen: FROM - DAY_MS, version };
}

/** By names that senders have for the same: of few events by another one. */
function visitProperties({ address, engagedMs, scrolled, index }: Deed): object {
  const of = address === '' ? {} : { [index % 3 === 2 ? 'page_location' : '$current_url']: address };
  return {
    ...of,
    ...(engagedMs > 0 && { engagement_time_msec: engagedMs }),
    ...(scrolled !== null && { percent_scrolled: scrolled }),
  };
}

/** A row of what happened, as it came from a device under the person known then. */
function rowOf(
  deed: Deed,
  came: { distinctId: string; person: string; partition: number; offset: number },
  properties: object,
): EventRow {
  const row = eventRow({
    coordinate: { partition: came.partition, offset: came.offset, index: deed.index },
    person: { person_id: came.person, identifiers: null },
    event: sampleEvent({
      site_id: SITE,
      event_id: deed.id,
      distinct_id: came.distinctId,
      event: deed.name,
      timestamp: deed.at,
      received_at: deed.arrivedAt,
      action_source: deed.source,
      country: deed.country,
      value: deed.value,
      currency: deed.currency === '' ? null : deed.currency,
      order_id: deed.orderId === '' ? null : deed.orderId,
      properties: JSON.stringify({ ...visitProperties(deed), ...properties, ...moneyProperties(deed) }),
    }),
  });
  const { arrival } = deed;
  return {
    ...row,
    ...deed.entry,
    visit_key: visitKeyOf(deed.visit),
    arrival:
      arrival === null
        ? ''
        : [
            arrival.isCampaign ? 'c' : 'r',
            ...[arrival.channel, arrival.source, arrival.medium, arrival.campaign, arrival.referrer],
          ].join('\n'),
  };
}

const TOLD: readonly (Omit<ArrivalTold, 'isCampaign'> & { sign: 'c' | 'r' })[] = [
  told('c', 'Paid Search', 'google', 'cpc', 'spring', ''),
  told('c', 'Email', 'newsletter', 'email', 'summer', 'mail.example'),
  told('r', 'Organic Search', 'google', 'organic', '', 'google.com'),
  told('r', 'Referral', 'blog.example', 'referral', '', 'blog.example'),
];

function told(sign: 'c' | 'r', channel: string, source: string, medium: string, campaign: string, referrer: string) {
  return { sign, channel, source, medium, campaign, referrer };
}

/** What an event tells of its visit. Events of tills are of none; some senders tell sessions, and some of these mix them up. */
function visitParts(
  random: Random,
  browser: string,
  { source, at }: { source: string; at: number },
  rules: PageRules | null,
) {
  const isOf = source === 'website' && !random.chance(0.05);
  const tells = Number.parseInt(createHash('md5').update(browser).digest('hex').slice(0, 4), 16) % 3 === 0;
  const hour = Math.floor(at / (random.chance(0.1) ? HOUR_MS : 6 * HOUR_MS));
  const came = isOf && random.chance(0.15) ? random.pick(TOLD as [(typeof TOLD)[number], ...typeof TOLD]) : null;
  const address = random.chance(0.8) ? `https://shop.example${random.pick(WORLD_PATHS)}` : '';
  return {
    visit: isOf ? { key: tells ? `${browser} ${hour}` : browser, isTold: tells } : null,
    arrival: came === null ? null : { ...came, isCampaign: came.sign === 'c' },
    address,
    page: address === '' ? '' : pageByHand(address, rules),
    engagedMs: random.chance(0.3) ? random.whole(0, 90_000) : 0,
    scrolled: random.chance(0.3) ? random.whole(1, 100) : null,
  };
}

/** A visit's key as the rows have it: odd where the sender tells sessions. */
function visitKeyOf(visit: Deed['visit']): string {
  if (visit === null) return '0';
  const digest = createHash('sha256').update(visit.key).digest().readBigUInt64LE();
  return String(visit.isTold ? digest | 1n : (digest >> 1n) << 1n);
}

const MONEY_NAMES: readonly string[] = ['purchase', 'refund', 'subscription_renewed', 'order_cancelled'];
const CURRENCIES = ['EUR', 'JPY', 'KWD', 'USD'] as const;
/** Of refunds, by which some are told apart from those that were sent again. */
const REFUND_IDS = ['r1', 'r2'] as const;

type Money = Pick<Deed, 'value' | 'currency' | 'orderId' | 'refundId' | 'tax' | 'shipping' | 'isRenewal'>;

/**
 * What an event says of money, all sorts of it: few orders, so that many come again, with other amounts too, and have refunds.
 *
 * @param orders Whose orders they are: of everybody, or of one person.
 * @param value What an event that is not about money has.
 */
function moneyOf(name: string, id: string, orders: string, value: number | null): Money {
  if (!MONEY_NAMES.includes(name)) {
    return { value, currency: '', orderId: '', refundId: '', tax: null, shipping: null, isRenewal: false };
  }
  const random = randomFor(`money ${id}`);
  const order = random.whole(0, orders === '' ? 250 : 3);
  const usual = CURRENCIES[order % CURRENCIES.length] ?? CURRENCIES[0];
  const currency = random.weigh([
    [0.85, usual],
    [0.1, ''],
    [0.05, random.pick(CURRENCIES)],
  ]);
  const digits = currency === 'JPY' ? 0 : currency === 'KWD' ? 3 : 2;
  const amount = (most: number): number => random.whole(0, most * 10 ** digits) / 10 ** digits;
  const isPaid = name === 'purchase' || name === 'subscription_renewed';
  return {
    value: random.weigh([
      [0.75, amount(isPaid ? 500 : 300)],
      [0.15, null],
      [0.1, -amount(100)],
    ]),
    currency,
    orderId: random.chance(0.85) ? `${orders}o${order}` : '',
    refundId: random.chance(0.2) ? random.pick(REFUND_IDS) : '',
    tax: random.chance(0.5) ? amount(40) : null,
    shipping: random.chance(0.3) ? amount(20) : null,
    isRenewal: isPaid && random.chance(0.1),
  };
}

const moneyProperties = ({ refundId, tax, shipping, isRenewal }: Deed): object => ({
  ...(refundId === '' ? {} : { refund_id: refundId }),
  ...(tax === null ? {} : { tax }),
  ...(shipping === null ? {} : { shipping: String(shipping) }),
  ...(isRenewal ? { is_renewal: true } : {}),
});

/** Towns of one name in two countries; of some a part is known, or nothing. */
const PLACES: readonly [country: string, region: string, city: string][] = [
  ['DE', 'Bayern', 'München'],
  ['DE', 'Bayern', ''],
  ['DE', 'Berlin', 'Berlin'],
  ['FR', 'Île-de-France', 'Paris'],
  ['US', 'Texas', 'Paris'],
  ['US', '', ''],
  ['', '', ''],
];

function entryOf(id: string): Deed['entry'] {
  const random = randomFor(`entry ${id}`);
  const [geo_country, geo_region, geo_city] = random.pick(PLACES);
  const browser = random.pick(['Firefox', 'Chrome', '']);
  return { geo_country, geo_region, geo_city, browser, device_type: random.pick(['desktop', 'mobile', '']) };
}

/** What happened, but for its place among the rest. */
type Drawn = Omit<Deed, 'life' | 'arrivedAt' | 'index' | VisitPart>;
type VisitPart = keyof ReturnType<typeof visitParts>;

/** A world of about `count` events; the same seed is the same world. */
export const makeWorld = (seed: number, count: number): World =>
  generate(randomFor(`query world ${seed}`), count, { person: evenPerson, life: evenLife, blocks: evenBlocks });

/**
 * Another world than `makeWorld` makes, so that no rule hides in how one generator thinks: few persons do nearly all,
 * everything happens on the borders of hours, sessions and windows, clocks are off by days, whole weeks arrive in one
 * request in reverse, properties that say nothing are mostly left out, addresses are pages by rules of the site, and rows come in many blocks and up to three times.
 */
export function makeUnevenWorld(seed: number, count: number): World {
  const manner = { person: unevenPerson, life: unevenLife, blocks: unevenBlocks };
  const world = generate(randomFor(`uneven world ${seed}`), count, manner);
  return { ...world, links: world.links.toReversed() };
}

interface Device {
  distinctId: string;
  /** The person its events arrive under. */
  arrivesAs: string;
}

interface EvenPerson {
  id: string;
  devices: Device[];
  links: IdentityLink[];
}

/** Some have one device, some several that are known to be theirs at once, later, or never. */
function evenPerson(random: Random, number: number): EvenPerson {
  const distinctIds = Array.from({ length: random.whole(1, 3) }, (_, at) => `d-${number}-${at}`);
  const id = basePersonId(SITE, distinctIds[0] ?? '');
  const links: IdentityLink[] = [];
  const devices = distinctIds.map((distinctId): Device => {
    const base = basePersonId(SITE, distinctId);
    if (base === id || random.chance(0.3)) return { distinctId, arrivesAs: id };
    // First part of somebody else, then of this person: the newer link counts.
    if (random.chance(0.3)) links.push(link(distinctId, basePersonId(SITE, `passing-${number}`), 1));
    links.push(link(distinctId, id, 2));
    return { distinctId, arrivesAs: base };
  });
  return { id, devices, links };
}

const TEMPO_MS = [60_000, 20 * 60_000, 3 * 3_600_000, 2 * DAY_MS] as const;

function evenLife(random: Random, person: EvenPerson): [Deed, EventRow][] {
  let at = FROM - 4 * DAY_MS + random.whole(0, TO - FROM);
  let arrivedAt = 0;
  let index = 0;
  const life: Deed[] = [];
  return Array.from({ length: random.whole(1, 40) }, (_, number): [Deed, EventRow] => {
    const together = number > 0 && random.chance(0.2);
    if (!together || random.chance(0.5)) at += random.chance(0.1) ? 0 : random.whole(0, random.pick(TEMPO_MS));
    // Each request of a person arrives at a time of its own, some of them days late.
    if (!together) arrivedAt = Math.max(arrivedAt + 1, at + random.whole(0, random.chance(0.05) ? 6 * DAY_MS : 3_000));
    index = together ? index + 1 : 0;
    const drawn = evenDeed(random, person.id, `${person.id}-${number}`, at);
    const device = evenDevice(random, person, drawn);
    const deed = { ...drawn, ...visitParts(random, device.distinctId, drawn, null), arrivedAt, index, life };
    life.push(deed);
    return [deed, evenRow(random, device, deed)];
  });
}

function evenDeed(random: Random, person: string, id: string, at: number): Drawn {
  const atTill = random.chance(0.04);
  const name = atTill ? 'purchase' : random.pick(NAMES);
  return {
    id,
    person,
    name,
    at,
    source: atTill ? 'physical_store' : 'website',
    country: random.pick(COUNTRIES),
    ...moneyOf(name, id, '', null),
    campaign: random.chance(0.3) ? random.pick(CAMPAIGNS) : null,
    plan: random.chance(0.7) ? 'free' : 'paid',
    size: random.whole(1, 9),
    entry: entryOf(id),
    margin: random.chance(0.8) ? random.whole(-5_000, 5_000) / 100 : null,
    street: random.pick(STREETS),
    since: random.pick(SINCE as [string, ...string[]]),
    tags: some(random, () => random.pick(TAGS)),
    items: some(random, () => ({ sku: random.pick(SKUS), cost: { net: random.whole(2, 40) / 2 } })),
  };
}

function some<Item>(random: Random, make: () => Item): Item[] {
  return Array.from({ length: random.whole(0, 3) }, make);
}

/** A sale at the till comes with the browser's id, or under one of its own that the e-mail leads to the person. */
function evenDevice(random: Random, { id, devices }: EvenPerson, deed: Drawn): Device {
  const tillOnly = deed.source === 'physical_store' && random.chance(0.5);
  return tillOnly ? { distinctId: `till-${deed.id}`, arrivesAs: id } : random.pick(devices as [Device, ...Device[]]);
}

function evenRow(random: Random, { distinctId, arrivesAs }: Device, deed: Deed): EventRow {
  const { campaign, plan, size, margin, street, since, tags, items } = deed;
  const properties = { utm: { campaign }, plan, size, margin, paid: plan === 'paid', street, since, tags, items };
  const came = { distinctId, person: arrivesAs, partition: random.whole(0, 11), offset: random.whole(0, 100_000) };
  return rowOf(deed, came, properties);
}

/** In four blocks, one in twenty rows in two of them, and everything of another site beside it. */
function evenBlocks(random: Random, rows: readonly EventRow[]): EventRow[][] {
  const blocks: EventRow[][] = [[], [], [], []];
  for (const row of rows) {
    const at = random.whole(0, 3);
    blocks[at]?.push(row);
    if (random.chance(0.05)) blocks[(at + 1) % 4]?.push(row);
    if (random.chance(0.02)) blocks[at]?.push({ ...row, site_id: 'other' });
  }
  return blocks;
}

const MINUTE_MS = 60_000;
/** On the borders of what questions ask for: windows, sessions, hours, days. Some have a millisecond more or less. */
const GAPS_MS = [0, 1_000, 20 * MINUTE_MS, 30 * MINUTE_MS, 6 * HOUR_MS, 24 * HOUR_MS, 3 * DAY_MS, 30 * DAY_MS] as const;
const SKEWS_MS = [-40 * DAY_MS, -DAY_MS, 5 * HOUR_MS, 9 * DAY_MS] as const;

/** A person and how they behave. */
interface UnevenPerson {
  id: string;
  links: readonly IdentityLink[];
  distinctIds: readonly string[];
  events: number;
  /** How far their clock is off, in milliseconds. */
  skewMs: number;
  /** Most events that come together in one request. */
  requestMax: number;
  /** Whether a request tells the latest event first. */
  tellsBackwards: boolean;
  plan: 'free' | 'paid';
  country: string;
}

function unevenPerson(random: Random, number: number, count: number): UnevenPerson {
  const isHeavy = random.chance(0.03);
  const isOnce = random.chance(0.6);
  const distinctIds = Array.from({ length: isOnce ? 1 : random.whole(1, 6) }, (_, at) => `u${number}.${at}`);
  const person = {
    id: basePersonId(SITE, distinctIds[0] ?? ''),
    distinctIds,
    events: isHeavy ? random.whole(50, Math.max(60, Math.floor(count / 20))) : isOnce ? 1 : random.whole(2, 12),
    skewMs: random.chance(0.15) ? random.pick(SKEWS_MS) : 0,
    requestMax: random.pick([1, 1, 2, 50]),
    tellsBackwards: random.chance(0.3),
    plan: random.chance(0.05) ? ('paid' as const) : ('free' as const),
    country: random.weigh([
      [0.9, COUNTRIES[0]],
      [0.09, COUNTRIES[1]],
      [0.01, COUNTRIES[2]],
    ]),
  };
  return { ...person, links: overtakenLinks(random, person) };
}

/** Links that were overtaken, and the ones that count, each said more than once. */
function overtakenLinks(random: Random, { id, distinctIds }: Pick<UnevenPerson, 'id' | 'distinctIds'>): IdentityLink[] {
  return distinctIds.slice(1).flatMap((distinctId) => {
    const overtaken = Array.from({ length: random.whole(0, 3) }, (_, at) =>
      link(distinctId, basePersonId(SITE, `before ${distinctId} ${at}`), at),
    );
    const last = link(distinctId, id, 7);
    return [...overtaken, last, ...(random.chance(0.5) ? [last] : [])];
  });
}

function unevenLife(random: Random, person: UnevenPerson): [Deed, EventRow][] {
  const life: Deed[] = [];
  const firstDay = random.whole(-3, (TO - FROM) / DAY_MS);
  let clock = FROM + firstDay * DAY_MS + random.whole(0, 47) * 30 * MINUTE_MS;
  let arrivedAt = clock;
  const made: [Deed, EventRow][] = [];
  while (made.length < person.events) {
    const size = Math.min(random.whole(1, person.requestMax), person.events - made.length);
    const times = Array.from({ length: size }, () => {
      clock += random.pick(GAPS_MS) + (random.chance(0.2) ? random.whole(-1, 1) : 0);
      if (clock > TO + 2 * DAY_MS) clock = FROM + random.whole(0, 40) * DAY_MS;
      return clock + person.skewMs;
    });
    arrivedAt = Math.max(arrivedAt + 1, clock + random.pick([0, 5, HOUR_MS]));
    for (const [index, at] of (person.tellsBackwards ? times.toReversed() : times).entries()) {
      const drawn = unevenDeed(random, person, made.length, at);
      const distinctId = random.pick(person.distinctIds as [string, ...string[]]);
      const deed = { ...drawn, ...visitParts(random, distinctId, drawn, WORLD_PAGES), arrivedAt, index, life };
      life.push(deed);
      made.push([deed, unevenRow(random, person, distinctId, deed)]);
    }
  }
  return made;
}

function unevenDeed(random: Random, { id, plan, country }: UnevenPerson, number: number, at: number): Drawn {
  const name = random.chance(0.5) ? NAMES[0] : random.pick(NAMES);
  return {
    id: `${id}#${number}`,
    person: id,
    name,
    at,
    source: random.chance(0.01) ? 'physical_store' : 'website',
    country,
    ...moneyOf(name, `${id}#${number}`, id, name === 'add_to_cart' ? random.whole(0, 800) / 4 : null),
    campaign: random.chance(0.05) ? 'spring' : null,
    plan,
    size: random.pick([1, 1, 1, 9]),
    entry: entryOf(`${id}#${number}`),
    margin: random.chance(0.3) ? random.whole(-8, 8) / 4 : null,
    street: random.pick(['', '', 'Alte Straße 1', 'x'.repeat(300)]),
    since: random.pick(['', '2026-09-10T12:00:00+02:00', '2024-02-29', 'soon']),
    tags: random.chance(0.1) ? ['red', 'red', 3, true] : [],
    items: random.chance(0.1) ? Array.from({ length: 12 }, (_, at) => ({ sku: 'mug', cost: { net: at / 2 } })) : [],
  };
}

/** What is nothing is mostly left out, and what nobody asks for comes with it. */
function mostlyLeftOut(random: Random, deed: Deed): object {
  const { campaign, plan, size, margin, street, since, tags, items } = deed;
  const said = {
    '💡': { utm: { campaign: 'another' } },
    items: items.map((item) => ({ ...item, tags: ['blue'], name: null })),
    tags,
    paid: plan === 'paid',
    since,
    street,
    margin,
    size,
    plan,
    utm: campaign === null && random.chance(0.5) ? null : { source: 'x', campaign },
  };
  const isSaid = ([, value]: [string, unknown]): boolean =>
    random.chance(0.3) || !(value === '' || value === null || (Array.isArray(value) && value.length === 0));
  return Object.fromEntries(Object.entries(said).filter(isSaid));
}

function unevenRow(random: Random, { id }: UnevenPerson, distinctId: string, deed: Deed): EventRow {
  const place = { partition: random.whole(0, 2), offset: random.whole(0, 9) };
  // What came before the link arrived under a person of its own, and what came after it under this one.
  const person = random.chance(0.5) ? id : basePersonId(SITE, distinctId);
  return rowOf(deed, { distinctId, person, ...place }, mostlyLeftOut(random, deed));
}

/** In six blocks, one row in ten two or three times, each row again as another site's. */
function unevenBlocks(random: Random, rows: readonly EventRow[]): EventRow[][] {
  const blocks: EventRow[][] = Array.from({ length: 6 }, () => []);
  for (const row of rows) {
    const copies = random.chance(0.1) ? random.whole(2, 3) : 1;
    for (let copy = 0; copy < copies; copy += 1) random.pick(blocks).push(row);
    if (random.chance(0.1)) random.pick(blocks).push({ ...row, site_id: 'other' });
  }
  return blocks.filter((block) => block.length > 0);
}
