// Replays of events to a destination: begun, paused, followed.

import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { isOver, newProgress, shareRead } from '#pipelines/redelivery/replay.ts';
import { inAllMax, type Owner, ownersOf } from '#pipelines/settings/access.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import { type Problem, unless } from '#pipelines/settings/problems.ts';
import { randomBase62 } from '#pipelines/settings/secrets.ts';
import { replayKey } from '#pipelines/settings/table.ts';
import type { ReplayProgress } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';
import { pageOf } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/redelivery.ts';
import { checkIfMatch, metaOf } from '../changes.ts';
import { isCalledByAddress } from '../destinations/routes.ts';
import {
  doneWith,
  inBodySite,
  inReplaySite,
  listed,
  type Outcome,
  ofListed,
  placeOfSite,
  type RequestContext,
  refused,
  resource,
  route,
} from '../route.ts';

const base = '/v1/admin/replays';
const RATE = 500;
/** Replays of each account that are remembered, and of the installation itself; the oldest that are over make room. */
export const REPLAYS_MAX = 100;
const ID_CHARACTERS = 12;

export const replayRoutes = resource('Replays', [
  route('GET', base, 'listReplays', {
    access: ofListed('replays.read'),
    summary: 'List replays with how far they are, by their ids',
    query: api.replayQuery,
    success: { status: 200, schema: pageOf(api.replayShape), description: 'Replays' },
    run({ query }, world) {
      const { destination } = query;
      const found = world.view.table
        .replays()
        .filter((one) => destination === undefined || one.destination === destination)
        .filter(({ site_id }) => world.may('replays.read', placeOfSite(site_id)))
        .sort((a, b) => (a.replay_id < b.replay_id ? -1 : 1));
      return listed(found, query, 'replay_id', (one) => itemOf(world, world.view, one));
    },
  }),
  route('POST', base, 'createReplay', {
    access: inBodySite('replays.change'),
    requiresReauthentication: ({ body }, known) => tellsAnAddress(body, known),
    summary: 'Send again what a destination has not taken, of a range of time',
    body: api.newReplay,
    success: { status: 201, schema: api.replayShape, description: 'The replay, which begins by itself' },
    errors: ['limit_reached'],
    run({ body }, world) {
      const { destination, site_id = null, from, source = 'events' } = body;
      const to = Math.min(body.to, world.nowMs);
      const isToAddress = tellsAnAddress(body, world);
      if (isToAddress && !world.may('query.persons', placeOfSite(site_id))) return refused('permission_missing');
      const problems = replayProblems(world, destination, site_id, from, to);
      if (problems.length > 0) return refused('settings_invalid', problems);
      const room = makeRoom(world, site_id);
      if (room === null) return refused('limit_reached');
      const replay: Replay = {
        replay_id: `r${world.nowMs.toString(36)}-${randomBase62(ID_CHARACTERS, world.randomBytes).toLowerCase()}`,
        ...{ destination, site_id, source, from, to },
        rate: body.rate ?? RATE,
        dry_run: body.dry_run ?? false,
        force: body.force ?? false,
        wanted: 'running',
        created_at: world.nowMs,
      };
      return written([...room, { body: { replay } }], replay.replay_id, world);
    },
  }),
  route('GET', `${base}/{replay_id}`, 'getReplay', {
    access: inReplaySite('replays.read'),
    summary: 'Read a replay and how far it is',
    params: api.replayParams,
    success: { status: 200, schema: api.replayShape, description: 'The replay' },
    errors: ['replay_unknown'],
    run({ params: { replay_id } }, world) {
      if (world.view.table.replay(replay_id) === undefined) return refused('replay_unknown');
      return written([], replay_id, world);
    },
  }),
  route('PATCH', `${base}/{replay_id}`, 'changeReplay', {
    access: inReplaySite('replays.change'),
    summary: 'Pause, resume or cancel a replay; what is written for delivery is delivered all the same',
    params: api.replayParams,
    body: api.replayChange,
    ifMatch: 'optional',
    success: { status: 200, schema: api.replayShape, description: 'The replay as it is now' },
    errors: ['replay_unknown', 'replay_over'],
    run({ params: { replay_id }, body, ifMatch }, world) {
      const replay = world.view.table.replay(replay_id);
      if (replay === undefined) return refused('replay_unknown');
      if (isEnded(world, replay)) return refused('replay_over');
      // The destination may have been made, or moved to an address, since somebody asked for it.
      const mayTell = !tellsAnAddress(replay, world) || world.may('query.persons', placeOfSite(replay.site_id));
      if (body.wanted === 'running' && !mayTell) return refused('permission_missing');
      const stale = checkIfMatch(world.view, replayKey(replay_id), ifMatch, 'optional');
      if (stale !== null) return stale;
      return written([{ body: { replay: { ...replay, wanted: body.wanted } } }], replay_id, world);
    },
  }),
]);

function isEnded({ replayProgress }: RequestContext, { replay_id, wanted }: Replay): boolean {
  return wanted === 'cancelled' || isOver(replayProgress(replay_id)?.phase ?? 'waiting');
}

/** Whether what events say of persons would be sent to an address that somebody has set. */
function tellsAnAddress(
  { destination, site_id, dry_run = false }: { destination: string; site_id?: string | null; dry_run?: boolean },
  { view, adapters }: Pick<RequestContext, 'view' | 'adapters'>,
): boolean {
  const ofKind = [...view.table.destinationsOfKind(kindOfDestination(destination)).values()].flat();
  const sent = ofKind.filter((one) => one.name === destination && (site_id ?? one.site_id) === one.site_id);
  return !dry_run && sent.some((one) => isCalledByAddress(adapters, one));
}

function replayProblems(
  { view, adapters }: RequestContext,
  destination: string,
  siteId: string | null,
  from: number,
  to: number,
): Problem[] {
  const kinds = adapters.map(({ name }) => name);
  return [
    ...unless(
      kinds.includes(kindOfDestination(destination)),
      'destination_unknown',
      'destination',
      `there are ${kinds.join(', ')}`,
    ),
    ...unless(siteId === null || view.table.site(siteId) !== undefined, 'site_unknown', 'site_id', 'is no site'),
    ...unless(from < to, 'field_malformed', 'from', 'must be before to, and before now'),
  ];
}

/** Facts that make room for one more of a site, or of all; null where there is none. Those of its own account go first. */
function makeRoom(world: RequestContext, siteId: string | null): Fact[] | null {
  const { table } = world.view;
  const ownerOf = (id: string | null): Owner => ownersOf([placeOfSite(id)], table)[0] ?? null;
  const isOwn = ({ site_id }: Replay): boolean => ownerOf(site_id) === ownerOf(siteId);
  const [own, others] = [table.replays().filter(isOwn), table.replays().filter((one) => !isOwn(one))];
  const surplus = Math.max(own.length - REPLAYS_MAX, own.length + others.length - inAllMax(REPLAYS_MAX)) + 1;
  if (surplus <= 0) return [];
  const over = own.filter((one) => isEnded(world, one)).slice(0, surplus);
  // Those of others make room in the installation alone, not in this account.
  const isFull = own.length - over.length >= REPLAYS_MAX;
  if (!isFull) over.push(...others.filter((one) => isEnded(world, one)).slice(0, surplus - over.length));
  if (isFull || over.length < surplus) return null;
  return over.map(({ replay_id }) => ({ removedKey: replayKey(replay_id) }));
}

const written = (facts: Fact[], replayId: string, world: RequestContext): Outcome =>
  doneWith(facts, (view) => itemOf(world, view, view.table.replay(replayId) as Replay));

function itemOf({ replayProgress }: RequestContext, view: SettingsView, replay: Replay): api.ReplayItem {
  const progress = replayProgress(replay.replay_id);
  return { ...replay, ...progressItem(replay, progress), ...metaOf(view, replayKey(replay.replay_id)) };
}

function progressItem(replay: Replay, progress: ReplayProgress | undefined) {
  const {
    phase: _phase,
    partitions: _partitions,
    ...counts
  } = progress ?? {
    ...newProgress(replay.replay_id, 0),
    ...{ started_at: null, updated_at: null },
  };
  return {
    ...counts,
    state: stateOf(replay, progress),
    share_read: progress === undefined ? null : shareRead(progress),
    estimate_ms: estimateMs(replay, progress),
  };
}

function stateOf({ wanted }: Replay, progress: ReplayProgress | undefined): api.ReplayItem['state'] {
  const phase = progress?.phase ?? 'waiting';
  if (isOver(phase)) return phase;
  return wanted === 'running' ? phase : wanted;
}

/** A dry run's estimate is what sending would take. */
function estimateMs({ rate, dry_run }: Replay, progress: ReplayProgress | undefined): number | null {
  if (progress === undefined || progress.to_send === null) return null;
  const rest = dry_run || progress.phase !== 'sending' ? progress.to_send : progress.to_send - progress.chosen;
  const isLeft = dry_run || progress.phase === 'sending';
  return isLeft ? Math.round((Math.max(0, rest) / rate) * 1000) : 0;
}
