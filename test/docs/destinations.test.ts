import { expect, test } from 'vitest';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { defaultsOf, secretNames } from '#pipelines/delivery/setting_fields.ts';
import type { Event } from '#schemas/event.ts';
import { entryOf } from '#test/unit/delivery/entries.ts';
import { section, tableRows } from './page.ts';

const HOUR_MS = 3_600_000;

function spelled(ageMaxMs: number | null): string {
  if (ageMaxMs === null) return 'any';
  const hours = ageMaxMs / HOUR_MS;
  return hours > 72 ? `${hours / 24} days` : `${hours} hours`;
}

/** An age that differs by source goes with the sources it is of. */
function ageOf({ ageMaxMs }: Adapter): string {
  const of = (action_source: Event['action_source']): string => spelled(ageMaxMs(entryOf({ action_source }).event));
  const [website, shop, phone] = [of('website'), of('physical_store'), of('phone_call')];
  if (website === shop) return website;
  return phone === shop ? `${website}; offline ${shop}` : `${website}; in a shop ${shop}`;
}

const named = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

function rowOf(adapter: Adapter): string {
  const secrets = secretNames(adapter.schema);
  const { batchEventsMax } = adapter.limits(defaultsOf(adapter.schema));
  return [
    `\`${adapter.name}\``,
    adapter.title,
    batchEventsMax,
    ageOf(adapter),
    adapter.repetition === undefined ? 'once' : 'at least once',
    adapter.anonymousEvents === 'send' ? 'sent' : 'skipped',
    named(Object.keys(adapter.schema.properties).filter((name) => !secrets.includes(name))),
    named(secrets),
  ].join(' | ');
}

test('the page has a row of each destination, and says of it what its code says', () => {
  expect(tableRows(section('destinations.md', 'Each destination'))).toEqual(DESTINATIONS.map(rowOf));
});
