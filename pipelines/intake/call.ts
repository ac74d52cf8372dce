import { anonymousId } from '#pipelines/privacy/anonymous_id.ts';
import { allowEffort } from '#pipelines/privacy/effort.ts';
import { normaliseIp } from '#pipelines/privacy/network.ts';
import { cleanUserAgent } from '#pipelines/privacy/user_agent.ts';
import { isBot } from './bots.ts';
import type { Call, Device, DropReason, IntakeContext } from './intake_types.ts';
import { siteRules } from './site_rules.ts';

const EVENTS_PER_PART = 50;

/**
 * What the events of a request share.
 *
 * @param events How many there are: as much may be done for each 50, which is what a request of ours may hold.
 */
export function openCall(context: IntakeContext, events: number): Call {
  const userAgent = context.userAgent === null ? null : cleanUserAgent(context.userAgent);
  return {
    context,
    rules: siteRules(context.site),
    peer: { ip: context.clientIp === null ? null : normaliseIp(context.clientIp), userAgent },
    countries: [context.site.default_country, context.country].filter((country) => country !== null),
    effort: allowEffort(Math.max(1, Math.ceil(events / EVENTS_PER_PART))),
    dropAll: dropAll(context),
    peerAnonymousId: null,
    occurrences: new Map(),
  };
}

function dropAll({ prefetch, caller, browserSigns, userAgent }: IntakeContext): DropReason | null {
  if (prefetch) return 'prefetch';
  return isBot(caller === 'browser' && browserSigns ? 'browser' : 'server', userAgent) ? 'bot' : null;
}

/** The anonymous id of a device; the peer's own is made once per request. */
export function deviceAnonymousId(call: Call, device: Device): string {
  if (device !== call.peer) return idOf(call, device);
  call.peerAnonymousId ??= idOf(call, device);
  return call.peerAnonymousId;
}

function idOf({ context }: Call, { ip, userAgent }: Device): string {
  return anonymousId(context.anonymousSalt, context.site.site_id, ip, userAgent);
}
