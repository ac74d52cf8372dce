import { describe, expect, it } from 'vitest';
import type { AlertInput } from '#pipelines/alerts/alert.ts';
import { type Figure, judge, meets, newState, ruleOf } from '#pipelines/alerts/judge.ts';
import type { AlertState } from '#schemas/records.ts';
import { alertWith, figureAt, HOUR_MS, NOON_MS } from './alert_world.ts';

/** What is said, as `fired 1` for the hour that begins an hour after noon, when figures are judged one by one. */
function said(changes: Partial<AlertInput>, figures: readonly Figure[]): { said: string[]; state: AlertState } {
  const alert = alertWith(changes);
  let state = newState('shop', alert, ruleOf(alert), NOON_MS);
  const all: string[] = [];
  for (const figure of figures) {
    const judged = judge(alert, state, [figure], figure.to);
    state = judged.state;
    all.push(...judged.firings.map(({ is, figure: of }) => `${is} ${(of.from - NOON_MS) / HOUR_MS}`));
  }
  return { said: all, state };
}

describe('a threshold', () => {
  it('fires once, and again only after it was over', () => {
    const figures = [20, 5, 4, 20, 3].map((value, hour) => figureAt(hour, value));
    expect(said({}, figures).said).toEqual(['fired 1', 'fired 4']);
    expect(said({ notify_recovery: true }, figures).said).toEqual(['fired 1', 'recovered 3', 'fired 4']);
  });

  it('is over after as many good intervals in a row as it says', () => {
    const figures = [5, 20, 5, 20, 20, 5].map((value, hour) => figureAt(hour, value));
    expect(said({ recover_after: 2, notify_recovery: true }, figures).said).toEqual([
      'fired 0',
      'recovered 4',
      'fired 5',
    ]);
  });

  it('does not judge what began before it was made, nor anything twice', () => {
    const early = { ...figureAt(-1, 1), to: NOON_MS + 1 };
    expect(said({}, [early]).said).toEqual([]);
    expect(said({}, [figureAt(0, 1), figureAt(0, 1)]).said).toEqual(['fired 0']);
  });

  it('names what fired the same, whoever finds it', () => {
    const alert = alertWith();
    const state = newState('shop', alert, ruleOf(alert), NOON_MS);
    const idOf = (nowMs: number) => judge(alert, state, [figureAt(0, 1)], nowMs).firings[0]?.id;
    expect(idOf(NOON_MS + HOUR_MS)).toBe(idOf(NOON_MS + 5 * HOUR_MS));
    expect(idOf(NOON_MS)).toMatch(/^[\w-]{22}$/);
  });

  it('says nothing of what cannot be said, and neither ends by it', () => {
    const { said: all, state } = said({ notify_recovery: true }, [figureAt(0, 5), figureAt(1, null), figureAt(2, 20)]);
    expect(all).toEqual(['fired 0', 'recovered 2']);
    expect(said({}, [figureAt(0, null)]).state.status).toBe('waiting');
    expect(state.status).toBe('ok');
  });
});

describe('a state that has to last', () => {
  const failing = { kind: 'destination_failing', condition: { is: 'failing', minutes: 15 } } as const;
  const looks = (values: readonly number[]): Figure[] =>
    values.map((value, at) => {
      const atMs = NOON_MS + (at + 1) * 5 * 60_000;
      return { ...figureAt(0, value), from: atMs, to: atMs };
    });

  it('fires when it lasted so long without an interruption', () => {
    const { question: _, interval: __, ...alert } = alertWith();
    const changes = { ...alert, ...failing, channels: [], recover_after: 1 };
    expect(said(changes, looks([1, 1, 1])).said).toEqual([]);
    expect(said(changes, looks([1, 1, 1, 1])).said).toHaveLength(1);
    expect(said(changes, looks([1, 1, 0, 1, 1, 1])).said).toEqual([]);
  });
});

const change = (is: 'rose' | 'fell', percent = 50) => ({ is, percent, against: 'week' }) as const;

it.each([
  ['above', { is: 'above', value: 10 } as const, figureAt(0, 11), true],
  ['not above', { is: 'above', value: 10 } as const, figureAt(0, 10), false],
  ['too few events', { is: 'below', value: 10, at_least: 5 } as const, figureAt(0, 4), null],
  ['rose', change('rose'), figureAt(0, 31, { base: 20, baseEvents: 20 }), true],
  ['did not rise enough', change('rose'), figureAt(0, 30, { base: 20, baseEvents: 20 }), false],
  ['fell to nothing', change('fell'), figureAt(0, 0, { base: 20, baseEvents: 20 }), true],
  ['rose from nothing', change('rose'), figureAt(0, 20, { base: 0 }), true],
  ['a change among few', change('rose'), figureAt(0, 9, { base: 1, baseEvents: 1 }), null],
  ['nothing to compare with', change('fell'), figureAt(0, 20), null],
  ['no data', { is: 'no_data' } as const, figureAt(0, 0), true],
  ['no data yet', { is: 'no_data' } as const, figureAt(0, 0, { hadEvents: false }), null],
  ['data', { is: 'no_data' } as const, figureAt(0, 3), false],
])('%s', (_name, condition, figure, expected) => {
  expect(meets(condition, figure)).toBe(expected);
});

it('begins anew with another rule, but not with another name, channel or hours', () => {
  const rule = ruleOf(alertWith());
  expect(ruleOf(alertWith({ name: 'Sales', quiet_hours: { from: '22:00', to: '07:00' }, channels: [] }))).toBe(rule);
  expect(ruleOf(alertWith({ condition: { is: 'below', value: 11 } }))).not.toBe(rule);
  expect(ruleOf(alertWith({ interval: 'day' }))).not.toBe(rule);
});
