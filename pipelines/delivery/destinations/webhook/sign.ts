import { createHash, createHmac } from 'node:crypto';

/**
 * The signature of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, keyed with the bytes behind `whsec_`, as
 * `v1,<base64>`.
 *
 * @param timestampS seconds since 1970 UTC.
 */
export function sign(secret: string, id: string, timestampS: number, body: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`;
}

/**
 * The webhook-id: one for an event of a site, the same on every re-send, so that the receiver can tell a repetition. A
 * request of several events takes its id from all of theirs.
 */
export function messageId(siteId: string, eventIds: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify([siteId, ...eventIds]));
  return `msg_${digest.digest('base64url').slice(0, 32)}`;
}
