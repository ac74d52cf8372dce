import { basePersonId } from '#pipelines/identity/identity.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { IdentityLink } from '#schemas/records.ts';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import type { Deed } from './reference_ledger.ts';
import { COUNTRIES, FROM, NAMES, TO, type World } from './reference_world.ts';

const SITE = 'shop';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** On the borders of what questions ask for: windows, sessions, hours, days. Some have a millisecond more or less. */
const GAPS_MS = [0, 1_000, 20 * MINUTE_MS, 30 * MINUTE_MS, 6 * HOUR_MS, 24 * HOUR_MS, 3 * DAY_MS, 30 * DAY_MS] as const;
const SKEWS_MS = [-40 * DAY_MS, -DAY_MS, 5 * HOUR_MS, 9 * DAY_MS] as const;

/** A person and how they behave. */
interface Habit {
  id: string;
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

/**
 * Another world than `makeWorld` makes, so that no rule hides in how one generator thinks: few persons do nearly all,
 * everything happens on the borders of hours, sessions and windows, clocks are off by days, whole weeks arrive in one
 * request in reverse, properties that say nothing are mostly left out, and rows come in many blocks and up to three times.
 */
export function makeUnevenWorld(seed: number, count: number): World {
  const random = randomFor(`uneven world ${seed}`);
  const ledger: Deed[] = [];
  const rows: EventRow[] = [];
  const links: IdentityLink[] = [];
  for (let number = 0; ledger.length < count; number += 1) {
    const person = habit(random, number, count);
    links.push(...linksOf(random, person));
    for (const [deed, row] of lifeOf(random, person)) {
      ledger.push(deed);
      rows.push(row);
    }
  }
  return { ledger, blocks: blocksOf(random, rows), links: links.toReversed() };
}

function habit(random: Random, number: number, count: number): Habit {
  const isHeavy = random.chance(0.03);
  const isOnce = random.chance(0.6);
  const distinctIds = Array.from({ length: isOnce ? 1 : random.whole(1, 6) }, (_, at) => `u${number}.${at}`);
  return {
    id: basePersonId(SITE, distinctIds[0] ?? ''),
    distinctIds,
    events: isHeavy ? random.whole(50, Math.max(60, Math.floor(count / 20))) : isOnce ? 1 : random.whole(2, 12),
    skewMs: random.chance(0.15) ? random.pick(SKEWS_MS) : 0,
    requestMax: random.pick([1, 1, 2, 50]),
    tellsBackwards: random.chance(0.3),
    plan: random.chance(0.05) ? 'paid' : 'free',
    country: random.weigh([
      [0.9, COUNTRIES[0]],
      [0.09, COUNTRIES[1]],
      [0.01, COUNTRIES[2]],
    ]),
  };
}

/** Links that were overtaken, and the ones that count, each said more than once. */
function linksOf(random: Random, { id, distinctIds }: Habit): IdentityLink[] {
  return distinctIds.slice(1).flatMap((distinctId) => {
    const link = (target: string, version: number): IdentityLink => ({
      site_id: SITE,
      kind: 'person',
      person_id: basePersonId(SITE, distinctId),
      target,
      first_seen: FROM - DAY_MS,
      version,
    });
    const overtaken = Array.from({ length: random.whole(0, 3) }, (_, at) =>
      link(basePersonId(SITE, `before ${distinctId} ${at}`), at),
    );
    return [...overtaken, link(id, 7), ...(random.chance(0.5) ? [link(id, 7)] : [])];
  });
}

function lifeOf(random: Random, person: Habit): [Deed, EventRow][] {
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
      const deed = { ...deedOf(random, person, made.length, at), arrivedAt, index, life };
      life.push(deed);
      made.push([deed, rowOf(random, person, deed)]);
    }
  }
  return made;
}

function deedOf(
  random: Random,
  { id, plan, country }: Habit,
  number: number,
  at: number,
): Omit<Deed, 'life' | 'arrivedAt' | 'index'> {
  const name = random.chance(0.5) ? NAMES[0] : random.pick(NAMES);
  return {
    id: `${id}#${number}`,
    person: id,
    name,
    at,
    source: random.chance(0.01) ? 'physical_store' : 'website',
    country,
    value: name === 'purchase' || name === 'add_to_cart' ? random.whole(0, 800) / 4 : null,
    campaign: random.chance(0.05) ? 'spring' : null,
    plan,
    size: random.pick([1, 1, 1, 9]),
    margin: random.chance(0.3) ? random.whole(-8, 8) / 4 : null,
    street: random.pick(['', '', 'Alte Straße 1', 'x'.repeat(300)]),
    since: random.pick(['', '2026-09-10T12:00:00+02:00', '2024-02-29', 'soon']),
    tags: random.chance(0.1) ? ['red', 'red', 3, true] : [],
    items: random.chance(0.1) ? Array.from({ length: 12 }, (_, at) => ({ sku: 'mug', cost: { net: at / 2 } })) : [],
  };
}

/** What is nothing is mostly left out, and what nobody asks for comes with it. */
function propertiesOf(random: Random, deed: Deed): string {
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
  return JSON.stringify(Object.fromEntries(Object.entries(said).filter(isSaid)));
}

function rowOf(random: Random, { id, distinctIds }: Habit, deed: Deed): EventRow {
  const distinctId = random.pick(distinctIds);
  return eventRow({
    coordinate: { partition: random.whole(0, 2), offset: random.whole(0, 9), index: deed.index },
    // What came before the link arrived under a person of its own, and what came after it under this one.
    person: { person_id: random.chance(0.5) ? id : basePersonId(SITE, distinctId), identifiers: null },
    event: sampleEvent({
      site_id: SITE,
      event_id: deed.id,
      distinct_id: distinctId,
      event: deed.name,
      timestamp: deed.at,
      received_at: deed.arrivedAt,
      action_source: deed.source,
      country: deed.country,
      value: deed.value,
      properties: propertiesOf(random, deed),
    }),
  });
}

/** In twelve blocks, one row in ten two or three times, each row again as another site's. */
function blocksOf(random: Random, rows: readonly EventRow[]): EventRow[][] {
  const blocks: EventRow[][] = Array.from({ length: 12 }, () => []);
  for (const row of rows) {
    const copies = random.chance(0.1) ? random.whole(2, 3) : 1;
    for (let copy = 0; copy < copies; copy += 1) random.pick(blocks).push(row);
    if (random.chance(0.1)) random.pick(blocks).push({ ...row, site_id: 'other' });
  }
  return blocks.filter((block) => block.length > 0);
}
