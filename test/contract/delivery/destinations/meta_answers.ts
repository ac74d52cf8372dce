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

const refusals = [2804001, 2804003, 2804007, 2804016, 2804017, 2804019, 2804048];

/** Codes of the Graph API and of the Conversions API's validation. */
export const metaAnswers: readonly AnswerCase[] = [
  ...commonAnswers,
  means('success', answered(200, { events_received: 1, messages: [], fbtrace_id: 'T1' }), 'delivered'),
  ...each([1, 2, 341, 368, 5000, 21009], 'retry'),
  ...each([4, 17, 32, 613, 80003, 80004], 'throttle'),
  ...each([10, 102, 190, 200, 250, 299], 'credentials_broken'),
  means('code 100/33', graph(100, 33), 'credentials_broken'),
  ...refusals.map((subcode) => means(`code 100/${subcode}`, graph(100, subcode), 'split')),
  means('code 100 alone', graph(100), 'split'),
  means('a transient error of any code', graph(100, 99, 400, true), 'retry'),
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
