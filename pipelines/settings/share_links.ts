// Shared links: making them, whom they let in, what they show of the time, who may have them in a frame, and how they end.

import { timingSafeEqual } from 'node:crypto';
import type { SavedKind, ShareLink } from '#schemas/setting.ts';
import type { Principal } from './access.ts';
import { issueSecret } from './admin_tokens.ts';
import { DAY_MS, momentIn, wallMs } from './calendar.ts';
import { hashKey } from './callers.ts';
import type { Fact } from './journal.ts';
import { isPlainText, type Problem, unless } from './problems.ts';
import type { RandomBytes } from './secrets.ts';
import { type SettingsTable, shareKey } from './table.ts';
import { personalProblems } from './validate.ts';

/** Links of a site that work. */
export const SHARE_LINKS_MAX = 100;
/** Those of a site that work no more and are remembered when another is made; so many are forgotten then. */
const ENDED_MAX = 100;
const FORGOTTEN_AT_ONCE_MAX = 20;

const ID_BYTES = 10;
const MINUTE_MS = 60_000;

/** Ids are no secret: they stand in the path, and so in logs of proxies. What opens the link is its secret alone. */
export function issueShare(randomBytes: RandomBytes): { linkId: string; secret: string; secretHash: string } {
  const { secret, hash } = issueSecret('share', randomBytes);
  return { linkId: Buffer.from(randomBytes(ID_BYTES)).toString('hex'), secret, secretHash: hash };
}

/** Checks a link before it is written; no problem: it may be. */
export const shareProblems = ({ name }: ShareLink): Problem[] => [
  ...unless(isPlainText(name, 1, 100), 'name_malformed', 'name', 'has 1 to 100 characters'),
  ...personalProblems(name, 'name'),
];

export type ShareState = 'active' | 'expired' | 'revoked';

/** Revocation does not look at the clock. */
export function shareStateOf({ revoked_at, expires_at }: ShareLink, nowMs: number): ShareState {
  if (revoked_at !== null) return 'revoked';
  return nowMs >= expires_at ? 'expired' : 'active';
}

type Settings = Pick<SettingsTable, 'site' | 'savedItems' | 'shareLink'>;

/**
 * The link that a secret opens; null where it opens nothing, for whatever reason. The hashes are compared in constant time, also
 * where there is no such link.
 */
export function openedShare(table: Settings, linkId: string, secret: string | null, nowMs: number): ShareLink | null {
  const link = table.shareLink(linkId);
  const presented = hashKey(secret ?? '');
  const isSame = timingSafeEqual(Buffer.from(presented), Buffer.from(link?.secret_hash ?? '0'.repeat(64)));
  return link !== undefined && isSame && isShown(table, link, nowMs) ? link : null;
}

/** Whether a link works, and what it shows is there. */
function isShown(table: Settings, link: ShareLink, nowMs: number): boolean {
  if (shareStateOf(link, nowMs) !== 'active' || table.site(link.site_id) === undefined) return false;
  return table.savedItems(link.site_id).some(({ kind, id }) => kind === link.kind && id === link.item_id);
}

/** Origins whose pages may have a link in a frame; none where it does not work, so that ids tell nobody which there are. */
export function framesOf(table: Settings, linkId: string, nowMs: number): readonly string[] {
  const link = table.shareLink(linkId);
  if (link === undefined || !link.may_embed || !isShown(table, link, nowMs)) return [];
  return table.site(link.site_id)?.embed_origins ?? [];
}

/** Whoever reads by a link may what a viewer of its site may; nothing but the routes of shared links asks for them. */
export const readerOf = ({ site_id, link_id, name }: ShareLink): Principal => ({
  kind: 'token',
  id: shareKey(site_id, link_id),
  name,
  actor: `shared link ${link_id}`,
  grants: [{ role: 'viewer', account_id: null, site_id }],
});

/** The last days in a zone, of which today is the last. It ends with the minute that is under way, as pages of the dashboard do. */
export function lastDays(days: number, timeZone: string, nowMs: number): { from: number; to: number } {
  const today = new Date(wallMs(nowMs, timeZone));
  const first = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() + 1 - days);
  return { from: momentIn(timeZone, first), to: Math.floor(nowMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS };
}

/** When a link ends that is made for some days. */
export const shareEnd = (days: number, nowMs: number): number => nowMs + days * DAY_MS;

/**
 * Facts that end the links of what is removed: another of the same id that is made later is not shown by them.
 *
 * @param of Null: all of the site.
 */
export function endedShares(
  table: Pick<SettingsTable, 'shareLinks'>,
  siteId: string,
  of: { kind: SavedKind; id: string } | null,
  nowMs: number,
): Fact[] {
  return table
    .shareLinks(siteId)
    .filter(({ revoked_at }) => revoked_at === null)
    .filter(({ kind, item_id }) => of === null || (kind === of.kind && item_id === of.id))
    .map((link) => ({ body: { share: { ...link, revoked_at: nowMs } } }));
}

/** Facts that remove the links of a site that ended longest ago, beyond those that are remembered; the audit has each. */
export function sharesToForget(table: Pick<SettingsTable, 'shareLinks'>, siteId: string, nowMs: number): Fact[] {
  const endOf = ({ revoked_at, expires_at }: ShareLink): number => Math.min(revoked_at ?? expires_at, expires_at);
  const ended = table.shareLinks(siteId).filter((link) => shareStateOf(link, nowMs) !== 'active');
  const oldest = ended.toSorted((a, b) => endOf(a) - endOf(b)).slice(0, Math.max(0, ended.length - ENDED_MAX));
  return oldest.slice(0, FORGOTTEN_AT_ONCE_MAX).map(({ link_id }) => ({ removedKey: shareKey(siteId, link_id) }));
}
