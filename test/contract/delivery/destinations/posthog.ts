import { posthog } from '#pipelines/delivery/destinations/posthog/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { standin } from '#test/platforms/posthog.ts';
import type { Subject } from '../subject.ts';
import { posthogAnswers } from './posthog_answers.ts';
import { posthogCases } from './posthog_cases.ts';

export const subject: Subject = {
  adapter: posthog,
  start: (options) => startPlatform(standin, { ...options, accounts: { project: ['phc_good'] } }),
  settings: ({ url }) => ({ base_url: url }),
  secrets: { api_key: 'phc_good' },
  brokenSecrets: { api_key: 'phc_revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['Sonderburg', 'QX77', 'Midtjylland'],
  casesMin: 15,
  cases: posthogCases,
  answers: posthogAnswers,
};
