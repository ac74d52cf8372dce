import type { Static } from 'typebox';
import { basePersonId } from '#pipelines/identity/resolve.ts';
import { problem } from '#pipelines/settings/problem.ts';
import { siteKey } from '#pipelines/settings/setting_address.ts';
import { nothing } from '#services/control_api/fields.ts';
import {
  type SplitAnswer,
  type SplitInput,
  splitInput,
  splitParams,
  splitShape,
} from '#services/control_api/split_shapes.ts';
import {
  done,
  type GatheredAnswer,
  type Refused,
  type Route,
  refused,
  route,
  type Sources,
  type World,
} from './route.ts';
import { inSite } from './route_access.ts';
import type { Input } from './route_input.ts';

/** Takes people apart whom a merge was wrong for. */
export const splitRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/admin/sites/{site_id}/persons/{person_id}/split',
    operationId: 'splitPerson',
    access: inSite('site.change'),
    needsProof: () => true,
    tag: 'Persons',
    summary: 'Take distinct ids out of a person whom they were joined to wrongly, with their rows, for good',
    params: splitParams,
    query: nothing,
    body: splitInput,
    ifMatch: 'none',
    success: { status: 200, schema: splitShape, description: 'What was done, or would be' },
    errors: ['site_unknown', 'person_changed', 'splits_unavailable', 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    gather: splitPerson,
  }),
];

async function splitPerson(input: Input, { splits, note }: Sources, before: World): Promise<GatheredAnswer> {
  const { site_id: siteId, person_id: named } = input.params as Static<typeof splitParams>;
  const { distinct_ids, identifiers = [], dry_run: isDry = false } = input.body as SplitInput;
  if (before.view.table.site(siteId) === undefined) return refused('site_unknown');
  const moved = new Set(distinct_ids.map((id) => basePersonId(siteId, id)));
  const group = await splits.groupsOf(siteId, [named, ...moved]);
  const leaders = new Map(group.map(({ person, leader }) => [person, leader]));
  const leader = leaders.get(named);
  const [other, ...others] = new Set([...moved].map((person) => leaders.get(person)));
  if (leader === undefined || other === undefined || others.length > 0) return notOfPerson();
  // Who was taken out already is asked for once more where the answer did not come.
  const isApart = other !== leader;
  if (isApart && group.some((one) => one.leader === other && !moved.has(one.person))) return notOfPerson();
  if (moved.has(leader)) {
    const words = 'the oldest of the person is among them: it stays, so name the others';
    return refused('settings_invalid', [problem('not_there', 'distinct_ids', words)]);
  }
  // Devices on which one of the ids logs in later are those of who it is then.
  const taken = new Set([
    ...identifiers.map(({ identifier, sha256 }) => before.keyedIdentifier(siteId, identifier, sha256)),
    ...distinct_ids.map((id) => before.visitorNode(siteId, id)),
  ]);
  const planned = await splits.plan(siteId, group, moved, taken);
  if (isApart && planned.plan.holders.length === 0) return notOfPerson();
  const body: SplitAnswer = {
    ...{ person_id: planned.rows.former_person_id, new_person_id: planned.rows.person_id },
    ...{ moved: planned.rows.moved.length, stayed: planned.rows.stayed.length },
    ...{ shared_identifiers: planned.plan.holders.length, rows: planned.rowCount, is_done: !isDry },
  };
  if (isDry) return { kind: 'answered', body };
  const { person_id, new_person_id } = body;
  const world = await note(siteKey(siteId), { done: 'person.split', person_id, new_person_id, moved: body.moved });
  if ('kind' in world) return world;
  return (await splits.split(planned)) ? { kind: 'answered', body } : refused('person_changed');
}

const notOfPerson = (): Refused =>
  refused('settings_invalid', [problem('not_there', 'distinct_ids', 'one of them is none of the person')]);
