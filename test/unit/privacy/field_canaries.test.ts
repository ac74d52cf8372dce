import { describe, expect, it } from 'vitest';
import { takeBatch } from '#pipelines/intake/take_batch.ts';
import { FIELD_INNOCENTS, FIELD_SECRETS, type RecordCanary, residue } from '#test/harness/canaries/canaries.ts';
import { server, siteWith } from '../intake/context.ts';

const taken = ({ properties, country = 'US' }: RecordCanary, mode: 'online' | 'offline' = 'online') =>
  takeBatch(
    [{ event: 'seen', distinct_id: 'v', properties }],
    server({ country: null, site: siteWith({ default_country: country, mode }) }),
  );

const left = (canaries: readonly RecordCanary[], mode?: 'offline'): RecordCanary[] =>
  canaries.filter((canary) => residue(JSON.stringify(taken(canary, mode)), canary.raw).length > 0);

const named = ({ kind, country = '', properties }: RecordCanary): string =>
  [kind, country, JSON.stringify(properties)].join('\t');

describe.each([['a secret', FIELD_SECRETS, 350]])('%s', (_, canaries, least) => {
  it('would show where it is left', () => {
    expect(canaries.length).toBeGreaterThan(least);
    expect(
      canaries.filter(({ properties, raw }) => residue(JSON.stringify(properties), raw).length === 0).map(named),
    ).toEqual([]);
  });

  it.each([undefined, 'offline'] as const)('is gone from an event, of a site of mode %s', (mode) => {
    expect(left(canaries, mode).map(named)).toEqual([]);
  });
});

it('an innocent number or text stays', () => {
  const changed = FIELD_INNOCENTS.filter((innocent) => {
    const properties: unknown = JSON.parse(taken(innocent).taken[0]?.properties ?? '{}');
    return JSON.stringify(properties) !== JSON.stringify(innocent.properties);
  });
  expect(changed.map(named)).toEqual([]);
});
