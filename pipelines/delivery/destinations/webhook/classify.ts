import type { Answer, Verdict } from '#pipelines/delivery/contract.ts';
import {
  credentialsBroken,
  DELIVERED,
  doubtful,
  retry,
  retryAfterMs,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';

/** Answers about the body: the same bytes would be refused again, and all others too where the receiver is at fault. */
const BODY_REFUSED = new Set([400, 422]);

/**
 * A receiver's answer. By Standard Webhooks only 2xx is a success, 410 asks to stop sending, and everything else is a
 * failure to be repeated; redirects are not followed and count as failures. An address that the guard will not connect
 * to stops the site's webhook until its settings change, as 410 does.
 */
export function classify(answer: Answer): Verdict {
  if (answer.kind === 'no_answer') {
    return answer.reason === 'address_refused' ? credentialsBroken('address_refused') : retry(answer.reason);
  }
  const { status } = answer;
  const waitMs = retryAfterMs(answer.headers);
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status >= 300 && status <= 399) return retry('redirected', `status ${status}`);
  if (status === 410) return credentialsBroken('gone', 'the receiver asked to stop');
  if (BODY_REFUSED.has(status)) return doubtful(`http_${status}`);
  if (status === 413) return split(`http_${status}`);
  if (status === 429 || waitMs !== null) return throttle(`http_${status}`, waitMs);
  return retry(`http_${status}`);
}
