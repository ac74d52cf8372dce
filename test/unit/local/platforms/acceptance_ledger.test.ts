import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Acceptance, createLedger } from '#services/local/platforms/standin.ts';

const HOUR_MS = 3_600_000;
const acceptance = (id: string, at: number): Acceptance => ({
  key: `pixel/Purchase/${id}`,
  event_id: id,
  event_name: 'Purchase',
  scope: 'pixel',
  at,
});

describe('counts', () => {
  it('tells first acceptances from repetitions', () => {
    const ledger = createLedger(null, 48 * HOUR_MS);
    ledger.accept([acceptance('a', 1), acceptance('b', 1)]);
    ledger.accept([acceptance('a', 2)]);
    expect(ledger.page(0, 10)).toMatchObject({
      first: 2,
      repeated: 1,
      effects: 2,
      events: [
        { event_id: 'a', times: 2, effects: 1, first_at: 1, last_at: 2 },
        { event_id: 'b', times: 1, effects: 1 },
      ],
    });
    expect(ledger.totals()).toEqual({ pixel: { first: 2, repeated: 1, effects: 2 } });
  });

  it.each([
    [48 * HOUR_MS, 1],
    [48 * HOUR_MS + 1, 2],
  ])('has after %i ms an effect %i times', (afterMs, effects) => {
    const ledger = createLedger(null, 48 * HOUR_MS);
    ledger.accept([acceptance('a', 0)]);
    ledger.accept([acceptance('a', afterMs)]);
    expect(ledger.page(0, 1).events[0]).toMatchObject({ times: 2, effects });
  });

  it('gives pages by cursor', () => {
    const ledger = createLedger(null, 0);
    ledger.accept(['a', 'b', 'c'].map((id) => acceptance(id, 1)));
    const first = ledger.page(0, 2);
    expect(first.events.map((entry) => entry.event_id)).toEqual(['a', 'b']);
    expect(first.next_cursor).toBe(2);
    expect(ledger.page(2, 2)).toMatchObject({ events: [{ event_id: 'c' }], next_cursor: null });
  });
});

describe('the file', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('goes on counting after a restart', () => {
    const path = join(folder, 'deep', 'meta.jsonl');
    createLedger(path, HOUR_MS).accept([acceptance('a', 1), acceptance('b', 1)]);
    const again = createLedger(path, HOUR_MS);
    again.accept([acceptance('b', 2)]);
    expect(createLedger(path, HOUR_MS).page(0, 10)).toEqual(again.page(0, 10));
    expect(again.page(0, 10)).toMatchObject({ first: 2, repeated: 1 });
  });

  it('leaves out a line that a crash cut short, and goes on behind it', () => {
    const path = join(folder, 'meta.jsonl');
    createLedger(path, HOUR_MS).accept([acceptance('a', 1)]);
    appendFileSync(path, '{"key":"pixel/Pur');
    createLedger(path, HOUR_MS).accept([acceptance('c', 3)]);
    expect(
      createLedger(path, HOUR_MS)
        .page(0, 10)
        .events.map((entry) => entry.event_id),
    ).toEqual(['a', 'c']);
    expect(readFileSync(path, 'utf8').endsWith('\n')).toBe(true);
  });
});
