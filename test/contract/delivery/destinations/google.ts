import { google } from '#pipelines/delivery/destinations/google/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { googleStandin } from '#test/platforms/google.ts';
import { SERVICE_ACCOUNT } from '../service_accounts.ts';
import type { Subject } from '../subject.ts';
import { googleAnswers } from './google_answers.ts';
import { googleCases } from './google_cases.ts';

const ACCOUNT = '1234567890';

export const subject: Subject = {
  adapter: google,
  start: (options) =>
    startPlatform(googleStandin(SERVICE_ACCOUNT.publicKeys), {
      ...options,
      accounts: { [ACCOUNT]: [SERVICE_ACCOUNT.email] },
    }),
  settings: ({ url }) => ({
    customer_id: ACCOUNT,
    event_names: 'purchase=111,generate_lead=222,sign_up=333,quiz_done=444',
    base_url: url,
    token_url: `${url}/token`,
  }),
  secrets: { service_account_key: SERVICE_ACCOUNT.keyFile },
  brokenSecrets: { service_account_key: SERVICE_ACCOUNT.strangerKeyFile },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['Sonderburg', 'Midtjylland', '198.51.100.77', 'efefef'],
  isTokenRequest: ({ url }) => url.endsWith('/token'),
  entryChanges: { order_id: null },
  casesMin: 15,
  cases: googleCases,
  answers: googleAnswers,
};
