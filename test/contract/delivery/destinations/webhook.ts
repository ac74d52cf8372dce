import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { webhookStandin } from '#services/local/platforms/webhook.ts';
import { WEBHOOK_SECRET } from '#test/unit/delivery/harness.ts';
import type { Subject } from '../subject.ts';
import { webhookAnswers } from './webhook_answers.ts';
import { webhookCases } from './webhook_cases.ts';

const PATH = '/in/shop';

export const subject: Subject = {
  adapter: webhook,
  start: (options) => startPlatform(webhookStandin({ [PATH]: WEBHOOK_SECRET }), options),
  settings: (standin) => ({ url: standin.url + PATH }),
  secrets: { secret: WEBHOOK_SECRET },
  brokenSecrets: { secret: WEBHOOK_SECRET },
  brokenRule: { fault: { kind: 'status', status: 410 }, times: 4 },
  baseUrl: () => null,
  forbidden: ['198.51.100.77', WEBHOOK_SECRET.slice('whsec_'.length)],
  casesMin: 15,
  cases: webhookCases,
  answers: webhookAnswers,
};
