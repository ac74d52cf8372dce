import { expect, test, vi } from 'vitest';
import { stageState, waitText } from '#services/dashboard/src/pages/operations/operations_page.tsx';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

test('a stage without consumers is not running, one with old records is behind', () => {
  const item = { stage: 'dedup', consumers: 2, lag: 0, waits_longer_than_ms: null, on_lanes: 0, rate: 3 };
  expect(stageState(item).label).toBe('Up to date');
  expect(stageState({ ...item, consumers: 0 }).label).toBe('Not running');
  expect(stageState({ ...item, lag: null }).label).toBe('No data yet');
  const behind = { ...item, lag: 9, waits_longer_than_ms: 600_000 };
  expect([stageState(behind).label, waitText(behind)]).toEqual(['Behind', '> 10 min']);
  expect(waitText({ ...item, lag: 3 })).toBe('< 10 s');
});
