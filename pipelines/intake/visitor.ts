import { customerAnonymousId } from '#pipelines/privacy/anonymous_id.ts';
import type { Found } from '#pipelines/privacy/found.ts';
import { recipientsKinds } from '#pipelines/privacy/found_person.ts';
import { copyIdentifier, noIdentifiers, putIdentifier } from '#pipelines/privacy/identifiers.ts';
import type { Identifiers } from '#schemas/event.ts';
import { deviceAnonymousId } from './call.ts';
import { cleanDistinctId } from './distinct_id.ts';
import type { Call, Device, SentEvent } from './intake_types.ts';

export interface Visitor {
  distinctId: string;
  identifiers: Identifiers | null;
}

/**
 * Who the event is about. An offline-mode site knows only the day's anonymous id. A sent id that is an e-mail address
 * or phone number is replaced, and fills the identifier where the properties had none of the visitor's own.
 */
export function visitorOf(sent: SentEvent, found: Found, device: Device, call: Call): Visitor {
  const { site, identitySecret } = call.context;
  if (site.mode === 'offline') return { distinctId: deviceAnonymousId(call, device), identifiers: null };
  if (sent.distinctId === null) return { distinctId: defaultId(found, device, call), identifiers: found.identifiers };
  const { distinctId, identifier } = cleanDistinctId(sent.distinctId, identitySecret, site, call.effort);
  if (identifier === null) return { distinctId, identifiers: found.identifiers };
  const identifiers = found.identifiers ?? noIdentifiers();
  const recipients = recipientsKinds(found);
  if (identifiers[identifier.kind] === null || recipients.includes(identifier.kind)) {
    for (const kind of recipients) copyIdentifier(identifiers, kind, noIdentifiers());
    putIdentifier(identifiers, identifier.kind, identifier.raw, { own: null, sites: site.default_country });
  }
  return { distinctId, identifiers };
}

/**
 * The anonymous id of the device; but a server's event that names its customer gets one of the customer. Else all whom a till
 * reports from one address, whom a shop behind a proxy reports under the proxy's, or who share a carrier's address and the user
 * agent of one phone's model, would be one visitor and be stitched into one person. What a browser's key says joins nobody who
 * is known.
 */
function defaultId(found: Found, device: Device, call: Call): string {
  const { email, phone, external_id } = found.identifiers ?? noIdentifiers();
  const customer = call.context.caller === 'browser' ? null : (email ?? phone ?? external_id);
  if (customer === null) return deviceAnonymousId(call, device);
  return customerAnonymousId(call.context.identitySecret, call.context.site.site_id, customer);
}
