import { anonymousId } from '#pipelines/privacy/anonymous_id.ts';
import { normaliseIp } from '#pipelines/privacy/network.ts';
import { allowPhoneReads } from '#pipelines/privacy/phone_reads.ts';
import { cleanUserAgent } from '#pipelines/privacy/user_agent.ts';
import { isBot } from './bots.ts';
import type { Call, Device, DropReason, IntakeContext } from './intake_types.ts';
import { siteRules } from './site_rules.ts';

export function openCall(context: IntakeContext): Call {
  const userAgent = context.userAgent === null ? null : cleanUserAgent(context.userAgent);
  return {
    context,
    rules: siteRules(context.site),
    peer: { ip: context.clientIp === null ? null : normaliseIp(context.clientIp), userAgent },
    countries: [context.site.default_country, context.country].filter((country) => country !== null),
    reads: allowPhoneReads(),
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
