import type { RejectionsItem } from '#services/control_api/operations.ts';
import { refusalsOf } from './concern_answers.ts';
import type { StubApi } from './stub_api.ts';

const HOUR_MS = 3_600_000;

/** A site of which several kinds were not accepted, with a sample of an event of a given name. */
export function someRefusals(event: string): RejectionsItem {
  const nowMs = Date.now();
  const hour = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const malformed = { kind: 'rejected', code: 'timestamp_invalid' } as const;
  const bot = { kind: 'dropped', code: 'bot' } as const;
  const foreign = { kind: 'refused', code: 'origin_not_allowed' } as const;
  const key = { key_id: '9f86d081884c7d65', shown_prefix: 'svc_pk_4fGh', label: 'web' };
  return refusalsOf({
    totals: [
      { ...bot, count: 1_250 },
      { ...malformed, count: 41 },
      { ...foreign, count: 7 },
    ],
    counts: [
      { at: hour - 30 * HOUR_MS, ...bot, count: 1_250 },
      { at: hour - 2 * HOUR_MS, ...malformed, count: 40 },
      { at: hour, ...malformed, count: 1 },
      { at: hour, ...foreign, count: 7 },
    ],
    samples: [
      {
        ...{ at: nowMs - 5_000, ...malformed, event, index: 3, caller: 'browser', key },
        fields: ['event', 'timestamp', `properties.${event}`],
      },
      { at: nowMs - 9_000, ...foreign, event: null, index: null, caller: null, key: null, fields: [] },
    ],
  });
}

export const withRefusals = (api: StubApi, event = 'purchase'): StubApi =>
  api.on('GET', '/v1/admin/sites/shop/refusals', someRefusals(event));
