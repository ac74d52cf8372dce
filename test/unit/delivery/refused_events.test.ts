import { describe, expect, it } from 'vitest';
import type { Answer } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import type { DeliveryJob } from '#pipelines/delivery/delivery_run.ts';
import { snapchat } from '#pipelines/delivery/destinations/snapchat/adapter.ts';
import { manyEntries } from './entries.ts';
import { answered, metaIds, metaJob, portsOf } from './harness.ts';

const job: DeliveryJob = {
  ...metaJob(),
  adapter: snapchat,
  settings: { pixel_id: '0123456789abcdef' },
  entries: manyEntries(10),
};
const VALID = answered(200, { status: 'VALID' });
const named = (...record_indexes: number[]): Answer =>
  answered(400, { status: 'INVALID', error_records: [{ record_indexes }] });

/** Refuses, by name, whatever the list holds of these ids. */
const refusing = (ids: readonly string[]) =>
  portsOf((request) => {
    const places = metaIds(request).flatMap((id, place) => (ids.includes(id) ? [place] : []));
    return places.length === 0 ? VALID : named(...places);
  });

const kinds = async (ports: ReturnType<typeof portsOf>): Promise<string[]> =>
  (await deliver(job, ports)).map(({ outcome }) => outcome);

describe('a platform that names the events it refuses', () => {
  it('costs two calls: those named are dead, the others go again together', async () => {
    const ports = refusing(['event_2', 'event_7']);
    const outcomes = await kinds(ports);
    expect(outcomes.flatMap((outcome, index) => (outcome === 'dead' ? [index] : []))).toEqual([2, 7]);
    expect(outcomes.filter((outcome) => outcome === 'delivered')).toHaveLength(8);
    expect(ports.requests.map((request) => metaIds(request).length)).toEqual([10, 8]);
  });

  it('costs one call when it names them all', async () => {
    const ports = refusing(manyEntries(10).map(({ event }) => event.event_id));
    expect(await kinds(ports)).toEqual(Array(10).fill('dead'));
    expect(ports.requests).toHaveLength(1);
  });

  it('is not believed when it names what was not sent: the batch is halved', async () => {
    const ports = portsOf((_, call) => (call === 1 ? named(99) : VALID));
    expect(await kinds(ports)).toEqual(Array(10).fill('delivered'));
    expect(ports.requests.map((request) => metaIds(request).length)).toEqual([10, 5, 5]);
  });
});
