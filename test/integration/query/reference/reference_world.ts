import { basePersonId } from '#pipelines/identity/identity.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { IdentityLink } from '#schemas/records.ts';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import type { Deed, Ledger } from './reference_ledger.ts';

const DAY_MS = 86_400_000;
export const FROM = Date.UTC(2026, 8, 1);
export const TO = Date.UTC(2026, 9, 16);
const SITE = 'shop';
export const NAMES = [
  'page_view',
  'view_item',
  'add_to_cart',
  'begin_checkout',
  'purchase',
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

interface Device {
  distinctId: string;
  /** The person its events arrive under. */
  arrivesAs: string;
}

interface Somebody {
  id: string;
  devices: Device[];
  links: IdentityLink[];
}

/** A world of about `count` events; the same seed is the same world. */
export function makeWorld(seed: number, count: number): World {
  const random = randomFor(`query world ${seed}`);
  const ledger: Deed[] = [];
  const rows: EventRow[] = [];
  const links: IdentityLink[] = [];
  for (let number = 0; ledger.length < count; number++) {
    const person = somebody(random, number);
    links.push(...person.links);
    for (const [deed, row] of lifeOf(random, person)) {
      ledger.push(deed);
      rows.push(row);
    }
  }
  return { ledger, blocks: blocksOf(random, rows), links };
}

/** Some have one device, some several that are known to be theirs at once, later, or never. */
function somebody(random: Random, number: number): Somebody {
  const distinctIds = Array.from({ length: random.whole(1, 3) }, (_, at) => `d-${number}-${at}`);
  const [first = ''] = distinctIds;
  const id = basePersonId(SITE, first);
  const links: IdentityLink[] = [];
  const devices = distinctIds.map((distinctId): Device => {
    const base = basePersonId(SITE, distinctId);
    if (base === id || random.chance(0.3)) return { distinctId, arrivesAs: id };
    // First part of somebody else, then of this person: the newer link counts.
    if (random.chance(0.3)) links.push(link(base, basePersonId(SITE, `passing-${number}`), 1));
    links.push(link(base, id, 2));
    return { distinctId, arrivesAs: base };
  });
  return { id, devices, links };
}

function link(personId: string, target: string, version: number): IdentityLink {
  return { site_id: SITE, kind: 'person', person_id: personId, target, first_seen: FROM, version };
}

const TEMPO_MS = [60_000, 20 * 60_000, 3 * 3_600_000, 2 * DAY_MS] as const;

function lifeOf(random: Random, person: Somebody): [Deed, EventRow][] {
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
    const deed = { ...deedOf(random, person.id, `${person.id}-${number}`, at, arrivedAt, index), life };
    life.push(deed);
    return [deed, rowOf(random, person, deed)];
  });
}

function deedOf(
  random: Random,
  person: string,
  id: string,
  at: number,
  arrivedAt: number,
  index: number,
): Omit<Deed, 'life'> {
  const atTill = random.chance(0.04);
  const name = atTill ? 'purchase' : random.pick(NAMES);
  return {
    id,
    person,
    name,
    at,
    arrivedAt,
    index,
    source: atTill ? 'physical_store' : 'website',
    country: random.pick(COUNTRIES),
    value: name === 'purchase' ? random.whole(1, 50_000) / 100 : null,
    campaign: random.chance(0.3) ? random.pick(CAMPAIGNS) : null,
    plan: random.chance(0.7) ? 'free' : 'paid',
    size: random.whole(1, 9),
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
function rowOf(random: Random, person: Somebody, deed: Deed): EventRow {
  const tillOnly = deed.source === 'physical_store' && random.chance(0.5);
  const device = tillOnly
    ? { distinctId: `till-${deed.id}`, arrivesAs: person.id }
    : random.pick(person.devices as [Device, ...Device[]]);
  const properties = {
    utm: { campaign: deed.campaign },
    plan: deed.plan,
    size: deed.size,
    margin: deed.margin,
    paid: deed.plan === 'paid',
    street: deed.street,
    since: deed.since,
    tags: deed.tags,
    items: deed.items,
  };
  return eventRow({
    coordinate: { partition: random.whole(0, 11), offset: random.whole(0, 100_000), index: deed.index },
    person: { person_id: device.arrivesAs, identifiers: null },
    event: sampleEvent({
      site_id: SITE,
      event_id: deed.id,
      distinct_id: device.distinctId,
      event: deed.name,
      timestamp: deed.at,
      received_at: deed.arrivedAt,
      action_source: deed.source,
      country: deed.country,
      value: deed.value,
      properties: JSON.stringify(properties),
    }),
  });
}

/** In four blocks, one in twenty rows in two of them, and everything of another site beside it. */
function blocksOf(random: Random, rows: readonly EventRow[]): EventRow[][] {
  const blocks: EventRow[][] = [[], [], [], []];
  for (const row of rows) {
    const at = random.whole(0, 3);
    blocks[at]?.push(row);
    if (random.chance(0.05)) blocks[(at + 1) % 4]?.push(row);
    if (random.chance(0.02)) blocks[at]?.push({ ...row, site_id: 'other' });
  }
  return blocks;
}
