import type { Answer } from '#pipelines/delivery/contract.ts';
import { answered } from '#test/unit/delivery/harness.ts';
import { commonAnswers, means } from '../answer_cases.ts';
import type { AnswerCase } from '../subject.ts';

const graph = (code: number, subcode?: number, status = 400, transient = false): Answer =>
  answered(status, {
    error: {
      message: 'x',
      type: 'OAuthException',
      code,
      error_subcode: subcode,
      is_transient: transient,
      fbtrace_id: 'T1',
    },
  });

const each = (codes: readonly number[], kind: AnswerCase['expected']['kind']): AnswerCase[] =>
  codes.map((code) => means(`code ${code}`, graph(code), kind));

const rejections = [2804001, 2804003, 2804007, 2804016, 2804017, 2804019, 2804048];

/** Codes of the Graph API and of the Conversions API's validation. */
export const metaAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('success', answered(200, { events_received: 1, messages: [], fbtrace_id: 'T1' }), 'delivered'),
  ...each([1, 2, 341, 368, 5000, 21009], 'retry'),
  ...each([4, 17, 32, 613, 80003, 80004], 'throttle'),
  ...each([3, 5, 10, 12, 101, 102, 104, 190, 200, 250, 299, 463, 803, 2500, 2635], 'credentials_broken'),
  means('any code of a session that has ended', graph(100, 463), 'credentials_broken'),
  means('code 100/33', graph(100, 33), 'credentials_broken'),
  ...rejections.map((subcode) =>
    means(`code 100/${subcode}`, graph(100, subcode), {
      kind: 'split',
      reason: `meta_100_${subcode}`,
      detail: 'status 400 fbtrace_id T1',
    }),
  ),
  means('code 100 alone', graph(100), { kind: 'split', reason: 'meta_100', isDoubtful: true }),
  means('a code that is not known', graph(1234), { kind: 'split', isDoubtful: true }),
  means(
    'fewer taken than sent',
    answered(200, { events_received: 2, fbtrace_id: 'T1' }),
    {
      kind: 'taken_in_part',
      taken: 2,
      detail: '2 of 3 received, fbtrace_id T1',
    },
    3,
  ),
  means(
    'none taken',
    answered(200, { events_received: 0 }),
    {
      kind: 'split',
      reason: 'meta_none_received',
      isDoubtful: true,
    },
    3,
  ),
  means('a transient error of any code', graph(100, 99, 400, true), 'retry'),
  means('a transient error of a code that pauses', graph(190, undefined, 400, true), 'retry'),
  means('code 1 with 500', graph(1, undefined, 500), 'retry'),
  means('any code with 503', graph(999, undefined, 503), 'retry'),
  means('any code with 429', graph(999, undefined, 429), 'throttle'),
  means('200 without a count', answered(200, '{}'), { kind: 'retry', reason: 'unreadable_answer' }),
  means('200 cut short', answered(200, '{"events_rec'), 'retry'),
  means('code, subcode, status and trace, and nothing that the message repeats', graph(100, 2804003), {
    kind: 'split',
    reason: 'meta_100_2804003',
    detail: 'status 400 fbtrace_id T1',
  }),
];
