// Shared links: made, listed and revoked by those who keep boards, and what whoever has one reads.

import { RedisUnavailableError } from '#infra/redis/client.ts';
import type { LinkUse, ShareUse } from '#infra/redis/share_use.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import { calendarOf } from '#pipelines/settings/calendar.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import {
  issueShare,
  lastDays,
  SHARE_LINKS_MAX,
  shareEnd,
  shareProblems,
  shareStateOf,
  sharesToForget,
} from '#pipelines/settings/share_links.ts';
import { shareKey } from '#pipelines/settings/table.ts';
import type { SavedItem, SavedKind, ShareLink } from '#schemas/setting.ts';
import { closed, pageFields, pageOf } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/queries.ts';
import { siteParams } from '#services/control_api/sites.ts';
import { metaOf } from '../changes.ts';
import {
  done,
  doneWith,
  inSite,
  type PreparedQuery,
  page,
  type RequestContext,
  refused,
  refusedFor,
  resource,
  route,
} from '../route.ts';
import { comparable, itemsOf, permissionFor, questionOf, type Saved, timesFor } from './saved_routes.ts';

/** Kinds whose answers are figures of many; whichever is new has to be placed here before a link shows it. */
export const SHOWN_KINDS: ReadonlySet<string> = new Set<keyof Questions>([
  'funnel',
  'correlation',
  'trends',
  'revenue',
  'retention',
  'stickiness',
  'lifecycle',
  'top',
  'visits',
  'paths',
  'survey',
  'promo',
  'form',
]);

const TAG = 'Shared links';
const base = '/v1/admin/sites/{site_id}/shares';

const itemOf = (view: SettingsView, siteId: string, kind: SavedKind, id: string): SavedItem | undefined =>
  itemsOf(view, siteId, kind).find((item) => item.id === id);

function shareItem(
  view: SettingsView,
  link: ShareLink,
  nowMs: number,
  use: { opened: number | null; lastMs: number | null },
): api.ShareItem {
  const { secret_hash: _hash, site_id, ...shown } = link;
  const state = shareStateOf(link, nowMs);
  const meta = metaOf(view, shareKey(site_id, link.link_id));
  return { ...shown, state, opened: use.opened, last_opened_at: use.lastMs, ...meta };
}

const NEVER = { opened: 0, lastMs: null };
const UNKNOWN = { opened: null, lastMs: null };

export const shareRoutes = resource(TAG, [
  route('GET', base, 'listShares', {
    access: inSite('saved.change'),
    summary: 'List the shared links of a site, the newest first, and when they were opened',
    params: siteParams,
    query: closed(pageFields),
    success: { status: 200, schema: pageOf(api.shareShape), description: 'Links, without what opens them' },
    errors: ['site_unknown'],
    async gather({ params: { site_id }, query }, { shareUse }, { view, nowMs }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      // Sorted by a text, the newest first.
      const age = ({ created_at, link_id }: ShareLink): string =>
        `${String(Number.MAX_SAFE_INTEGER - created_at).padStart(16, '0')}/${link_id}`;
      const links = view.table.shareLinks(site_id).toSorted((a, b) => (age(a) < age(b) ? -1 : 1));
      const shown = page(links, query, age, (link) => link);
      const uses = await usesOf(
        shareUse,
        shown.items.map(({ link_id }) => link_id),
      );
      const items = shown.items.map((link) =>
        shareItem(view, link, nowMs, uses === null ? UNKNOWN : (uses.get(link.link_id) ?? NEVER)),
      );
      return { kind: 'answered', body: { items, next: shown.next } };
    },
  }),
  route('POST', base, 'createShare', {
    access: inSite('saved.change'),
    requiresReauthentication: () => true,
    summary: 'Make a link by which a board or a saved question is read without signing in, and show it, once',
    params: siteParams,
    body: api.newShare,
    success: { status: 201, schema: api.madeShareShape, description: 'The link' },
    errors: ['site_unknown', 'board_unknown', 'question_unknown', 'share_not_shown', 'limit_reached'],
    run({ params: { site_id }, body }, world) {
      const { view, nowMs, randomBytes, principal } = world;
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      const item = itemOf(view, site_id, body.kind, body.item_id);
      if (item === undefined) return refused(body.kind === 'board' ? 'board_unknown' : 'question_unknown');
      if (body.kind === 'question' && !isShown(view, item)) return refused('share_not_shown');
      const active = view.table.shareLinks(site_id).filter((link) => shareStateOf(link, nowMs) === 'active');
      if (active.length >= SHARE_LINKS_MAX) return refused('limit_reached');
      const { linkId, secret, secretHash } = issueShare(randomBytes);
      const share: ShareLink = {
        ...{ site_id, link_id: linkId, secret_hash: secretHash, kind: body.kind, item_id: body.item_id },
        ...{ name: body.name, last_days: body.last_days ?? null, may_embed: body.may_embed ?? false },
        ...{ created_at: nowMs, created_by: principal.actor, revoked_at: null },
        expires_at: shareEnd(body.days ?? api.SHARE_DAYS, nowMs),
      };
      return (
        refusedFor(shareProblems(share)) ??
        done([{ body: { share } }, ...sharesToForget(view.table, site_id, nowMs)], (after) => {
          const made = shareItem(after, share, nowMs, NEVER);
          return { body: { path: `/dashboard/shared/${linkId}#${secret}`, share: made }, version: made.version };
        })
      );
    },
  }),
  route('POST', `${base}/{link_id}/revoke`, 'revokeShare', {
    protects: true,
    access: inSite('saved.change'),
    summary: 'Revoke a shared link, at once and for good; a revoked one stays as it is',
    params: api.shareParams,
    success: { status: 200, schema: api.shareShape, description: 'The revoked link' },
    errors: ['share_unknown'],
    run({ params: { site_id, link_id } }, { view, nowMs }) {
      const before = view.table.shareLink(link_id);
      if (before === undefined || before.site_id !== site_id) return refused('share_unknown');
      const share = { ...before, revoked_at: before.revoked_at ?? nowMs };
      return doneWith([{ body: { share } }], (after) => shareItem(after, share, nowMs, UNKNOWN));
    },
  }),
]);

/** Null where Redis, which has them, does not answer: links are listed and revoked without it. */
async function usesOf(shareUse: ShareUse, linkIds: readonly string[]): Promise<ReadonlyMap<string, LinkUse> | null> {
  try {
    return await shareUse.read(linkIds);
  } catch (error) {
    if (error instanceof RedisUnavailableError) return null;
    throw error;
  }
}

const savedOf = ({ definition }: SavedItem): Saved & { name: string } => JSON.parse(definition);

/** Whether a link shows a question: to nobody more than a viewer sees, and only figures. */
function isShown(view: SettingsView, item: SavedItem): boolean {
  const saved = savedOf(item);
  return SHOWN_KINDS.has(saved.query) && permissionFor(item.site_id, saved, view) === 'query.aggregates';
}

/** The questions of what a link shows, as they are now; whoever has it sees those alone. */
function questionsOf(view: SettingsView, { site_id, kind, item_id }: ShareLink): SavedItem[] {
  const item = itemOf(view, site_id, kind, item_id);
  if (item === undefined) return [];
  if (kind === 'question') return [item];
  const ids: string[] = JSON.parse(item.definition).questions;
  return ids.flatMap((id) => itemOf(view, site_id, 'question', id) ?? []);
}

/** A question as it is asked for a link: of its own time or that of the link, and from the cache whatever was saved. */
function askedBy(link: ShareLink, item: SavedItem, { view, nowMs }: RequestContext): Saved {
  const { query, question } = savedOf(item);
  const { fresh: _fresh, ...body } = question;
  const { timeZone } = calendarOf(view.table.site(link.site_id) ?? {});
  const times = link.last_days === null ? {} : timesFor(query, lastDays(link.last_days, timeZone, nowMs));
  return { query, question: { ...body, ...times } };
}

/** Nothing that a request says chooses more than which question of the link is answered. */
export const sharedRoutes = resource(TAG, [
  route('GET', '/v1/shared/{link_id}', 'readShared', {
    access: 'shared',
    summary: 'What a shared link shows: the name and the questions of a board, or one question',
    params: api.sharedParams,
    success: { status: 200, schema: api.sharedShape, description: 'What it shows' },
    shared(_input, link, world) {
      const { view } = world;
      const site = view.table.site(link.site_id);
      const item = itemOf(view, link.site_id, link.kind, link.item_id);
      if (site === undefined || item === undefined) return refused('share_unknown');
      const all = questionsOf(view, link);
      const shown = all.filter((one) => isShown(view, one));
      const { timeZone, weekStart } = calendarOf(site);
      const body: api.SharedView = {
        name: savedOf(item).name,
        ...{ site_name: site.name, time_zone: timeZone, week_start: weekStart, last_days: link.last_days },
        questions: shown.map((one) => ({ id: one.id, name: savedOf(one).name, ...askedBy(link, one, world) })),
        left_out: all.length - shown.length,
      };
      return { kind: 'answered', body };
    },
  }),
  route('GET', '/v1/shared/{link_id}/questions/{id}', 'answerShared', {
    access: 'shared',
    summary: 'The answer to a question of a shared link, as a viewer of the site gets it',
    params: api.sharedQuestionParams,
    success: {
      status: 200,
      schema: api.sharedAnswerShape,
      description: 'What the path of its `query` answers',
    },
    errors: [
      'question_unknown',
      'cohort_unknown',
      'query_pattern_invalid',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'query_unavailable',
    ],
    shared({ params: { id } }, link, world): PreparedQuery {
      const item = questionsOf(world.view, link).find((one) => one.id === id);
      if (item === undefined || !isShown(world.view, item)) return refused('question_unknown');
      return questionOf(link.site_id, comparable(askedBy(link, item, world)), world);
    },
  }),
]);
