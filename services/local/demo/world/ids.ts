import { createHash } from 'node:crypto';

/** Names one run of the demo; it is part of every id, so that runs over the same data do not meet. */
export interface RunIdentity {
  seed: number;
  run: string;
}

function digest(identity: RunIdentity, label: string): string {
  return createHash('sha256').update(`${identity.seed}/${identity.run}/${label}`).digest('hex');
}

/** What every event id of the run begins with: `xxxxxxxx-xxxx-`. */
export function runPrefix(identity: RunIdentity): string {
  const tag = digest(identity, 'run');
  return `${tag.slice(0, 8)}-${tag.slice(8, 12)}-`;
}

/** A version 8 UUID (RFC 9562, section 5.8: contents are ours to choose): the run's prefix, then a digest of the label. */
export function eventId(identity: RunIdentity, label: string): string {
  const hex = digest(identity, `event/${label}`);
  const variant = '89ab'[Number.parseInt(hex.slice(3, 4), 16) % 4];
  return `${runPrefix(identity)}8${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}

/** A first-party visitor id as the tag's cookie would hold it. */
export function distinctId(identity: RunIdentity, label: string): string {
  return `did_${digest(identity, `visitor/${label}`).slice(0, 24)}`;
}

/** A short token of the run for use inside e-mail addresses, order numbers and customer numbers. */
export function runToken(identity: RunIdentity): string {
  return digest(identity, 'token').slice(0, 8);
}

/** A whole number from 0 to 2^32 - 1 that depends on the run and the label. */
export function runNumber(identity: RunIdentity, label: string): number {
  return Number.parseInt(digest(identity, `number/${label}`).slice(0, 8), 16);
}
