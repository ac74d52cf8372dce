import { reddit } from '#pipelines/delivery/destinations/reddit/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { standin } from '#test/platforms/reddit.ts';
import type { Subject } from '../subject.ts';
import { redditAnswers } from './reddit_answers.ts';
import { redditCases } from './reddit_cases.ts';

const PIXEL = 'a2_abcdefgh';

export const subject: Subject = {
  adapter: reddit,
  start: (options) => startPlatform(standin, { ...options, accounts: { [PIXEL]: ['token-good'] } }),
  settings: ({ url }) => ({ pixel_id: PIXEL, base_url: url }),
  secrets: { access_token: 'token-good' },
  brokenSecrets: { access_token: 'token-revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['onderburg', 'idtjylland', 'QX77', '198.51.100.77'],
  casesMin: 15,
  cases: redditCases,
  answers: redditAnswers,
};
