import { answered } from '#test/unit/delivery/harness.ts';
import { means, silence } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

const STATUSES: [status: number, headers: Record<string, string>, kind: AnswerCase['expected']['kind']][] = [
  [200, {}, 'delivered'],
  [201, {}, 'delivered'],
  [204, {}, 'delivered'],
  [301, {}, 'retry'],
  [307, {}, 'retry'],
  [400, {}, 'split'],
  [401, {}, 'retry'],
  [404, {}, 'retry'],
  [410, {}, 'credentials_broken'],
  [413, {}, 'split'],
  [422, {}, 'split'],
  [429, {}, 'throttle'],
  [500, {}, 'retry'],
  [503, {}, 'retry'],
  [503, { 'retry-after': '5' }, 'throttle'],
];

/** By Standard Webhooks only 2xx is a success and 410 asks to stop. */
export const webhookAnswers: readonly AnswerCase[] = [
  ...STATUSES.map(([status, headers, kind]) =>
    means(`${status} ${JSON.stringify(headers)}`, answered(status, '', headers), kind),
  ),
  means('an address that leads inside', silence('address_refused'), {
    kind: 'credentials_broken',
    reason: 'address_refused',
  }),
  means('no answer in time', silence('timeout'), 'retry'),
];
