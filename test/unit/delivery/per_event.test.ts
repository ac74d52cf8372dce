import { describe, expect, it } from 'vitest';
import type { Adapter, Verdict } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { manyEntries } from './entries.ts';
import { answered, portsOf, webhookJob } from './harness.ts';

const listing = (classify: () => Verdict): Adapter => ({ ...webhook, classify }) as Adapter;
const job = (adapter: Adapter, count: number) =>
  webhookJob({
    adapter,
    entries: manyEntries(count),
    settings: { url: 'https://hooks.example/', batch_events_max: '50' },
  });

describe('a platform that judges each event', () => {
  it('gives each its own outcome, in the order sent', async () => {
    const adapter = listing(() => ({
      kind: 'per_event',
      verdicts: [
        { kind: 'delivered' },
        { kind: 'dead', reason: 'bad_currency', detail: '' },
        { kind: 'throttle', reason: 'busy', detail: '', retryAfterMs: 4_000 },
      ],
    }));
    const outcomes = await deliver(
      job(adapter, 3),
      portsOf(() => answered(200, '')),
    );
    expect(outcomes).toMatchObject([
      { outcome: 'delivered', reason: '' },
      { outcome: 'dead', reason: 'bad_currency' },
      { outcome: 'diverted', reason: 'busy', retryAfterMs: 4_000 },
    ]);
  });

  it('is asked again when it judged another number of events than were sent', async () => {
    const adapter = listing(() => ({ kind: 'per_event', verdicts: [{ kind: 'delivered' }] }));
    const outcomes = await deliver(
      job(adapter, 2),
      portsOf(() => answered(200, '')),
    );
    expect(outcomes).toMatchObject([
      { outcome: 'diverted', reason: 'answer_mismatch', detail: '1 for 2' },
      { outcome: 'diverted', reason: 'answer_mismatch' },
    ]);
  });
});

describe('groups', () => {
  it('never share a request', async () => {
    const grouping = {
      ...webhook,
      map: (entry: Parameters<typeof webhook.map>[0], context: Parameters<typeof webhook.map>[1]) => {
        const mapped = webhook.map(entry, context);
        return mapped.kind === 'skip' ? mapped : { ...mapped, group: entry.event.event_id.slice(-1) };
      },
    } as Adapter;
    const ports = portsOf(() => answered(200, ''));
    await deliver(job(grouping, 40), ports);
    const groups = ports.requests.map((request) => {
      const { data } = JSON.parse(request.body) as { data: { data: { event_id: string } }[] };
      return new Set(data.map((message) => message.data.event_id.slice(-1)));
    });
    expect(groups.every((group) => group.size === 1)).toBe(true);
    expect(groups).toHaveLength(10);
  });
});
