// Tells channels what fired: it is written down that one begins, the channel is told, and at once what it answered.

import { firedName } from '#infra/alerts/alert_topic.ts';
import type { Egress } from '#infra/egress/send.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Mailer } from '#infra/mail/smtp.ts';
import { type KeyRing, openSecret } from '#infra/secrets/seal.ts';
import { alertSecretPlace, type ChannelKind, type ChannelTarget, sealedAs } from '#pipelines/alerts/alert.ts';
import { type SiteAlert, siteAlert } from '#pipelines/alerts/judge.ts';
import { linesOf, type MessageContext, slackBody, subjectOf, webhookBody } from '#pipelines/alerts/message.ts';
import { answered, begun, isDue, isOpen, type SendOutcome, withSend } from '#pipelines/alerts/sends.ts';
import type { Answer } from '#pipelines/delivery/contract.ts';
import { sign } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { retryAfterMs } from '#pipelines/delivery/platform_http.ts';
import { calendarOf } from '#pipelines/settings/calendar.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { AlertSend, FiredAlert } from '#schemas/records.ts';
import type { AlertLog } from './leader.ts';

/** Tells one channel, once. Never rejects. */
export type Tell = (fired: FiredAlert, send: AlertSend, one: SiteAlert) => Promise<SendOutcome>;

interface SendingParts {
  settings: Pick<SettingsTable, 'site' | 'alerts'>;
  tell: Tell;
  told(kind: string, outcome: AlertSend['state']): void;
  logger: Pick<Logger, 'warn'>;
  nowMs(): number;
  random(): number;
}

/** Side by side, so that a server that does not answer holds up few others. */
const TOGETHER = 10;

/** Tells what is due, as much as goes together; resolves to how many were told. */
export async function sendDue(parts: SendingParts, log: AlertLog): Promise<number> {
  const { settings, nowMs } = parts;
  const due = [...log.now.fired.values()].flatMap((fired) => {
    if (!fired.sends.some(isOpen)) return [];
    const one = siteAlert(settings, fired.site_id, fired.alert_id);
    const site = settings.site(fired.site_id);
    const { timeZone } = calendarOf(site ?? {});
    const sends = fired.sends.filter((send) => isDue(fired, send, one?.alert ?? null, timeZone, nowMs()));
    return sends.map((send) => ({ fired, send, one }));
  });
  const some = due.slice(0, TOGETHER);
  if (some.length === 0) return 0;
  const begin = new Map<string, FiredAlert>();
  for (const { fired, send } of some) {
    const now = begin.get(fired.fired_id) ?? fired;
    begin.set(fired.fired_id, withSend(now, begun(send, nowMs())));
  }
  await log.write(() => ({ fired: [...begin.values()] }));
  await Promise.all(some.map(({ fired, send, one }) => tellOne(parts, log, fired, begun(send, nowMs()), one)));
  return some.length;
}

async function tellOne(
  { tell, told, logger, nowMs, random }: SendingParts,
  log: AlertLog,
  fired: FiredAlert,
  send: AlertSend,
  one: SiteAlert | null,
): Promise<void> {
  failpoint('alerts.before_send');
  const outcome: SendOutcome = one === null ? { kind: 'never', reason: 'alert_removed' } : await tell(fired, send, one);
  failpoint('alerts.after_answer');
  const after = answered(send, outcome, nowMs(), random());
  // Other channels of the same may have answered meanwhile.
  await log.write(() => ({ fired: [withSend(log.now.fired.get(firedName(fired)) ?? fired, after)] }));
  told(send.kind, after.state);
  const { site_id: site, alert_id: alert, fired_id: id } = fired;
  const facts = { site, alert, fired: id, channel: send.channel, kind: send.kind, reason: after.reason };
  if (after.state === 'given_up') logger.warn(facts, 'a channel of an alert could not be told');
}

interface TellParts {
  ring: KeyRing;
  egress: Pick<Egress, 'send'>;
  /** Null: no mail server is configured. */
  mailer: Pick<Mailer, 'send'> | null;
  /** Of the dashboard; null: not configured. */
  dashboardUrl: string | null;
  nowMs(): number;
}

const TIMEOUT_MS = 15_000;

/** Tells channels by webhook, Slack and e-mail. */
export function createTell({ ring, egress, mailer, dashboardUrl, nowMs }: TellParts): Tell {
  function open({ site, setting }: SiteAlert, channel: string, field: 'target' | 'secret'): string | null {
    const sealed = setting.secrets[sealedAs(channel, field)];
    if (sealed === undefined) return null;
    const place = alertSecretPlace(site.site_id, setting.id, sealedAs(channel, field));
    const opened = openSecret(ring, place, sealed);
    return opened.ok ? opened.value : null;
  }

  async function post(url: string, body: string, headers: Record<string, string>): Promise<Answer> {
    const withType = { 'content-type': 'application/json', ...headers };
    return egress.send({ method: 'POST', url, headers: withType, body, trusted: false }, TIMEOUT_MS);
  }

  const ways: Record<
    ChannelKind,
    (fired: FiredAlert, target: ChannelTarget, of: MessageContext) => Promise<SendOutcome>
  > = {
    async email(fired, { target, id }, context) {
      if (mailer === null) return { kind: 'never', reason: 'mail_not_set_up' };
      const text = `${linesOf(fired, context).join('\n')}\n`;
      return mailer.send({ to: target, subject: subjectOf(fired, context), text, id });
    },
    async slack(fired, { target }, context) {
      return outcomeOf(await post(target, slackBody(fired, context), {}), OVER_AT_SLACK);
    },
    async webhook(fired, { target, secret, id }) {
      const body = webhookBody(fired, id);
      const seconds = Math.floor(nowMs() / 1_000);
      const signed = secret === null ? {} : { 'webhook-signature': sign(secret, id, seconds, body) };
      const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds), ...signed };
      return outcomeOf(await post(target, body, headers), OVER);
    },
  };

  return async (fired, { channel }, one) => {
    const { site, alert, calendar } = one;
    const kind = alert.channels.find(({ id }) => id === channel)?.kind;
    if (kind === undefined) return { kind: 'never', reason: 'channel_removed' };
    const target = open(one, channel, 'target');
    if (target === null) return { kind: 'again', reason: 'secret_unopened' };
    const pageUrl =
      dashboardUrl === null ? null : `${dashboardUrl}/dashboard/sites/${encodeURIComponent(site.site_id)}/alerts`;
    const context = { siteName: site.name, timeZone: calendar.timeZone, pageUrl };
    // The same whenever it is told again, and of each channel another one.
    const id = `${fired.fired_id}.${channel}`;
    return ways[kind](fired, { target, secret: open(one, channel, 'secret'), id }, context);
  };
}

/** By Standard Webhooks the receiver asks to stop. Of all else a receiver may be mended. */
const OVER: ReadonlySet<number> = new Set([410]);
/** The address was removed, or its channel is archived. */
const OVER_AT_SLACK: ReadonlySet<number> = new Set([403, 404, 410]);

function outcomeOf(answer: Answer, isOver: ReadonlySet<number>): SendOutcome {
  if (answer.kind === 'no_answer') {
    const { reason } = answer;
    return reason === 'address_refused' || reason === 'invalid_request'
      ? { kind: 'never', reason }
      : { kind: 'again', reason };
  }
  const { status, headers } = answer;
  if (status >= 200 && status <= 299) return { kind: 'sent' };
  if (isOver.has(status)) return { kind: 'never', reason: `http_${status}` };
  return { kind: 'again', reason: `http_${status}`, afterMs: retryAfterMs(headers) };
}
