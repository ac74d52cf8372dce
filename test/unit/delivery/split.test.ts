import { describe, expect, it } from 'vitest';
import type { Answer, HttpRequest } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { manyEntries } from './entries.ts';
import { answered, metaIds, metaJob, portsOf } from './harness.ts';

const REFUSAL = {
  error: { message: 'x', type: 'OAuthException', code: 100, error_subcode: 2804007, fbtrace_id: 'Ab1' },
};

/** Refuses a whole request when one of the ids is in it, as Meta does. */
const refusing =
  (bad: ReadonlySet<string>) =>
  (request: HttpRequest): Answer =>
    metaIds(request).some((id) => bad.has(id))
      ? answered(400, REFUSAL)
      : answered(200, { events_received: metaIds(request).length });

describe('a batch refused for an event in it', () => {
  it.each([1, 2, 3, 7, 100, 999, 1000])('isolates the one bad event among %i', async (count) => {
    const badIndex = Math.floor(count / 3);
    const ports = portsOf(refusing(new Set([`event_${badIndex}`])));
    const outcomes = await deliver(metaJob({ entries: manyEntries(count) }), ports);
    const dead = outcomes.flatMap((outcome, index) => (outcome.outcome === 'dead' ? [index] : []));
    expect(dead).toEqual([badIndex]);
    expect(outcomes.filter((outcome) => outcome.outcome === 'delivered')).toHaveLength(count - 1);
    expect(outcomes[badIndex]?.reason).toBe('meta_100_2804007');
    expect(ports.requests.length).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(count)));
  });

  it('delivers every other event exactly once', async () => {
    const bad = new Set(['event_3', 'event_250', 'event_251', 'event_999']);
    const taken: string[] = [];
    const platform = refusing(bad);
    const ports = portsOf((request) => {
      const answer = platform(request);
      if (answer.kind === 'answered' && answer.status === 200) taken.push(...metaIds(request));
      return answer;
    });
    const outcomes = await deliver(metaJob({ entries: manyEntries(1000) }), ports);
    expect(taken).toHaveLength(996);
    expect(new Set(taken).size).toBe(996);
    expect(outcomes.filter((outcome) => outcome.outcome === 'dead')).toHaveLength(4);
  });

  it('stops searching after a bounded number of calls and leaves the rest to the next attempt', async () => {
    const all = new Set(manyEntries(1000).map((entry) => entry.event.event_id));
    const ports = portsOf(refusing(all));
    const outcomes = await deliver(metaJob({ entries: manyEntries(1000) }), ports);
    expect(ports.requests.length).toBeLessThan(160);
    const unfinished = outcomes.filter((outcome) => outcome.outcome === 'diverted');
    expect(unfinished.length).toBeGreaterThan(900);
    expect(new Set(unfinished.map((outcome) => outcome.reason))).toEqual(new Set(['split_unfinished']));
  });
});
