import type { Answer, Verdict } from '#pipelines/delivery/contract.ts';
import { classifyAnswer, throttle } from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';

/** A project over its quota stays so until its month ends or somebody pays. */
const QUOTA_WAIT_MS = 3_600_000;

/** PostHog's answers go by status, but that events over the project's quota are dropped with status 200. */
export const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    const limited = isRecord(body) && status === 200 ? body['quota_limited'] : undefined;
    return Array.isArray(limited) && limited.includes('events')
      ? throttle('posthog_quota_limited', QUOTA_WAIT_MS)
      : null;
  });
