import { expect, test } from 'vitest';
import { previewOf } from '#pipelines/analytics/rule_preview.ts';
import { prepare } from '#pipelines/delivery/deliver.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { decodeEvent, encodeEvent } from '#schemas/event_batch.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { entryOf, NOW_MS, siteOf } from './entries.ts';

/** A purchase of now that says that it is for everybody, on a site that says so too, as delivery reads it. */
function outcome(name: string, historical: boolean): string {
  const adapter = DESTINATIONS.find((one) => one.name === name);
  if (adapter === undefined) throw new Error(name);
  const sent = entryOf({ historical, value: 5, currency: 'EUR', properties: { $destinations: { all: true } } });
  const entry = { ...sent, event: decodeEvent(encodeEvent(sent.event)) };
  const rules = [{ events: [], send: true, rename_to: 'Purchase', drop_properties: [] }];
  const made = prepare({ adapter, id: name, settings: {}, rules }, siteOf(), entry, NOW_MS);
  return made.kind === 'skip' ? made.reason : made.kind;
}

test('a preview of rules says that a historical event is not sent', () => {
  const [adapter] = DESTINATIONS;
  if (adapter === undefined) throw new Error('no destination');
  const row = { ...eventRow(entryOf({ historical: true })), received: NOW_MS, happened: NOW_MS };
  const known = { email: 1, phone: 0, first_name: 0, last_name: 0, external_id: 0 };
  const target = { adapter, id: adapter.name, settings: {}, rules: [] };
  expect(previewOf(target, siteOf(), { ...row, ...known }, NOW_MS)).toMatchObject({
    ...{ sent_as: null, skipped: 'historical' },
  });
});

test.each(DESTINATIONS.map(({ name }) => name))('%s gets no historical event, whatever says so', (name) => {
  expect(outcome(name, true)).toBe('historical');
  expect(outcome(name, false)).not.toBe('historical');
});
