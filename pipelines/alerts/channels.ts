// Where alerts are sent: addresses that are kept sealed, and what of them may be shown.

import { type Problem, problem } from '#pipelines/settings/problems.ts';
import type { ChannelInput, ChannelKind } from './alert.ts';

/** What a channel is told with. */
export interface ChannelTarget {
  target: string;
  /** What signs a webhook; null: it is not signed. */
  secret: string | null;
  /** Of the message. */
  id: string;
}

/** Under which name something of a channel is kept sealed. */
export const sealedAs = (channel: string, field: 'target' | 'secret'): string =>
  field === 'target' ? channel : `${channel}/${field}`;

/** Where something of a channel is kept sealed: elsewhere it does not open. */
export const alertSecretPlace = (siteId: string, alertId: string, field: string) => ({
  ...{ siteId, destination: `alert:${alertId}`, field },
});

/** One address, without a name, comments or quotes: what is written to a mail server as it is. */
const EMAIL =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{3,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+$/;

/** What may be shown of where a channel leads; null: it is no such address. */
export function shownTarget(kind: ChannelKind, target: string): string | null {
  if (kind === 'email')
    return EMAIL.test(target) ? `***@${target.slice(target.lastIndexOf('@') + 1).toLowerCase()}` : null;
  return URL.parse(target)?.host ?? null;
}

/**
 * What is wrong with where channels lead.
 *
 * @param known What is kept sealed of the alert before, by name.
 * @param isAddressAllowed Whether the guard of what goes out would call an address.
 */
export function targetProblems(
  channels: readonly ChannelInput[],
  known: (channel: ChannelInput) => boolean,
  isAddressAllowed: (address: string) => boolean,
): Problem[] {
  return channels.flatMap((channel, at): Problem[] => {
    const { kind, target, secret } = channel;
    const field = `channels[${at}].target`;
    if (secret !== undefined && kind !== 'webhook') {
      return [problem('field_malformed', `channels[${at}].secret`, 'is only of webhooks')];
    }
    if (target === undefined) return known(channel) ? [] : [problem('field_missing', field, 'is missing')];
    if (shownTarget(kind, target) === null) {
      return [problem('field_malformed', field, kind === 'email' ? 'is no e-mail address' : 'is no URL')];
    }
    if (kind === 'email' || isAddressAllowed(target)) return [];
    return [problem('address_refused', field, 'must be https, without a password, and lead to the public internet')];
  });
}

/** Whether something is sent to an address that was not before: whoever has it learns of figures of the site. */
export const tellsAnew = (channels: readonly Pick<ChannelInput, 'target'>[]): boolean =>
  channels.some(({ target }) => target !== undefined);
