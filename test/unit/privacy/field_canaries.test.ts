import { describe, expect, it } from 'vitest';
import { processBatch } from '#pipelines/intake/take_event.ts';
import {
  FIELD_IDENTIFIERS,
  FIELD_INNOCENTS,
  FIELD_SECRETS,
  type RecordCanary,
  residue,
} from '#test/harness/canaries/canaries.ts';
import { server, siteWith } from '../intake/context.ts';

const taken = ({ properties, country = 'US' }: RecordCanary, mode: 'online' | 'offline' = 'online') =>
  processBatch(
    [{ event: 'seen', distinct_id: 'v', properties }],
    server({ country: null, site: siteWith({ default_country: country, mode }) }),
  );

const left = (canaries: readonly RecordCanary[], mode?: 'offline'): RecordCanary[] =>
  canaries.filter((canary) => {
    const batch = JSON.stringify(taken(canary, mode));
    return residue(batch, canary.raw).length > 0 || residue(batch.replaceAll('\\', ''), canary.raw).length > 0;
  });

const named = ({ kind, country = '', properties }: RecordCanary): string =>
  [kind, country, JSON.stringify(properties)].join('\t');

/** Under a key that says as often when or where something is from. */
const MISSED = ['phone, WhatsApp\tUS\t{"messages":[{"from":"12015550123","type":"text","wa_phone":"12015550123"}]}'];

describe.each([
  ['an address or a number', FIELD_IDENTIFIERS, 500, MISSED],
  ['a secret', FIELD_SECRETS, 350, []],
])('%s', (_, canaries, least, missed) => {
  it('would show where it is left', () => {
    expect(canaries.length).toBeGreaterThan(least);
    expect(
      canaries.filter(({ properties, raw }) => residue(JSON.stringify(properties), raw).length === 0).map(named),
    ).toEqual([]);
  });

  it.each([undefined, 'offline'] as const)('is gone from an event, of a site of mode %s', (mode) => {
    expect(left(canaries, mode).map(named)).toEqual(missed);
  });
});

it('an innocent number or text stays', () => {
  const changed = FIELD_INNOCENTS.filter((innocent) => {
    const properties: unknown = JSON.parse(taken(innocent).taken[0]?.properties ?? '{}');
    return JSON.stringify(properties) !== JSON.stringify(innocent.properties);
  });
  expect(changed.map(named)).toEqual([]);
});
