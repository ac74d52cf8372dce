import { OWNER_OF_ALL } from '#pipelines/settings/access.ts';
import { hashKey } from '#pipelines/settings/callers.ts';
import { auditedRecords } from '#pipelines/settings/journal.ts';
import type { AdminToken, Grant } from '#schemas/setting.ts';
import { type Control, control, NOW_MS } from './harness.ts';
import { shownDeadLetter } from './memory_letters.ts';

/** A world of two accounts: acme with the sites shop and till, and rival with the site other. */
export interface ScopedWorld extends Control {
  /** A token with these grants. */
  tokenOf(...grants: Grant[]): Promise<string>;
  /** Hash of the key of each site. */
  keys: Record<'shop' | 'other', string>;
  /** Replays of each site, and of all. */
  replayIds: Record<'shop' | 'other' | 'all', string>;
  /** Hash of a token that may view a site. */
  tokens: Record<'shop' | 'other', string>;
}

export const grantOf = (role: string, place: Partial<Grant> = {}): Grant => ({ ...OWNER_OF_ALL, role, ...place });

const question = { id: 'countries', name: 'Countries', query: 'top', question: {} };
const days = { from: NOW_MS - 86_400_000, to: NOW_MS };

export async function scopedWorld(rows: unknown[] = []): Promise<ScopedWorld> {
  const world = await control(undefined, async () => rows);
  const make = async (path: string, body: object) => {
    const answer = await world.call('POST', path, { body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  for (const account_id of ['acme', 'rival']) await make('accounts', { account_id, monthly_allowance: 1000 });
  for (const [site_id, account_id] of [
    ['shop', 'acme'],
    ['till', 'acme'],
    ['other', 'rival'],
  ] as const) {
    await make('sites', { site_id, account_id, domains: [`${site_id}.example`] });
  }
  const keys: Record<string, string> = {};
  const replayIds: Record<string, string> = {};
  for (const site_id of ['shop', 'other']) {
    keys[site_id] = (await make('keys', { site_id, caller: 'browser' })).key.key_hash;
    await make(`sites/${site_id}/destinations`, {
      name: 'crm',
      settings: { url: `https://${site_id}.example/` },
      secrets: { token: 'x' },
    });
    replayIds[site_id] = (await make('replays', { destination: 'crm', site_id, ...days })).replay_id;
    const asked = { ...days, field: { column: 'country' } };
    await make(`sites/${site_id}/questions`, { ...question, question: asked });
    world.deadLetters.deadLetters.push(deadLetterOf(world.deadLetters.deadLetters.length, [site_id]));
  }
  replayIds['all'] = (await make('replays', { destination: 'crm', ...days })).replay_id;
  world.deadLetters.deadLetters.push(deadLetterOf(2, ['shop', 'other']), shownDeadLetter(3, {}, false));
  let made = 0;
  const tokenOf = async (...grants: Grant[]): Promise<string> => {
    made += 1;
    const secret = `svc_st_${String(made).padStart(32, '0')}`;
    const token: AdminToken = {
      token_hash: hashKey(secret),
      shown_prefix: 'svc_st_0000',
      label: `t${made}`,
      created_at: NOW_MS,
      expires_at: null,
      revoked_at: null,
      grants,
    };
    await world.journal.change((view) => ({
      records: auditedRecords(view, [{ body: { admin_token: token } }], 'test', NOW_MS),
      result: null,
    }));
    return secret;
  };
  const tokens = {
    shop: hashKey(await tokenOf(grantOf('viewer', { site_id: 'shop' }))),
    other: hashKey(await tokenOf(grantOf('viewer', { site_id: 'other' }))),
  };
  world.journal.records.length = 0;
  return {
    ...world,
    tokenOf,
    keys: keys as ScopedWorld['keys'],
    replayIds: replayIds as ScopedWorld['replayIds'],
    tokens,
  };
}

/** A dead letter with an event of each site. */
function deadLetterOf(offset: number, siteIds: readonly string[]) {
  const deadLetter = shownDeadLetter(offset);
  const [view] = deadLetter.views ?? [];
  if (view === undefined) throw new Error('a readable letter has an event');
  return { ...deadLetter, views: siteIds.map((siteId) => ({ ...view, siteId })) };
}
