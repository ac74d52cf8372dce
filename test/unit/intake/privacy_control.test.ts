import { describe, expect, it } from 'vitest';
import type { IntakeContext } from '#pipelines/intake/call.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { browser, server } from './context.ts';

function propertiesOf(context: IntakeContext, properties: Record<string, unknown> = {}): unknown {
  const { taken } = processBatch(
    [{ event: 'seen', distinct_id: 'v', timestamp: '2026-11-10T12:00:00Z', properties }],
    context,
  );
  return JSON.parse(taken[0]?.properties ?? 'null');
}

describe('Global Privacy Control in a header', () => {
  it('marks the event, whatever its page says', () => {
    expect(propertiesOf(browser({ gpc: true }), { $gpc: false, a: 1 })).toEqual({ $gpc: true, a: 1 });
  });

  it('is not invented', () => {
    expect(propertiesOf(browser({ gpc: false }), { a: 1 })).toEqual({ a: 1 });
    expect(propertiesOf(browser(), { $gpc: true })).toEqual({ $gpc: true });
  });

  it("says nothing of a server's customers", () => {
    expect(propertiesOf(server({ gpc: true }), { a: 1 })).toEqual({ a: 1 });
  });

  it('does not make another event of a repetition', () => {
    const event = { event: 'seen', distinct_id: 'v', timestamp: '2026-11-10T12:00:00Z' };
    const [marked, plain] = [browser({ gpc: true }), browser()].map(
      (one) => processBatch([event], one).taken[0]?.event_id,
    );
    expect(marked).toBe(plain);
  });
});
