import { ga4 } from '#pipelines/delivery/destinations/ga4/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { standin } from '#test/platforms/ga4.ts';
import type { Subject } from '../subject.ts';
import { ga4Answers } from './ga4_answers.ts';
import { ga4Cases } from './ga4_cases.ts';

const STREAM = 'G-TEST12345';

export const subject: Subject = {
  adapter: ga4,
  start: (options) => startPlatform(standin, { ...options, accounts: { [STREAM]: ['secret-good'] } }),
  settings: ({ url }) => ({ measurement_id: STREAM, base_url: url }),
  secrets: { api_secret: 'secret-good' },
  brokenSecrets: { api_secret: 'secret-revoked' },
  brokenRule: { fault: { kind: 'status', status: 403 }, times: 1 },
  baseUrl: () => null,
  forbidden: ['qx77'],
  secretsInUrl: ['api_secret'],
  neverRefuses: true,
  casesMin: 25,
  cases: ga4Cases,
  answers: ga4Answers,
};
